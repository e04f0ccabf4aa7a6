"""The feedback family: what the query's first documents say about the others (pseudo-relevance feedback).

k       first documents of the query, in the order of the run, whose field is not empty
w       weight of a feedback document at rank r: 1 / log2(r + 1), scaled to sum 1 over the k; it holds for the
        scores of any run, whatever their scale
p(t)    relevance model: sum over feedback documents of w * tf / len
u(t)    a field as a vector: tf * idf, divided by its norm
q(t)    qtf / tokens of the query that some document holds

An expanded query keeps the best terms by weight, of those that at most a tenth of the documents (or one) hold, as in
Anserini; of equal ones the term that was met first, going through the documents in order and their terms by number.
A document is scored under it by BM25 with the weight in place of qtf. In `similarity_*` a document among
the k is compared with the others alone; in all else it counts, as in every engine that expands queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, FieldFamily, Missing
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.features.statistics import field_idf, frozen, vector_norms
from rerank.runtime.kernels import helper, kernel

RM3_DOCUMENTS, RM3_TERMS = (5, 10, 20), (20, 50, 100)
ROCCHIO_DOCUMENTS, ROCCHIO_TERMS = 10, 30
SIMILARITY_DOCUMENTS = (1, 3, 10, 30)
OVERLAP_TERMS = 20
COMMON = 0.1
_RM3, _ROCCHIO, _SIMILARITY = 0, 3, 4
_OVERLAP, _CLARITY = 8, 9
_MODEL = 1  # the column of RM3 whose model clarity and overlap read

_LAVRENKO = "Lavrenko & Croft, SIGIR 2001; RM3: Abdul-Jaleel et al., TREC 2004"
_ROCCHIO_SOURCE = "Rocchio 1971; alpha and beta as in Anserini"
_CAUSE = (Missing.NO_FEEDBACK,)

_FEATURES = (
    *(
        Feature(
            name=f"rm3_{k}",
            meaning=f"Score under the query expanded by the first {k} documents.",
            formula=f"BM25 with weights (1 - s) * q(t) + s * p(t), s = rm3_share, k = {k}, the best {n} terms of p",
            source=_LAVRENKO,
            unit="BM25",
            missing=_CAUSE,
            cost=Cost.DOCUMENT,
        )
        for k, n in zip(RM3_DOCUMENTS, RM3_TERMS, strict=True)
    ),
    Feature(
        name="rocchio",
        meaning=f"Score under the query moved towards the first {ROCCHIO_DOCUMENTS} documents.",
        formula=f"BM25 with weights alpha * q / |q| + beta * c / |c|, c = mean u, its best {ROCCHIO_TERMS} terms",
        source=_ROCCHIO_SOURCE,
        unit="BM25",
        missing=_CAUSE,
        cost=Cost.DOCUMENT,
    ),
    *(
        Feature(
            name=f"similarity_{k}",
            meaning=f"Likeness to the first {k} documents (the document itself left out); 0 where there is no other.",
            formula=f"mean over the other feedback documents, k = {k}, of the cosine of u and u",
            source=_ROCCHIO_SOURCE if k > 1 else "nearest-neighbour form of Rocchio 1971",
            unit="cosine",
            high=1.0 + 1e-6,
            missing=(*_CAUSE, Missing.EMPTY_FIELD),
            cost=Cost.DOCUMENT,
        )
        for k in SIMILARITY_DOCUMENTS
    ),
    Feature(
        name="feedback_overlap",
        meaning=f"Share of the {OVERLAP_TERMS} best feedback terms that the field holds.",
        formula=f"those of the best {OVERLAP_TERMS} terms of p, k = {RM3_DOCUMENTS[1]}, with tf > 0, / their number",
        source=_LAVRENKO,
        unit="share",
        high=1.0,
        missing=_CAUSE,
        cost=Cost.DOCUMENT,
    ),
    Feature(
        name="clarity",
        meaning="How far the language of the first documents is from that of all documents.",
        formula=f"sum over t of p(t) * log2(p(t) / (cf / tokens of all documents)), k = {RM3_DOCUMENTS[1]}",
        source="Cronen-Townsend, Zhou & Croft, SIGIR 2002, eq. 1, over the terms of the feedback documents",
        unit="bits",
        low=-inf,
        missing=_CAUSE,
        cost=Cost.QUERY,
    ),
)


@register("feedback")
class FeedbackFeatures(FieldFamily):
    """RM3, Rocchio, likeness to the first documents, overlap with their terms, clarity."""

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return _FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 10)."""
        batch, field = block.candidates, block.field
        _fill(
            (batch.query_ptr, batch.docs, batch.term_ptr, batch.terms, batch.query_freq, block.doc_freq),
            (frozen(field.doc_ptr), frozen(field.terms), frozen(field.freqs), frozen(field.lengths)),
            field_idf(field),
            frozen(field.doc_freq),
            frozen(field.collection_freq),
            float(max(field.n_tokens, 1)),
            max(COMMON * field.n_docs_with, 1.0),
            vector_norms(field),
            block.bm25_saturation(recipe),
            (recipe.rm3_share, recipe.rocchio_alpha, recipe.rocchio_beta),
            out,
        )


@kernel()
def _fill(  # type: ignore[no-untyped-def]
    queries, postings, idf, doc_freq, collection_freq, n_tokens, most_common, norms, saturation, mixture, out
):
    """Fill all columns.

    queries     query_ptr, docs, term_ptr, terms, query_freq and doc_freq as in Candidates and FieldBlock
    postings    doc_ptr, terms, freqs, lengths of the field
    idf, doc_freq, collection_freq  (n_terms,) of the field
    norms       (n_docs,) norms of the vectors of tf * idf
    saturation  (n_rows,) BM25's k1 * (1 - b + b * dl / avgdl)
    mixture     rm3_share, rocchio_alpha and rocchio_beta of the recipe
    """
    query_ptr, docs, term_ptr, terms, query_freq, query_df = queries
    slots = np.empty(len(idf), np.int32)
    slots[:] = -1
    for query in range(len(query_ptr) - 1):
        first, last = query_ptr[query], query_ptr[query + 1]
        own = slice(term_ptr[query], term_ptr[query + 1])
        rows, n_postings = _feedback_rows(first, last, docs, postings)
        if len(rows) == 0:
            out[first:last] = np.nan
            continue
        met = np.empty(n_postings + len(terms[own]), np.int32)
        weights, marked = np.zeros((len(met), 8)), np.zeros(len(met), np.uint8)
        n_met = _add_documents(rows, docs, postings, idf, norms, slots, met, weights)
        out[first:last, _CLARITY] = _clarity(met[:n_met], weights, collection_freq, n_tokens)
        for slot in range(n_met):
            if doc_freq[met[slot]] > most_common:
                weights[slot, :_SIMILARITY] = 0.0
        n_marked = _mark_best(weights, n_met, marked)
        for column in range(_RM3, _SIMILARITY):
            _keep_best(weights, column, n_met, ROCCHIO_TERMS if column == _ROCCHIO else RM3_TERMS[column])
        n_met = _add_query(terms[own], query_freq[own], query_df[own], slots, met, n_met, weights, mixture)
        for slot in range(n_met):
            for column in range(weights.shape[1]):
                weights[slot, column] *= idf[met[slot]]
        _score(first, last, docs, postings, slots, weights, marked, n_marked, saturation, out)
        _finish_similarities(first, last, rows, docs, postings, norms, out)
        for slot in range(n_met):
            slots[met[slot]] = -1


@helper()
def _feedback_rows(first, last, docs, postings):  # type: ignore[no-untyped-def]
    """Return the first rows of a query whose field is not empty, and how many postings they have."""
    doc_ptr, lengths = postings[0], postings[3]
    rows, n_rows, n_postings = np.empty(SIMILARITY_DOCUMENTS[-1], np.int64), 0, 0
    for row in range(first, last):
        if n_rows == len(rows):
            break
        if lengths[docs[row]] > 0:
            rows[n_rows] = row
            n_rows += 1
            n_postings += doc_ptr[docs[row] + 1] - doc_ptr[docs[row]]
    return rows[:n_rows], n_postings


@helper()
def _add_documents(rows, docs, postings, idf, norms, slots, met, weights):  # type: ignore[no-untyped-def]
    """Give every term of the feedback documents a slot, and fill its weights; return the number of slots."""
    doc_ptr, doc_terms, freqs, lengths = postings
    n_met, totals = 0, np.zeros(_ROCCHIO)
    for place in range(len(rows)):
        for column in range(_ROCCHIO):
            if place < RM3_DOCUMENTS[column]:
                totals[column] += 1.0 / np.log2(place + 2.0)
    for place in range(len(rows)):
        doc = docs[rows[place]]
        share = 1.0 / np.log2(place + 2.0) / lengths[doc]
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            term = doc_terms[posting]
            if slots[term] < 0:
                slots[term], met[n_met] = n_met, term
                n_met += 1
            slot, unit = slots[term], freqs[posting] * idf[term] / norms[doc]
            for column in range(_ROCCHIO):
                if place < RM3_DOCUMENTS[column]:
                    weights[slot, column] += share * freqs[posting] / totals[column]
            if place < ROCCHIO_DOCUMENTS:
                weights[slot, _ROCCHIO] += unit / min(len(rows), ROCCHIO_DOCUMENTS)
            for number in range(len(SIMILARITY_DOCUMENTS)):
                if place < SIMILARITY_DOCUMENTS[number]:
                    weights[slot, _SIMILARITY + number] += unit
    return n_met


@helper()
def _clarity(met, weights, collection_freq, n_tokens):  # type: ignore[no-untyped-def]
    clarity = 0.0
    for slot in range(len(met)):
        p = weights[slot, _MODEL]
        if p > 0.0:
            clarity += p * np.log2(p * n_tokens / collection_freq[met[slot]])
    return clarity


@helper()
def _best(weights, column, n_met, size):  # type: ignore[no-untyped-def]
    """Return the slots of a column's greatest positive weights, the earlier of equal ones first."""
    best, n_best = np.empty(size, np.int64), 0
    for slot in range(n_met):
        weight = weights[slot, column]
        if weight <= 0.0 or (n_best == size and weight <= weights[best[size - 1], column]):
            continue
        here = min(n_best, size - 1)
        while here > 0 and weights[best[here - 1], column] < weight:
            best[here] = best[here - 1]
            here -= 1
        best[here] = slot
        n_best = min(n_best + 1, size)
    return best[:n_best]


@helper()
def _mark_best(weights, n_met, marked):  # type: ignore[no-untyped-def]
    """Mark the best feedback terms; return their number."""
    best = _best(weights, np.int64(_MODEL), n_met, np.int64(OVERLAP_TERMS))  # bare constants compile it twice
    for slot in best:
        marked[slot] = 1
    return len(best)


@helper()
def _keep_best(weights, column, n_met, size):  # type: ignore[no-untyped-def]
    """Put all but the best weights of a column to 0."""
    best = _best(weights, column, n_met, size)
    kept = np.empty(len(best))
    for number in range(len(best)):
        kept[number] = weights[best[number], column]
    for slot in range(n_met):
        weights[slot, column] = 0.0
    for number in range(len(best)):
        weights[best[number], column] = kept[number]


@helper()
def _add_query(terms, query_freq, doc_freq, slots, met, n_met, weights, mixture):  # type: ignore[no-untyped-def]
    """Mix the feedback terms with the query's own; return the number of slots."""
    rm3_share, alpha, beta = mixture
    totals, known, query_norm = np.zeros(_SIMILARITY), 0.0, 0.0
    for slot in range(n_met):
        for column in range(_RM3, _ROCCHIO):
            totals[column] += weights[slot, column]
        totals[_ROCCHIO] += weights[slot, _ROCCHIO] ** 2
    totals[_ROCCHIO] = np.sqrt(totals[_ROCCHIO])
    for slot in range(n_met):
        for column in range(_RM3, _SIMILARITY):
            share = beta if column == _ROCCHIO else rm3_share
            weights[slot, column] *= share / totals[column] if totals[column] > 0.0 else 0.0
    for number in range(len(terms)):
        if doc_freq[number] > 0:
            known += query_freq[number]
            query_norm += query_freq[number] ** 2
    for number in range(len(terms)):
        if doc_freq[number] == 0:
            continue
        term = terms[number]
        if slots[term] < 0:
            slots[term], met[n_met] = n_met, term
            n_met += 1
        for column in range(_RM3, _ROCCHIO):
            weights[slots[term], column] += (1.0 - rm3_share) * query_freq[number] / known
        weights[slots[term], _ROCCHIO] += alpha * query_freq[number] / np.sqrt(query_norm)
    return n_met


@helper()
def _longest(first, last, docs, doc_ptr):  # type: ignore[no-untyped-def]
    most = 0
    for row in range(first, last):
        most = max(most, doc_ptr[docs[row] + 1] - doc_ptr[docs[row]])
    return most


@helper()
def _score(first, last, docs, postings, slots, weights, marked, n_marked, saturation, out):  # type: ignore[no-untyped-def]
    """Fill the scores under the expanded queries and the overlap; sums of cosines are left to be finished.

    weights  (n_met, 8) times idf. What a document has of the terms is gathered first, without a branch, and summed
             in plain variables: processors guess neither wrong, and no sum waits for memory.
    """
    doc_ptr, doc_terms, freqs, _ = postings
    longest = _longest(first, last, docs, doc_ptr)
    held, counts = np.empty(longest + 1, np.int32), np.empty(longest + 1, np.int32)
    for row in range(first, last):
        n_held, half = 0, saturation[row]
        for posting in range(doc_ptr[docs[row]], doc_ptr[docs[row] + 1]):
            slot = slots[doc_terms[posting]]
            held[n_held], counts[n_held] = slot, freqs[posting]
            n_held += slot >= 0
        rm3_0, rm3_1, rm3_2, rocchio = 0.0, 0.0, 0.0, 0.0
        like_0, like_1, like_2, like_3, overlap = 0.0, 0.0, 0.0, 0.0, 0
        for number in range(n_held):
            slot, count = held[number], np.float64(counts[number])
            gain = count / (count + half)
            rm3_0 += weights[slot, 0] * gain
            rm3_1 += weights[slot, 1] * gain
            rm3_2 += weights[slot, 2] * gain
            rocchio += weights[slot, 3] * gain
            like_0 += weights[slot, 4] * count
            like_1 += weights[slot, 5] * count
            like_2 += weights[slot, 6] * count
            like_3 += weights[slot, 7] * count
            overlap += marked[slot]
        out[row, 0], out[row, 1], out[row, 2], out[row, 3] = rm3_0, rm3_1, rm3_2, rocchio
        out[row, 4], out[row, 5], out[row, 6], out[row, 7] = like_0, like_1, like_2, like_3
        out[row, _OVERLAP] = overlap / max(n_marked, 1)


@helper()
def _finish_similarities(first, last, rows, docs, postings, norms, out):  # type: ignore[no-untyped-def]
    """Make mean cosines of sums: divide by the norm, take the document itself out."""
    place = 0
    for row in range(first, last):
        itself = place < len(rows) and rows[place] == row
        for number in range(len(SIMILARITY_DOCUMENTS)):
            size = min(SIMILARITY_DOCUMENTS[number], len(rows))
            among = itself and place < size
            others, column = size - among, _SIMILARITY + number
            if postings[3][docs[row]] == 0:
                out[row, column] = np.nan
            elif others == 0:
                out[row, column] = 0.0
            else:
                out[row, column] = max(out[row, column] / norms[docs[row]] - among, 0.0) / others
        place += itself

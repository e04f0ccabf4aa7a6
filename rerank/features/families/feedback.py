"""The feedback family: similarity to the query's first documents (pseudo-relevance feedback).

k           number of feedback documents: the first documents of the query, in the order of the run, with a non-empty
            field; of texts that BM25 has ranked, only those that hold a word of the query
w           weight of the feedback document at rank r: 1 / log2(r + 1), divided by the sum of the k weights; it does not
            depend on the scale of the run's scores
p(t)        relevance model: sum over feedback documents of w * tf / len
u(t)        a field as a vector: tf * idf, divided by its norm
q(t)        qtf * burstiness (`statistics.py`), of the query's terms that some document holds; of sum 1
slot        number of a term among those of the feedback documents and the query, by first appearance
slots       (n_terms,) slot of each term of the vocabulary, -1 where it has none
slot_terms  term of each slot
weights     (n_slots, LANES) weight of each slot in the three RM3 queries, the Rocchio query and the four similarities

An expanded query has the terms with the greatest weight, of those that at most a tenth of the documents (or one) hold,
as in Anserini. Ties are broken by the first appearance of the term, in the order of the documents and then of term
numbers. Documents are scored by BM25 with the weight in place of qtf. In `similarity_*` a document is compared with the
feedback documents that differ from it, itself and its copies left out; all other features include them, as query
expansion in search engines does.

References
----------
Lavrenko & Croft, SIGIR 2001; Abdul-Jaleel et al., TREC 2004 (RM3); Rocchio 1971; Cronen-Townsend, Zhou & Croft, SIGIR
2002 (clarity).

"""

from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.family import Feature, FieldFamily, Missing, register
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.statistics import field_idf, postings, vector_norms
from rerank.runtime.elementary import log2
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.llvm import LANES, LINE, load, prefetch, same, store
from rerank.runtime.mapped_rows import read_only_view

RM3_DOCUMENTS = (5, 10, 20)
RM3_TERMS = (20, 50, 100)
ROCCHIO_DOCUMENTS = 10
ROCCHIO_TERMS = 30
SIMILARITY_DOCUMENTS = (1, 3, 10, 30)
OVERLAP_TERMS = 20
MODEL = 1  # the RM3 column whose relevance model clarity and overlap use
_RM3 = 0
_ROCCHIO = 3
_SIMILARITY = 4
_OVERLAP = 8
_CLARITY = 9
MOST_PREFETCHED = 1024  # most postings of a document that are prefetched
COSINE_ROUNDING = (
    1e-6  # error of a cosine in float32: smaller values are 0, or documents without a common term would differ
)
MAX_DOC_SHARE = 0.1  # a term of more documents says little: it does not enter expanded queries
_LAVRENKO = "Lavrenko & Croft, SIGIR 2001; RM3: Abdul-Jaleel et al., TREC 2004"
_ROCCHIO_SOURCE = "Rocchio 1971; alpha and beta as in Anserini"
_MISSING = (Missing.NO_FEEDBACK,)


@kernel()
def _fill(
    queries, postings, idf, doc_freq, collection_freq, n_tokens, max_df, norms, saturation, longest, mixture, out
):
    """Fill all columns of `out` (n_rows, 10) float32.

    queries     query_ptr, docs, bool (n_rows,) whether each row was found, term_ptr, terms, query_freq * burstiness,
                and doc_freq as in CandidateBatch and FieldBlock
    postings    doc_ptr, terms, freqs, lengths of the field
    idf, doc_freq, collection_freq  (n_terms,) of the field
    n_tokens    tokens of the field in all documents
    max_df      greatest document frequency of a term of an expanded query
    norms       (n_docs,) norms of the vectors of tf * idf
    saturation  (n_rows,) BM25's k1 * (1 - b + b * dl / avgdl)
    longest     most distinct terms of a row
    mixture     rm3_share, rocchio_alpha and rocchio_beta of the recipe
    """
    query_ptr, docs, found_rows, term_ptr, terms, query_weights, query_df = queries
    slots = np.empty(len(idf), np.int32)
    slots[:] = -1
    found = np.empty((2, longest + 1), np.int32)
    for number in range(len(query_ptr) - 1):
        first = query_ptr[number]
        last = query_ptr[number + 1]
        of_query = slice(term_ptr[number], term_ptr[number + 1])
        rows, n_postings = _feedback_rows(first, last, docs, found_rows, postings)
        if len(rows) == 0:
            out[first:last] = np.nan
            continue
        slot_terms = np.empty(n_postings + len(terms[of_query]), np.int32)
        weights = np.zeros((len(slot_terms), LANES))
        n_slots = _add_documents(rows, docs, postings, idf, norms, slots, slot_terms, weights)
        clarity = 0.0
        for slot in range(n_slots):
            p = weights[slot, MODEL]
            if p > 0.0:
                clarity += p * log2(p * n_tokens / collection_freq[slot_terms[slot]])
            if doc_freq[slot_terms[slot]] > max_df:
                weights[slot, :_SIMILARITY] = 0.0
        out[first:last, _CLARITY] = clarity
        is_best = _best(weights, np.int64(MODEL), n_slots, np.int64(OVERLAP_TERMS))  # bare constants compile it twice
        for column in range(_RM3, _SIMILARITY):
            is_in = _best(weights, column, n_slots, ROCCHIO_TERMS if column == _ROCCHIO else RM3_TERMS[column])
            for slot in range(n_slots):
                weights[slot, column] *= is_in[slot]
        query = terms[of_query], query_weights[of_query], query_df[of_query]
        n_slots = _add_query(query, slots, slot_terms, n_slots, weights, mixture)
        for slot in range(n_slots):
            for column in range(weights.shape[1]):
                weights[slot, column] *= idf[slot_terms[slot]]
        _score(first, last, rows, docs, postings, slots, weights, is_best, norms, saturation, found, out)
        for slot in range(n_slots):
            slots[slot_terms[slot]] = -1


@helper()
def _feedback_rows(first, last, docs, found, postings):
    """Return the first rows of a query that were found and have a field, and their number of postings."""
    doc_ptr = postings[0]
    lengths = postings[3]
    rows = np.empty(SIMILARITY_DOCUMENTS[-1], np.int64)
    n_rows = 0
    n_postings = 0
    for row in range(first, last):
        if n_rows == len(rows):
            break
        if found[row] and lengths[docs[row]] > 0:
            rows[n_rows] = row
            n_rows += 1
            n_postings += doc_ptr[docs[row] + 1] - doc_ptr[docs[row]]
    return rows[:n_rows], n_postings


@helper()
def _add_documents(rows, docs, postings, idf, norms, slots, slot_terms, weights):
    """Give every term of the feedback documents a slot, add to its weights, and return the number of slots."""
    doc_ptr, doc_terms, freqs, lengths = postings
    n_slots = 0
    totals = np.zeros(_ROCCHIO)
    for rank in range(len(rows)):
        for column in range(_ROCCHIO):
            if rank < RM3_DOCUMENTS[column]:
                totals[column] += 1.0 / log2(rank + 2.0)
    for rank in range(len(rows)):
        doc = docs[rows[rank]]
        share = 1.0 / log2(rank + 2.0) / lengths[doc]
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            term = doc_terms[posting]
            if slots[term] < 0:
                slots[term], slot_terms[n_slots] = n_slots, term
                n_slots += 1
            slot = slots[term]
            cosine_weight = freqs[posting] * idf[term] / norms[doc]
            for column in range(_ROCCHIO):
                if rank < RM3_DOCUMENTS[column]:
                    weights[slot, column] += share * freqs[posting] / totals[column]
            if rank < ROCCHIO_DOCUMENTS:
                weights[slot, _ROCCHIO] += cosine_weight / min(len(rows), ROCCHIO_DOCUMENTS)
            for number in range(len(SIMILARITY_DOCUMENTS)):
                if rank < SIMILARITY_DOCUMENTS[number]:
                    weights[slot, _SIMILARITY + number] += cosine_weight
    return n_slots


@helper()
def _best(weights, column, n_slots, size):
    """Return 1 for the slots of a column's greatest positive weights, of equal ones the earlier, else 0, (n_slots,)."""
    best = np.empty(size, np.int64)
    n_best = 0
    for slot in range(n_slots):
        weight = weights[slot, column]
        if weight <= 0.0 or (n_best == size and weight <= weights[best[size - 1], column]):
            continue
        index = min(n_best, size - 1)
        while index > 0 and weights[best[index - 1], column] < weight:
            best[index] = best[index - 1]
            index -= 1
        best[index] = slot
        n_best = min(n_best + 1, size)
    is_best = np.zeros(len(weights), np.uint8)
    for index in range(n_best):
        is_best[best[index]] = 1
    return is_best


@helper()
def _add_query(query, slots, slot_terms, n_slots, weights, mixture):
    """Mix the feedback terms with the query's own terms; return the number of slots."""
    terms, query_weights, doc_freq = query
    rm3_share, alpha, beta = mixture
    for column in range(_RM3, _SIMILARITY):
        total = 0.0
        for slot in range(len(weights)):
            weight = weights[slot, column]
            total += weight * weight if column == _ROCCHIO else weight
        share = 0.0
        if total > 0.0:
            share = beta / np.sqrt(total) if column == _ROCCHIO else rm3_share / total
        for slot in range(len(weights)):
            weights[slot, column] *= share
    known = 0.0
    squares = 0.0
    for number in range(len(terms)):
        if doc_freq[number] > 0:
            known += query_weights[number]
            squares += query_weights[number] ** 2
    for number in range(len(terms)):
        if doc_freq[number] == 0 or query_weights[number] == 0:
            continue
        term = terms[number]
        if slots[term] < 0:
            slots[term], slot_terms[n_slots] = n_slots, term
            n_slots += 1
        for column in range(_ROCCHIO):
            weights[slots[term], column] += (1.0 - rm3_share) * query_weights[number] / known
        weights[slots[term], _ROCCHIO] += alpha * query_weights[number] / np.sqrt(squares)
    return n_slots


@helper()
def _prefetch_row(row, last, docs, doc_ptr, doc_terms, freqs):
    """Prefetch the postings of the document after the next one."""
    if row + 4 < last:
        prefetch(doc_ptr, docs[row + 4])
    if row + 2 < last:
        doc = docs[row + 2]
        for posting in range(doc_ptr[doc], min(doc_ptr[doc + 1], doc_ptr[doc] + MOST_PREFETCHED), LINE):
            prefetch(doc_terms, posting)
            prefetch(freqs, posting)


@helper()
def _are_copies(one, other, postings, norms):
    """Return 1 where two documents have the same terms equally often, else 0; most pairs differ in their norms."""
    doc_ptr, doc_terms, freqs, lengths = postings
    if norms[one] != norms[other] or lengths[one] != lengths[other]:
        return 0
    first = doc_ptr[one]
    size = doc_ptr[one + 1] - first
    if doc_ptr[other + 1] - doc_ptr[other] != size:
        return 0
    for i in range(size):
        if doc_terms[first + i] != doc_terms[doc_ptr[other] + i] or freqs[first + i] != freqs[doc_ptr[other] + i]:
            return 0
    return 1


@helper()
def _score(first, last, rows, docs, postings, slots, weights, is_best, norms, saturation, found, out):
    """Fill the scores of the expanded queries, the similarities and the overlap.

    rows     of the feedback documents
    weights  (n_slots, 8) times idf
    found    work space: slots and counts of the document's terms that have a slot, then of those in an expanded query,
             which are few; gathered without a branch, which could not be predicted

    A similarity is a mean cosine: the sum is divided by the norm, and the document and its copies are left out.
    """
    doc_ptr, doc_terms, freqs, lengths = postings
    row_slots = found[0]
    counts = found[1]
    flat = weights.reshape(-1)
    sums = np.empty(LANES)
    is_expanding = np.zeros(len(weights), np.uint8)
    for slot in range(len(weights)):
        is_expanding[slot] = (weights[slot, 0] + weights[slot, 1] + weights[slot, 2] + weights[slot, 3]) != 0.0
    n_best = max(int(is_best.sum()), 1)
    feedback_norms = np.empty(len(rows))
    for rank in range(len(rows)):
        feedback_norms[rank] = norms[docs[rows[rank]]]
    for row in range(first, last):
        _prefetch_row(row, last, docs, doc_ptr, doc_terms, freqs)
        n_found = 0
        for posting in range(doc_ptr[docs[row]], doc_ptr[docs[row] + 1]):
            slot = slots[doc_terms[posting]]
            row_slots[n_found], counts[n_found] = slot, freqs[posting]
            n_found += slot >= 0
        total = same(0.0)
        n_expanding = 0
        for number in range(n_found):
            slot = row_slots[number]
            total = total + load(flat, LANES * slot) * same(np.float64(counts[number]))
            row_slots[n_expanding], counts[n_expanding] = slot, counts[number]  # in place: those of an expanded query
            n_expanding += is_expanding[slot]
        store(sums, 0, total)
        n_same = 0
        n_alike = 0
        for rank in range(len(rows)):
            n_alike += feedback_norms[rank] == norms[docs[row]]
        rank = 0
        for number in range(len(SIMILARITY_DOCUMENTS)):
            size = min(SIMILARITY_DOCUMENTS[number], len(rows))
            while n_alike > 0 and rank < size:
                n_same += _are_copies(docs[rows[rank]], docs[row], postings, norms)
                rank += 1
            others = size - n_same
            column = _SIMILARITY + number
            if lengths[docs[row]] == 0:
                out[row, column] = np.nan
            else:
                rest = np.float32(sums[column]) / norms[docs[row]] - n_same
                out[row, column] = rest / others if others > 0 and rest > COSINE_ROUNDING * size else 0.0
        total = same(0.0)
        overlap = 0
        for number in range(n_expanding):
            slot = row_slots[number]
            count = np.float64(counts[number])
            total = total + load(flat, LANES * slot) * same(count / (count + saturation[row]))
            overlap += is_best[slot]
        store(sums, 0, total)
        for column in range(_SIMILARITY):
            out[row, column] = sums[column]
        out[row, _OVERLAP] = overlap / n_best


@register("feedback")
class FeedbackFeatures(FieldFamily):
    """RM3, Rocchio, similarity to the first documents, overlap with their terms, clarity."""

    evidence = "feedback from the first documents"
    rising = ("rm3_*", "rocchio", "similarity_*")
    listed = (
        *(
            Feature(
                name=f"rm3_{k}",
                meaning=f"Score under the query expanded by the first {k} documents.",
                formula=f"BM25 with weights (1 - s) * q(t) + s * p(t), s = rm3_share, k = {k}, the best {n} terms of p",
                source=_LAVRENKO,
                unit="BM25",
                missing=_MISSING,
            )
            for k, n in zip(RM3_DOCUMENTS, RM3_TERMS, strict=True)
        ),
        Feature(
            name="rocchio",
            meaning=f"Score under the query moved towards the first {ROCCHIO_DOCUMENTS} documents.",
            formula=f"BM25 with weights alpha * q / |q| + beta * c / |c|, c = mean u, its best {ROCCHIO_TERMS} terms",
            source=_ROCCHIO_SOURCE,
            unit="BM25",
            missing=_MISSING,
        ),
        *(
            Feature(
                name=f"similarity_{k}",
                meaning=f"Similarity to the first {k} documents (the document and its copies left out); 0 where "
                "there is no other.",
                formula=f"mean over the other feedback documents, k = {k}, of the cosine of u and u",
                source="Rocchio 1971" if k > 1 else "nearest-neighbour form of Rocchio 1971",
                unit="cosine",
                high=1.0 + 1e-6,
                missing=(*_MISSING, Missing.EMPTY_FIELD),
            )
            for k in SIMILARITY_DOCUMENTS
        ),
        Feature(
            name="feedback_overlap",
            meaning=f"Share of the {OVERLAP_TERMS} best feedback terms that the field holds.",
            formula=f"share of the best {OVERLAP_TERMS} terms of p, k = {RM3_DOCUMENTS[MODEL]}, that have tf > 0",
            source=_LAVRENKO,
            unit="share",
            high=1.0,
            missing=_MISSING,
        ),
        Feature(
            name="clarity",
            meaning="How far the language of the first documents is from that of all documents.",
            formula=f"sum over t of p(t) * log2(p(t) / (cf / tokens of all documents)), k = {RM3_DOCUMENTS[MODEL]}",
            source="Cronen-Townsend, Zhou & Croft, SIGIR 2002, eq. 1, over the terms of the feedback documents",
            unit="bits",
            low=-inf,
            missing=_MISSING,
        ),
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 10)."""
        batch = block.candidates
        field = block.field
        _fill(
            (
                batch.query_ptr,
                batch.docs,
                batch.scores > batch.least_score,
                batch.term_ptr,
                batch.terms,
                batch.query_freq * block.burstiness,
                block.doc_freq,
            ),
            (*postings(field), read_only_view(field.lengths)),
            field_idf(field),
            read_only_view(field.doc_freq),
            read_only_view(field.collection_freq),
            float(max(field.n_tokens, 1)),
            max(MAX_DOC_SHARE * field.n_docs_with, 1.0),
            vector_norms(field),
            block.bm25_saturation(recipe),
            int(block.unique_terms.max(initial=0)),
            (recipe.rm3_share, recipe.rocchio_alpha, recipe.rocchio_beta),
            out,
        )

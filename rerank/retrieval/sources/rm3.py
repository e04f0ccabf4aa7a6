"""RM3: BM25 of the query expanded by the terms of its first documents.

Definitions are those of the feedback family of features: query terms are weighted by their burstiness, documents by
rank, 1 / log2(rank + 1), and terms that more than a tenth of the documents hold are left out of the feedback model. The
first documents are those of BM25 with these weights of the query's terms.

References
----------
Lavrenko & Croft, SIGIR 2001; Abdul-Jaleel et al., TREC 2004 (RM3).

"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rerank.features.families.feedback import MAX_DOC_SHARE
from rerank.features.match import term_numbers
from rerank.features.statistics import burstiness, cached_by_field, field_idf, half_saturation, lucene_lengths, postings
from rerank.retrieval.base import Hits, SearchInputs, Source, best_hits, register
from rerank.runtime.elementary import array_log2
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order
from rerank.types import FieldArrays, Floats, Ints, pointers
from rerank.types.forward import counted_terms

WeightedTerms = tuple[Ints, Floats]  # term numbers and weights
DOCUMENTS = 10  # first documents, whose terms expand a query
RM3_TERMS = 20
SHARE = 0.5


@cached_by_field
def inverted_field(field: FieldArrays) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
    """Return the postings of a field by term, 8 bytes each: the first of each term, documents, and occurrences."""
    term_ptr = pointers(field.doc_freq)
    docs, freqs = np.empty((2, len(field.terms)), np.int32)
    arrays = postings(field)
    with read_in_order(*arrays):
        _invert(*arrays, term_ptr[:-1].copy(), docs, freqs)
    return term_ptr, docs, freqs


@cached_by_field
def _lucene_lengths(field: FieldArrays) -> NDArray[np.int32]:
    """Return the length of the field of every document as Lucene stores it."""
    return lucene_lengths(field.lengths)


def weighted_bm25(
    field: FieldArrays, queries: Sequence[WeightedTerms], k1: float, b: float
) -> Iterator[tuple[Ints, Floats]]:
    """Yield the documents that hold a term of each query, ascending, and their scores."""
    inverted = inverted_field(field)
    idf = field_idf(field)
    saturation = half_saturation(_lucene_lengths(field), field, k1, b)
    scores = np.zeros(len(field.lengths))
    for terms, weights in queries:
        _add_scores(*inverted, terms, weights * idf[terms], saturation, scores)
        docs = np.flatnonzero(scores)
        yield docs, scores[docs]
        scores[docs] = 0.0


@kernel()
def _invert(doc_ptr, terms, freqs, next_slot, out_docs, out_freqs):
    """Fill documents and occurrences by term; next_slot (n_terms,) begins with the first slot of each term."""
    for doc in range(len(doc_ptr) - 1):
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            slot = next_slot[terms[posting]]
            out_docs[slot], out_freqs[slot] = doc, freqs[posting]
            next_slot[terms[posting]] = slot + 1


@kernel()
def _add_scores(term_ptr, docs, freqs, terms, weights, saturation, out):
    """Add each term's part to the scores (n_docs,) of the documents that hold it."""
    for index in range(len(terms)):
        for posting in range(term_ptr[terms[index]], term_ptr[terms[index] + 1]):
            tf = np.float64(freqs[posting])
            out[docs[posting]] += weights[index] * tf / (tf + saturation[docs[posting]])


def _expanded(field: FieldArrays, query: WeightedTerms, docs: Ints) -> WeightedTerms:
    """Return (1 - s) * q / |q|_1 + s * p / |p|_1, with p the best terms of the relevance model of some documents.

    p(t) = sum over the documents of w * tf / len, w = 1 / log2(rank + 1), divided by the sum of all w. The best terms
    are those of the greatest weight that at most a tenth of the documents hold, ties by term number.
    """
    terms, query_weights = query
    docs = docs[field.lengths[docs] > 0]
    weights = 1.0 / array_log2(np.arange(len(docs)) + 2.0)
    weights = weights / weights.sum() / field.lengths[docs]
    model_terms, model = _term_sums(field, docs, weights)
    most = max(MAX_DOC_SHARE * field.n_docs_with, 1.0)
    rare = np.flatnonzero((field.doc_freq[model_terms] <= most) & (model > 0.0))
    best = rare[np.argsort(-model[rare], kind="stable")[:RM3_TERMS]]
    if not len(best):
        return terms, query_weights / max(query_weights.sum(), 1e-300)
    both = np.concatenate(
        [(1.0 - SHARE) * query_weights / query_weights.sum(), SHARE * model[best] / model[best].sum()]
    )
    distinct, index = np.unique(np.concatenate([terms, model_terms[best]]), return_inverse=True)
    return distinct, _sums(index, both, len(distinct))


def _term_sums(field: FieldArrays, docs: Ints, weights: Floats) -> WeightedTerms:
    """Return the sum over documents of weight * tf of each of their terms."""
    spans = [slice(int(field.doc_ptr[doc]), int(field.doc_ptr[doc + 1])) for doc in docs.tolist()]
    if not spans:
        return np.empty(0, np.int64), np.empty(0)
    terms, index = np.unique(np.concatenate([field.terms[span] for span in spans]), return_inverse=True)
    parts = [weight * field.freqs[span] for weight, span in zip(weights.tolist(), spans, strict=True)]
    return terms.astype(np.int64), _sums(index, np.concatenate(parts), len(terms))


def _sums(index: Ints, values: Floats, size: int) -> Floats:
    return np.bincount(index, values, size).astype(np.float64, copy=False)


def _known_terms(inputs: SearchInputs) -> list[WeightedTerms]:
    """Return the terms of each query that the field holds, ascending, and their frequencies times burstiness."""
    field = inputs.forward.fields[inputs.field]
    numbers = term_numbers(inputs.forward, list(set().union(*inputs.query_terms)))
    ptr, terms, freqs = counted_terms(inputs.query_terms, numbers)
    held = field.doc_freq[terms] > 0
    rows = [first + np.flatnonzero(held[first:last]) for first, last in pairwise(ptr.tolist())]
    weights = freqs * burstiness(field.doc_freq[terms], field.collection_freq[terms], field.n_docs_with)
    return [(terms[own].astype(np.int64), weights[own]) for own in rows]


@register("rm3")
class Rm3(Source):
    """Expansion by the 20 best terms of the first 10 documents, which have half of the weight."""

    def hits(self, inputs: SearchInputs, k: int) -> Hits:
        """Return the k best documents of each query."""
        field = inputs.forward.fields[inputs.field]
        queries = _known_terms(inputs)
        first = weighted_bm25(field, queries, inputs.k1, inputs.b)
        queries = [
            _expanded(field, terms, best_hits(docs, np.round(scores, 6), DOCUMENTS)[0])
            for terms, (docs, scores) in zip(queries, first, strict=True)
        ]
        found = weighted_bm25(field, queries, inputs.k1, inputs.b)
        best = (best_hits(docs, np.round(scores, 6), k) for docs, scores in found)
        return Hits.joined(best, f"rm3-docs={DOCUMENTS}-terms={RM3_TERMS}-share={SHARE}")

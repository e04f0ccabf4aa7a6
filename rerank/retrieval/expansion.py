"""Queries expanded by the terms of their first documents: relevance models and Rocchio's method.

Definitions are those of the feedback family of features: documents are weighted by rank, 1 / log2(rank + 1), and terms
that more than a tenth of the documents hold are left out of the feedback model.

References
----------
Lavrenko & Croft, SIGIR 2001; Abdul-Jaleel et al., TREC 2004 (RM3); Rocchio 1971.

"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rerank.features.candidates import term_numbers
from rerank.features.families.feedback import MAX_DOC_SHARE
from rerank.features.statistics import field_idf, vector_norms
from rerank.retrieval.base import Hits, SearchInputs, best_hits
from rerank.retrieval.weighted import WeightedTerms, weighted_bm25
from rerank.runtime.elementary import array_log2
from rerank.types import Floats, Ints
from rerank.types.forward import FieldArrays

Expand = Callable[[FieldArrays, WeightedTerms, Ints], WeightedTerms]


def expanded_hits(inputs: SearchInputs, documents: int, expand: Expand, k: int) -> Iterator[Hits]:
    """Yield the k best documents of each query, expanded by the first documents of BM25."""
    field, first = inputs.forward.fields[inputs.field], inputs.bm25_run(documents)
    numbers = inputs.forward.doc_numbers(first.doc_ids)
    known = _known_terms(inputs)
    queries = [
        expand(field, terms, numbers[first.rows(query_id)] if query_id in first else numbers[:0])
        for query_id, terms in zip(inputs.query_ids, known, strict=True)
    ]
    for docs, scores in weighted_bm25(field, queries, inputs.k1, inputs.b):
        yield best_hits(docs, np.round(scores, 6), inputs.forward.doc_ids, k)


def relevance_model(field: FieldArrays, docs: Ints) -> WeightedTerms:
    """Return p(t) = sum over documents of w * tf / len of each term, ascending; w = 1 / log2(rank + 1), of sum 1."""
    docs = docs[field.lengths[docs] > 0]
    weights = 1.0 / array_log2(np.arange(len(docs)) + 2.0)
    return _term_sums(field, docs, weights / max(weights.sum(), 1e-300) / np.maximum(field.lengths[docs], 1))


def centroid(field: FieldArrays, docs: Ints) -> WeightedTerms:
    """Return the mean of the documents' vectors of tf * idf, each of norm 1."""
    norms = vector_norms(field)[docs]
    docs, norms = docs[norms > 0.0], norms[norms > 0.0]
    terms, weights = _term_sums(field, docs, 1.0 / norms / max(len(docs), 1))
    return terms, weights * field_idf(field)[terms]


def best_terms(field: FieldArrays, model: WeightedTerms, size: int) -> WeightedTerms:
    """Return the terms of the greatest weight that at most a tenth of the documents hold, ties by term number."""
    terms, weights = model
    kept = np.flatnonzero((field.doc_freq[terms] <= max(MAX_DOC_SHARE * field.n_docs_with, 1.0)) & (weights > 0.0))
    best = kept[np.argsort(-weights[kept], kind="stable")[:size]]
    return terms[best], weights[best]


def mixed(left: WeightedTerms, right: WeightedTerms) -> WeightedTerms:
    """Return the sum of two weighted queries."""
    terms, index = np.unique(np.concatenate([left[0], right[0]]), return_inverse=True)
    return terms, _sums(index, np.concatenate([left[1], right[1]]), len(terms))


def _term_sums(field: FieldArrays, docs: Ints, weights: Floats) -> WeightedTerms:
    """Return the sum over documents of weight * tf of each of their terms."""
    spans = [slice(int(field.doc_ptr[doc]), int(field.doc_ptr[doc + 1])) for doc in docs.tolist()]
    if not spans:
        return np.empty(0, np.int64), np.empty(0)
    terms, index = np.unique(np.concatenate([field.terms[span] for span in spans]), return_inverse=True)
    parts = [weight * field.freqs[span] for weight, span in zip(weights.tolist(), spans, strict=True)]
    return terms.astype(np.int64), _sums(index, np.concatenate(parts), len(terms))


def _sums(index: Ints, values: Floats, size: int) -> Floats:
    sums: Floats = np.bincount(index, values, size).astype(np.float64)
    return sums


def _known_terms(inputs: SearchInputs) -> list[WeightedTerms]:
    """Return the terms of each query that the field holds, ascending, and their frequencies."""
    field = inputs.forward.fields[inputs.field]
    numbers = term_numbers(inputs.forward, list(dict.fromkeys(word for words in inputs.query_terms for word in words)))
    return [_known(field, numbers, words) for words in inputs.query_terms]


def _known(field: FieldArrays, numbers: dict[str, int], words: Sequence[str]) -> WeightedTerms:
    pairs = sorted((numbers[word], n) for word, n in Counter(words).items() if numbers[word] >= 0)
    terms = np.array([term for term, _ in pairs], dtype=np.int64)
    freqs = np.array([n for _, n in pairs], dtype=np.float64)
    held = field.doc_freq[terms] > 0
    return terms[held], freqs[held]

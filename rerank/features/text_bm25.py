"""BM25 of candidates that were not retrieved from an index: texts that a user passes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rerank.features.match import gather_candidates, match
from rerank.runtime.kernels import kernel
from rerank.types import Floats, ForwardIndex, Ints, Retriever, query_rows, sort_keys

_SCALE = 10_000.0  # Anserini rounds the scores of its hits to four decimals


def bm25_scores(
    forward: ForwardIndex,
    query_terms: Sequence[Sequence[str]],
    query_ptr: Ints,
    docs: Ints,
    retriever: Retriever,
) -> Floats:
    """Return BM25 of documents: the scores of a search by the retriever whose hits they are.

    Shapes: query_ptr int64 (n_queries + 1,); docs int64 (n_rows,).

    Robertson & Zaragoza, Foundations and Trends in Information Retrieval 2009, eq. 3.15, in the variant of Lucene's
    BM25Similarity.
    """
    candidates = gather_candidates(forward, query_terms, query_ptr, docs, np.zeros(len(docs)))
    block = match(candidates, forward.fields[retriever.field])
    weights = candidates.query_freq.astype(np.float32) * block.idf.astype(np.float32)
    one = np.float32(1)
    k1 = np.float32(retriever.k1)
    b = np.float32(retriever.b)
    lengths = block.lucene_lengths.astype(np.float32)
    with np.errstate(divide="ignore", over="ignore"):  # k1 may be 0
        inverse = one / (k1 * ((one - b) + b * lengths / np.float32(block.field.average_length or 1.0)))
    scores = np.zeros(len(docs))
    _add_bm25(candidates.query_ptr, candidates.term_ptr, block.matches[0], weights, inverse, scores)
    exact = scores.astype(np.float32)
    keys: list[Any] = [*sort_keys(forward.doc_ids[docs]), -exact, query_rows(query_ptr)]
    order = np.lexsort(keys)
    spread = (np.floor(exact[order].astype(np.float64) * _SCALE + 0.5) / _SCALE).astype(np.float32)
    _spread_ties(query_ptr, spread)
    scores[order] = spread
    return scores


@kernel()
def _add_bm25(query_ptr, term_ptr, tf, weights, inverse, out):
    """Add BM25 to `out` (n_rows,) float64: a float32 for each term.

    weights  (n_query_terms,) float32 qtf * idf
    inverse  (n_rows,) float32 1 / K
    """
    match = 0
    one = np.float32(1)
    for query in range(len(query_ptr) - 1):
        for row in range(query_ptr[query], query_ptr[query + 1]):
            for term in range(term_ptr[query], term_ptr[query + 1]):
                if tf[match] > 0:
                    out[row] += weights[term] - weights[term] / (one + np.float32(tf[match]) * inverse[row])
                match += 1


@kernel()
def _spread_ties(query_ptr: Any, scores: Any) -> None:
    """Take 1e-6 more from each further score of a tie of a query, as Anserini's ScoreTiesAdjusterReranker does.

    scores  (n_rows,) float32, descending within each query, IN and OUT
    """
    for query in range(len(query_ptr) - 1):
        ties = np.float32(0)
        for row in range(query_ptr[query] + 1, query_ptr[query + 1]):
            if np.float32(scores[row - 1] - scores[row]) > np.float32(0.0001):
                ties = np.float32(0)
            else:
                ties = np.float32(ties + np.float32(1))
                scores[row] = np.float32(scores[row] - np.float32(np.float32(0.000001) * ties))

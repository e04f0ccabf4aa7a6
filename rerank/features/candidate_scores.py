"""BM25 of candidates that were not retrieved from an index: texts that a user passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rerank.features.candidates import MOST_MATCHES, gather_candidates
from rerank.features.match import FieldBlock, match
from rerank.features.recipe import Recipe
from rerank.runtime.kernels import kernel
from rerank.types import Floats, Ints, query_rows
from rerank.types.forward import ForwardIndex
from rerank.types.ids import sort_keys

_SCALE = 10_000.0  # Anserini rounds the scores of its hits to four decimals


def bm25_scores(
    forward: ForwardIndex, query_terms: Sequence[Sequence[str]], query_ptr: Ints, docs: Ints, field: str, recipe: Recipe
) -> Floats:
    """Return BM25 of documents: the scores of a search whose hits they are.

    Shapes: query_ptr int64 (n_queries + 1,); docs int64 (n_rows,).

    Robertson & Zaragoza, Foundations and Trends in Information Retrieval 2009, eq. 3.15, in the variant of Lucene's
    BM25Similarity.
    """
    candidates = gather_candidates(forward, query_terms, query_ptr, docs, np.zeros(len(docs)))
    scores = np.zeros(len(docs))
    for rows, batch in candidates.batches(len(docs)):
        block = match(batch, forward.fields[field])
        for part_rows, part in block.row_blocks(MOST_MATCHES):
            scores[rows][part_rows] = _sums(part, np.float32(recipe.bm25_k1), np.float32(recipe.bm25_b))
    exact = scores.astype(np.float32)
    keys: list[Any] = [*sort_keys(forward.doc_ids[docs]), -exact, query_rows(query_ptr)]
    order = np.lexsort(keys)
    spread = (np.floor(exact[order].astype(np.float64) * _SCALE + 0.5) / _SCALE).astype(np.float32)
    _spread_ties(query_ptr, spread)
    scores[order] = spread
    return scores


def _sums(part: FieldBlock, k1: np.float32, b: np.float32) -> Floats:
    """Return BM25 of the rows of a block, (n_rows,): a float32 for each term, added up in float64."""
    candidates, one = part.candidates, np.float32(1)
    sizes, query = np.diff(candidates.term_ptr), query_rows(candidates.query_ptr)
    first = part.tf_ptr[query] + (np.arange(len(query)) - candidates.query_ptr[query]) * sizes[query]
    doc_freq = part.doc_freq.astype(np.float64)
    idf = np.log(1.0 + (part.field.n_docs_with - doc_freq + 0.5) / (doc_freq + 0.5)).astype(np.float32)
    weights = candidates.query_freq.astype(np.float32) * np.where(doc_freq > 0, idf, np.float32(0))
    lengths = part.lucene_lengths.astype(np.float32)
    total = np.zeros(candidates.n_rows)
    with np.errstate(divide="ignore", over="ignore"):  # k1 may be 0
        inverse = one / (k1 * ((one - b) + b * lengths / np.float32(part.field.average_length or 1.0)))
        for term in range(int(sizes.max(initial=0))):
            held = np.flatnonzero(term < sizes[query])
            tf = part.tf[first[held] + term].astype(np.float32)
            held, tf = held[tf > 0], tf[tf > 0]
            weight = weights[candidates.term_ptr[query[held]] + term]
            total[held] += weight - weight / (one + tf * inverse[held])
    return total


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

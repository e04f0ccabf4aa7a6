"""BM25 of candidates that were not retrieved from an index: texts that a user passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.features.candidates import MOST_MATCHES, gather_candidates
from rerank.features.match import match
from rerank.features.recipe import Recipe
from rerank.types import Floats, Ints, query_rows
from rerank.types.forward import ForwardIndex

_DECIMALS = 4  # to which Anserini rounds the scores of its hits


def bm25_scores(
    forward: ForwardIndex, query_terms: Sequence[Sequence[str]], query_ptr: Ints, docs: Ints, field: str, recipe: Recipe
) -> Floats:
    """Return BM25 of documents, rounded as the scores of a search are.

    Parameters
    ----------
    forward : ForwardIndex
        Forward arrays of the documents.
    query_terms : sequence of sequence of str
        Tokens of each query, repetitions included.
    query_ptr : ndarray of shape (n_queries + 1,) and dtype int64
        First row of each query.
    docs : ndarray of shape (n_rows,) and dtype int64
        Document number of each row.
    field : str
        The field that is scored.
    recipe : Recipe
        Its `bm25_k1` and `bm25_b` are BM25's parameters.

    Returns
    -------
    ndarray of shape (n_rows,) and dtype float64
        sum over the query's tokens of idf * tf / (tf + k1 * (1 - b + b * dl / avgdl)), as Lucene computes it; Lucene's
        float32 arithmetic may differ in the last of the four decimals.

    References
    ----------
    Robertson & Zaragoza, Foundations and Trends in Information Retrieval 2009, eq. 3.15, in Lucene's variant.

    """
    candidates = gather_candidates(forward, query_terms, query_ptr, docs, np.zeros(len(docs)))
    scores = np.zeros(len(docs))
    for rows, batch in candidates.batches(len(docs)):
        block = match(batch, forward.fields[field])
        for part_rows, part in block.row_blocks(MOST_MATCHES):
            weights, saturation = part.candidates.query_freq * part.idf, part.bm25_saturation(recipe)
            query = query_rows(part.candidates.query_ptr)
            total = np.zeros(part.candidates.n_rows)
            sizes = np.diff(part.candidates.term_ptr)
            first = part.tf_ptr[query] + (np.arange(len(query)) - part.candidates.query_ptr[query]) * sizes[query]
            for term in range(int(sizes.max(initial=0))):
                held = np.flatnonzero(term < sizes[query])
                tf = part.tf[first[held] + term]
                total[held] += weights[part.candidates.term_ptr[query[held]] + term] * tf / (tf + saturation[held])
            scores[rows][part_rows] = total
    return np.round(scores, _DECIMALS).astype(np.float32).astype(np.float64)

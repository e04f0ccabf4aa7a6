"""Groups of near-duplicate queries, and the fold of each group."""

from __future__ import annotations

import numpy as np

from rerank.history.judged import Judged
from rerank.runtime.elementary import array_log
from rerank.types import Floats, Ints, query_rows

_BLOCK = 512  # queries that are compared with all others at once


def near_duplicates(judged: Judged, weights: Floats, cosine: float) -> Ints:
    """Return the group of each query, (n_queries,) int64: the components of the graph of near duplicates.

    Two queries are near duplicates where the cosine of their vectors is at least `cosine`, or their analysed terms are
    the same.

    Shapes: weights float64 (n_query_words,).
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n_queries = judged.n_queries
    vectors = csr_array((weights, judged.query_words, judged.word_ptr), shape=(n_queries, len(judged.words)))
    by_word = vectors.T.tocsr()
    left, right = [], []
    for first in range(0, n_queries, _BLOCK):
        products = (vectors[first : first + _BLOCK] @ by_word).tocoo()
        near = np.flatnonzero(products.data >= cosine)
        left.append(products.coords[0][near] + first)
        right.append(products.coords[1][near])
    number: dict[object, int] = {}
    same = [number.setdefault(key, query) for query, key in enumerate(judged.keys())]
    rows = np.concatenate([*left, np.arange(n_queries)])
    columns = np.concatenate([*right, np.array(same, dtype=np.int64)])
    graph = csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n_queries, n_queries))
    _, groups = connected_components(graph, directed=False)
    return np.asarray(groups, dtype=np.int64)


def folds_of_groups(groups: Ints, n_folds: int, random_state: int) -> Ints:
    """Return the fold of each query: the largest groups first, each to the fold with the fewest queries.

    Groups of the same size are taken in random order.
    """
    sizes = np.bincount(groups)
    shuffled = np.random.default_rng(random_state).permutation(len(sizes))
    order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
    filled, fold_of_group = np.zeros(n_folds, dtype=np.int64), np.empty(len(sizes), dtype=np.int64)
    for group in order.tolist():
        fold_of_group[group] = fold = int(np.argmin(filled))
        filled[fold] += sizes[group]
    return fold_of_group[groups]


def unit_weights(judged: Judged, idf: Floats) -> Floats:
    """Return (1 + ln tf) * idf of the words of each query, divided by the query's norm, (n_query_words,) float64."""
    weights = (1.0 + array_log(judged.freqs)) * idf[judged.query_words]
    query = query_rows(judged.word_ptr)
    norms = np.sqrt(np.bincount(query, weights**2, judged.n_queries))
    return weights / np.where(norms > 0.0, norms, 1.0)[query]

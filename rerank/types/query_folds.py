"""Folds of queries that separate no near duplicates: a copy of a query in another fold would give its labels away."""

from hashlib import blake2b
from itertools import pairwise

import numpy as np

from rerank.types.query_rows import Ints
from rerank.types.ranking_data import RankingData


def folds_of_groups(groups: Ints, order: Ints, n_folds: int) -> Ints:
    """Return the fold of each query, (n_queries,) int64: groups go, in an order, to the fold with the fewest queries.

    Where each query is a group of its own, folds take turns.

    Shapes: groups (n_queries,) int64 from 0; order (n_groups,) the groups, each once.
    """
    sizes = np.bincount(groups)
    filled = np.zeros(n_folds, dtype=np.int64)
    fold_of_group = np.empty(len(sizes), dtype=np.int64)
    for group in order.tolist():
        fold = int(np.argmin(filled))
        fold_of_group[group] = fold
        filled[fold] += sizes[group]
    return fold_of_group[groups]


def numbered_groups(groups: Ints) -> tuple[Ints, Ints]:
    """Return groups numbered by their first query, (n_queries,) int64, and the first query of each, (n_groups,)."""
    _, first, numbers = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers], np.sort(first)


def _order_of_ids(data: RankingData, query: int) -> Ints:
    """Return the rows of a query in the order of their stored ids, (n_documents,) int64."""
    first, last = data.query_ptr[query : query + 2].tolist()
    order: Ints = first + np.argsort(data.stored_ids[first:last], kind="stable")
    return order


def groups_of_queries(data: RankingData) -> Ints:
    """Return the group of each query of data, (n_queries,) int64.

    Where the data do not say which queries are near duplicates, those of the same documents and features are a group.
    """
    if data.query_groups is not None:
        return data.query_groups
    alike: dict[bytes, list[int]] = {}  # queries with the same ids, and the same features of the first document
    for query, (first, last) in enumerate(pairwise(data.query_ptr.tolist())):
        if last - first > 1:
            order = _order_of_ids(data, query)
            digest = blake2b(data.stored_ids[order].tobytes(), digest_size=16)
            digest.update(data.X[order[0]].tobytes())
            alike.setdefault(digest.digest(), []).append(query)
    groups = np.arange(len(data))
    for queries in alike.values():
        if len(queries) > 1:
            numbers: dict[bytes, int] = {}
            for query in queries:
                rows = data.X[_order_of_ids(data, query)]
                groups[query] = numbers.setdefault(blake2b(rows.tobytes(), digest_size=16).digest(), query)
    return groups

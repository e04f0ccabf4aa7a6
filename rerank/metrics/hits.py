"""Relevant rows of many ranked lists at once: what every measure sums over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Hits:
    """The rows of interest, query by query, best rank first.

    queries    (n_hits,) int64, number of the query
    ranks      (n_hits,) int64, 0-based
    labels     (n_hits,) float64
    n_queries  number of queries, those without a hit counted
    """

    queries: Ints
    ranks: Ints
    labels: Floats
    n_queries: int

    def counts(self) -> Ints:
        """Return how many hits each query has, (n_queries,) int64."""
        return np.bincount(self.queries, minlength=self.n_queries)

    def sums(self, values: Floats) -> Floats:
        """Return the sum over each query's hits of values (n_hits,), (n_queries,) float64.

        Added one after the other in rank order, as trec_eval does: no query's figure depends on another.
        """
        return np.bincount(self.queries, weights=values, minlength=self.n_queries).astype(np.float64, copy=False)


def find_hits(labels: Floats, query_ptr: Ints, is_hit: NDArray[np.bool_], cutoff: int | None = None) -> Hits:
    """Return the rows where `is_hit` (n_rows,) holds, within the first `cutoff` ranks (None: all).

    labels  (n_rows,) float64 in rank order, query by query
    """
    rows = np.flatnonzero(is_hit)
    queries = np.searchsorted(query_ptr, rows, side="right") - 1
    ranks = rows - query_ptr[queries]
    if cutoff is not None:
        within = ranks < cutoff
        rows, queries, ranks = rows[within], queries[within], ranks[within]
    return Hits(queries, ranks, labels[rows], len(query_ptr) - 1)


def longest(query_ptr: Ints) -> int:
    """Return the number of rows of the longest query."""
    return int(np.diff(query_ptr).max(initial=0))


def ratio(values: Floats | Ints, norms: Floats | Ints) -> Floats:
    """Return values / norms, (n_queries,) float64 each, and 0 where the norm is 0."""
    out = np.zeros(len(norms), dtype=np.float64)
    return np.divide(values, norms, out=out, where=norms > 0)

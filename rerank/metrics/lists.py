"""Arithmetic inside queries, for all queries at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.metrics.base import RankedLists
from rerank.types import Floats, Ints, pointers


def ranks(query_ptr: Ints) -> Ints:
    """Return the 0-based rank of every row, (n_rows,) int64."""
    return np.arange(query_ptr[-1]) - np.repeat(query_ptr[:-1], np.diff(query_ptr))


def sums(values: NDArray[np.generic], query_ptr: Ints) -> Floats:
    """Return the sum of each query's values, (n_queries,) float64, added up in the order of the rows."""
    rows = np.flatnonzero(values != 0)  # few: most documents are not relevant, and 0 changes no sum
    query = np.searchsorted(query_ptr, rows, side="right") - 1
    return np.bincount(query, weights=values[rows], minlength=len(query_ptr) - 1).astype(np.float64)


def relevant_so_far(relevant: NDArray[np.bool_], query_ptr: Ints) -> Ints:
    """Return for every row how many rows of its query are relevant down to and including it."""
    running = np.concatenate([np.zeros(1, np.int64), np.cumsum(relevant)])
    return running[1:] - np.repeat(running[query_ptr[:-1]], np.diff(query_ptr))


def n_relevant(lists: RankedLists, rel: int) -> Floats:
    """Return how many documents of each query have at least the label `rel`, retrieved or not."""
    return sums(lists.ideal_labels >= rel, lists.ideal_ptr)


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(part, dtype=np.float64), where=whole > 0)


def within(query_ptr: Ints, cutoff: int | None) -> NDArray[np.bool_]:
    """Return whether each row stands above the cutoff."""
    counts = np.diff(query_ptr)
    if cutoff is None or cutoff >= counts.max(initial=0):
        return np.ones(query_ptr[-1], dtype=np.bool_)
    kept = np.minimum(counts, cutoff)
    above = np.zeros(query_ptr[-1], dtype=np.bool_)
    above[ranks(pointers(kept)) + np.repeat(query_ptr[:-1], kept)] = True
    return above


def reach(query_ptr: Ints, cutoff: int | None) -> int:
    """Return the depth at which a measure stops: its cutoff, or the length of the longest list."""
    return int(np.diff(query_ptr).max(initial=0)) if cutoff is None else cutoff

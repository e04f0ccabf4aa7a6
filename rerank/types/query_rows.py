"""Rows of queries in flat arrays: `query_ptr` gives the rows of each query. Positions of values in sorted arrays."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def query_rows(query_ptr: Ints) -> Ints:
    """Return the query number of every row, (n_rows,) int64."""
    return np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr))


def pointers(counts: ArrayLike) -> Ints:
    """Return (n + 1,) int64 offsets of consecutive groups of rows whose sizes are `counts`."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(counts, dtype=np.int64))])


def by_number(numbers: NDArray[np.int32 | np.int64], n: int) -> tuple[Ints, Ints]:
    """Return pointers (n + 1,) to the rows of each of n numbers, and these rows, ascending within a number."""
    return pointers(np.bincount(numbers, minlength=n)), np.argsort(numbers, kind="stable")


def positions_among(known: NDArray[Any], values: NDArray[Any]) -> Ints:
    """Return the position of each value in `known`, which ascends and may be empty; -1 for other values."""
    if not len(known):
        return np.full(len(values), -1)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[place] == values, place, -1)


def are_pointers(ptr: ArrayLike, n: int, end: int) -> bool:
    """Return whether `ptr` has n + 1 whole numbers that rise from 0 to `end`; differences could overflow."""
    ptr = np.asarray(ptr)
    fits = ptr.shape == (n + 1,) and ptr.dtype.kind in "iu" and ptr[0] == 0 and ptr[-1] == end
    return bool(fits and not (ptr[1:] < ptr[:-1]).any())


def query_blocks(query_ptr: Ints, n_rows: int = 1 << 15) -> Iterator[tuple[int, int]]:
    """Yield ranges [first, last) of whole queries (or other groups): of at most `n_rows` rows, or of one query.

    By default, temporary arrays of a range fit in cache.
    """
    first = 0
    while first < len(query_ptr) - 1:
        last = max(int(np.searchsorted(query_ptr, query_ptr[first] + n_rows, side="right")) - 1, first + 1)
        yield first, last
        first = last


def ideal_of_rows(labels: Floats, query_ptr: Ints) -> tuple[Floats, Ints]:
    """Return the positive labels of every query, best first, assuming that no other document was judged."""
    rows = np.flatnonzero(labels > 0)
    query = np.searchsorted(query_ptr, rows, side="right") - 1
    labels = labels[rows]
    return labels[np.lexsort((-labels, query))], pointers(np.bincount(query, minlength=len(query_ptr) - 1))


def joined_rows(starts: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return the rows of groups that begin at `starts`, concatenated, and their `query_ptr`."""
    query_ptr = pointers(counts)
    return np.arange(query_ptr[-1]) + np.repeat(starts - query_ptr[:-1], counts), query_ptr


def rows_of_groups(ptr: Ints, groups: Ints) -> tuple[Ints, Ints]:
    """Return the rows of some groups, which `ptr` divides rows into, concatenated, and their own pointers."""
    return joined_rows(ptr[groups], np.diff(ptr)[groups])

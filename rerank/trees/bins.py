"""Feature values to bins: one byte a value, in blocks of 16 features.

edge     upper end of a bin: bin b holds edges[b - 1] < value <= edges[b]; the last edge is infinite
block    16 features; a row's bins of one block are one 16-byte load, and a block's histograms stay in L1
missing  NaN has the bin 255 of its own, whatever the number of bins
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rerank.types import Ints

WIDTH = 16
MISSING_BIN = 255


@dataclass(frozen=True, eq=False)
class Bins:
    """How values become bins, learned on the training rows.

    edges    (n_blocks * 16, 255) float32, padded with +inf; features beyond `n_features` are empty
    n_bins   (n_blocks * 16,) int32 bins in use, the one of missing values not counted
    missing  (n_blocks * 16,) bool: whether the training rows held a missing value
    """

    n_features: int
    edges: NDArray[np.float32]
    n_bins: NDArray[np.int32]
    missing: NDArray[np.bool_]

    @property
    def n_blocks(self) -> int:
        """Number of 16-feature blocks."""
        return len(self.n_bins) // WIDTH

    def blocks(self, X: NDArray[np.float32], rows: Ints, n_threads: int) -> NDArray[np.uint8]:
        """Return the bins of X[rows] (k, n_features) as (n_blocks, k, 16) uint8; X itself is not copied."""
        out = np.empty((self.n_blocks, len(rows), WIDTH), dtype=np.uint8)

        def fill(block: int) -> None:
            first = block * WIDTH
            _fill_block(X, rows, first, self.edges[first : first + WIDTH], out[block])

        _for_each(fill, self.n_blocks, n_threads)
        return out


def learn_bins(X: NDArray[np.float32], max_bin: int, n_threads: int) -> Bins:
    """Choose the bins of every feature from all rows: one bin a distinct value, or about equal counts.

    X        (n_rows, n_features) float32, NaN where missing
    max_bin  most bins a feature gets, 2 to 255, the one of missing values not counted
    Heavy values get bins of their own (as LightGBM's GreedyFindBin); edges stand midway between values.
    The rows' order does not matter.
    """
    n_features = X.shape[1]
    n_padded = -(-n_features // WIDTH) * WIDTH
    edges = np.full((n_padded, MISSING_BIN), np.inf, dtype=np.float32)
    n_bins = np.ones(n_padded, dtype=np.int32)
    missing = np.zeros(n_padded, dtype=np.bool_)

    def learn(block: int) -> None:
        columns = X[:, block * WIDTH : (block + 1) * WIDTH].T.copy(order="C")
        columns.sort(axis=1)
        for offset, column in enumerate(columns):
            feature = block * WIDTH + offset
            n_present = int(np.searchsorted(column, np.nan)) if len(column) else 0
            missing[feature] = n_present < len(column)
            n_bins[feature] = _choose_edges(column[:n_present], max_bin, edges[feature])

    _for_each(learn, n_padded // WIDTH, n_threads)
    return Bins(n_features, edges, n_bins, missing)


def _for_each(task, count: int, n_threads: int) -> None:  # type: ignore[no-untyped-def]
    if n_threads == 1 or count == 1:
        for number in range(count):
            task(number)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(task, range(count)))


@njit(cache=True, nogil=True)
def _between(low, high):  # type: ignore[no-untyped-def]
    """Return a float32 edge with low <= edge < high."""
    middle = np.float32(0.5 * np.float64(low) + 0.5 * np.float64(high))
    return middle if low <= middle < high else low


@njit(cache=True, nogil=True)
def _choose_edges(column, max_bin, edges):  # type: ignore[no-untyped-def]
    """Fill `edges` (255,) from one ascending column without missing values; return the bins in use."""
    n = column.shape[0]
    n_distinct = min(n, 1)
    for i in range(1, n):
        n_distinct += column[i] != column[i - 1]
    if n_distinct <= 1:
        return 1
    n_bins = 0
    if n_distinct <= max_bin:
        for i in range(1, n):
            if column[i] != column[i - 1]:
                edges[n_bins] = _between(column[i - 1], column[i])
                n_bins += 1
        return n_bins + 1
    # A value with more rows than an even share gets a bin of its own; the others share what is left.
    share = n / max_bin
    n_heavy, n_light_rows, start = 0, n, 0
    for i in range(1, n + 1):
        if i == n or column[i] != column[i - 1]:
            if i - start >= share:
                n_heavy += 1
                n_light_rows -= i - start
            start = i
    n_light_bins = max(max_bin - n_heavy, 1)
    in_bin, start, previous = 0, 0, 0
    while start < n and n_bins < max_bin - 1:
        end = start + 1
        while end < n and column[end] == column[start]:
            end += 1
        heavy = end - start >= share
        light_share = n_light_rows / max(n_light_bins, 1)
        if heavy and in_bin >= 0.5 * light_share and in_bin > 0:
            edges[n_bins] = _between(column[previous], column[start])
            n_bins += 1
            n_light_bins -= 1
            n_light_rows -= in_bin
            in_bin = 0
            if n_bins == max_bin - 1:
                break
        in_bin += end - start
        if end < n and (heavy or in_bin >= light_share):
            edges[n_bins] = _between(column[start], column[end])
            n_bins += 1
            if not heavy:
                n_light_bins -= 1
                n_light_rows -= in_bin
            in_bin = 0
        previous = start
        start = end
    return n_bins + 1


@njit(cache=True, nogil=True)
def _fill_block(X, rows, first, edges, out):  # type: ignore[no-untyped-def]
    """Write the bins of features [first, first + 16) into out (k, 16); absent features get 0."""
    n_here = min(WIDTH, X.shape[1] - first)
    for row in range(rows.shape[0]):
        for j in range(n_here):
            value = X[rows[row], first + j]
            place = 0
            step = 128
            while step > 0:
                # edges[place + step - 1] < value: at least place + step edges lie below the value
                if place + step <= 255 and edges[j, place + step - 1] < value:
                    place += step
                step >>= 1
            out[row, j] = MISSING_BIN if value != value else place
        for j in range(n_here, WIDTH):
            out[row, j] = 0

"""The bins of each feature: at most 255, learned from its values.

edge     upper end of a bin: bin b holds edges[b - 1] < value <= edges[b]; the last edge is infinite
missing  NaN lies in no bin; it goes its own way at every split
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.threads import in_threads

MOST_BINS = 255
AT_ONCE = 16  # features that are sorted together: the rows are read once for all of them


@dataclass(frozen=True, eq=False)
class Bins:
    """How values become bins, learned on the training rows.

    edges      (n_features, 255) float32, padded with +inf
    n_bins     (n_features,) int64 bins in use
    missing    (n_features,) bool: whether the training rows held a missing value
    usual      (n_features,) int64 the bin of most rows; n_bins where most are missing
    elsewhere  (n_features,) float64 share of the rows that are not there
    """

    edges: NDArray[np.float32]
    n_bins: NDArray[np.int64]
    missing: NDArray[np.bool_]
    usual: NDArray[np.int64]
    elsewhere: NDArray[np.float64]


def learn_bins(X: NDArray[np.float32], max_bin: int, n_threads: int) -> Bins:
    """Choose the bins of every feature from all rows: one bin a distinct value, or about equal counts.

    X        (n_rows, n_features) float32, NaN where missing
    max_bin  most bins a feature gets, 2 to 255
    Heavy values get bins of their own (as LightGBM's GreedyFindBin); edges stand midway between values.
    The rows' order does not matter.
    """
    n_features = X.shape[1]
    edges = np.full((n_features, MOST_BINS), np.inf, dtype=np.float32)
    n_bins = np.ones(n_features, dtype=np.int64)
    missing = np.zeros(n_features, dtype=np.bool_)
    usual, elsewhere = np.zeros(n_features, dtype=np.int64), np.zeros(n_features)

    def learn(part: int) -> None:
        first = part * AT_ONCE
        columns = X[:, first : first + AT_ONCE].T.copy(order="C")
        columns.sort(axis=1)
        for feature, column in enumerate(columns, first):
            n_present = int(np.searchsorted(column, np.nan)) if len(column) else 0
            missing[feature] = n_present < len(column)
            n_bins[feature] = _choose_edges(column[:n_present], max_bin, edges[feature])
            ends = np.searchsorted(column[:n_present], edges[feature, : n_bins[feature]], side="right")
            counts = np.diff(ends, prepend=0, append=len(column))
            usual[feature] = np.argmax(counts)
            elsewhere[feature] = 1.0 - counts.max() / max(len(column), 1)

    in_threads(learn, range(-(-n_features // AT_ONCE)), n_threads)
    return Bins(edges, n_bins, missing, usual, elsewhere)


@helper()
def _between(low, high):  # type: ignore[no-untyped-def]
    """Return a float32 edge with low <= edge < high."""
    middle = np.float32(0.5 * np.float64(low) + 0.5 * np.float64(high))
    return middle if low <= middle < high else low


@kernel()
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

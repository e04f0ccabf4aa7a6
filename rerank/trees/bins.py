"""The bins of each feature: at most 255, learned from its values.

edge      upper end of a bin: bin b holds edges[b - 1] < value <= edges[b]; the last edge is infinite
missing   NaN is in no bin; each split decides on which side missing values go
category  a feature whose values have no order: each of its most frequent values is a bin, whose edge is the value; the
          other values count as missing

A mapped X (`rerank.runtime.mapped_rows`) is read once for as many columns at a time as fit into the working memory.

`choose_edges` in `tests/oracles/trees.py` is the slow form of `_choose_edges`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.mapped_rows import is_mapped, row_blocks
from rerank.runtime.threads import in_threads

MOST_BINS = 255
FEATURES_AT_ONCE = 16  # sorted together: the rows are read once for all of them


@dataclass(frozen=True, eq=False)
class Bins:
    """How values become bins, learned from the training rows.

    Parameters
    ----------
    edges : float32 array of shape (n_features, 255)
        Upper ends of the bins, padded with +inf.
    n_bins : int64 array of shape (n_features,)
        Bins in use.
    missing : bool array of shape (n_features,)
        Whether the training rows hold a missing value.
    most_freq_bin : int64 array of shape (n_features,)
        Most frequent bin; n_bins where missing values are more frequent than any bin.
    exception_share : float64 array of shape (n_features,)
        Share of the rows that are not in the most frequent bin.
    is_category : bool array of shape (n_features,)
        Whether the feature is a category.

    """

    edges: NDArray[np.float32]
    n_bins: NDArray[np.int64]
    missing: NDArray[np.bool_]
    most_freq_bin: NDArray[np.int64]
    exception_share: NDArray[np.float64]
    is_category: NDArray[np.bool_]


def learn_bins(
    X: NDArray[np.float32],
    max_bin: int,
    n_threads: int,
    working_bytes: int = 0,
    is_category: NDArray[np.bool_] | None = None,
) -> Bins:
    """Choose the bins of every feature from all rows: one bin for each distinct value, or about equal counts.

    A value with many rows gets a bin for itself; edges are midway between values. The order of the rows does not
    matter. Of more than `max_bin` categories, the most frequent ones have bins; of equally frequent ones, the lowest.

    Shapes: X float32 (n_rows, n_features); is_category (n_features,), None for no category.

    LightGBM's ``GreedyFindBin`` (src/io/bin.cpp).
    """
    n_features = X.shape[1]
    bins = Bins(
        edges=np.full((n_features, MOST_BINS), np.inf, dtype=np.float32),
        n_bins=np.ones(n_features, dtype=np.int64),
        missing=np.zeros(n_features, dtype=np.bool_),
        most_freq_bin=np.zeros(n_features, dtype=np.int64),
        exception_share=np.zeros(n_features),
        is_category=np.zeros(n_features, dtype=np.bool_) if is_category is None else is_category,
    )

    def learn(first: int) -> None:
        columns = X[:, first : first + FEATURES_AT_ONCE].T.copy(order="C")
        for feature, column in enumerate(columns, first):
            _learn_feature(bins, feature, column, max_bin)

    if is_mapped(X):
        for columns in _mapped_columns(X, working_bytes):
            in_threads(lambda column: _learn_feature(bins, *column, max_bin), columns, n_threads)
    else:
        in_threads(learn, range(0, n_features, FEATURES_AT_ONCE), n_threads)
    return bins


def _mapped_columns(X: NDArray[np.float32], working_bytes: int) -> Iterator[list[tuple[int, NDArray[np.float32]]]]:
    """Yield sets of features, each with its values (n_rows,); their memory is used again for the next set."""
    n_rows, n_features = X.shape
    at_once = min(max(working_bytes // (X.itemsize * n_rows), 1), n_features)
    columns = np.empty((at_once, n_rows), dtype=np.float32)
    for first in range(0, n_features, at_once):
        some = columns[: min(at_once, n_features - first)]
        for row, block in row_blocks(X):
            some[:, row : row + len(block)] = block[:, first : first + at_once].T
        yield list(enumerate(some, first))


def _learn_feature(bins: Bins, feature: int, column: NDArray[np.float32], max_bin: int) -> None:
    """Set the bins of one feature from its values (n_rows,), which are sorted in place."""
    column.sort()
    n_present = int(np.searchsorted(column, np.nan)) if len(column) else 0
    if bins.is_category[feature]:
        values, sizes = np.unique(column[:n_present], return_counts=True)
        frequent = np.sort(np.argsort(-sizes, kind="stable")[:max_bin])
        bins.n_bins[feature] = max(len(frequent), 1)
        bins.edges[feature, : len(frequent)] = values[frequent]
        counts = np.append(sizes[frequent] if len(frequent) else 0, len(column) - sizes[frequent].sum())
        bins.missing[feature] = counts[-1] > 0
    else:
        bins.missing[feature] = n_present < len(column)
        bins.n_bins[feature] = _choose_edges(column[:n_present], max_bin, bins.edges[feature])
        ends = np.searchsorted(column[:n_present], bins.edges[feature, : bins.n_bins[feature]], side="right")
        counts = np.diff(ends, prepend=0, append=len(column))
    bins.most_freq_bin[feature] = np.argmax(counts)
    bins.exception_share[feature] = 1.0 - counts.max() / max(len(column), 1)


@helper()
def _between(low, high):
    """Return a float32 edge with low <= edge < high."""
    middle = np.float32(0.5 * np.float64(low) + 0.5 * np.float64(high))
    return middle if low <= middle < high else low


@helper()
def _next_distinct(column, start):
    """Return the index of the first value after those equal to column[start]."""
    end = start + 1
    while end < column.shape[0] and column[end] == column[start]:
        end += 1
    return end


@helper()
def _separate_all(column, edges):
    """Fill edges between all distinct values; return the bins in use."""
    n_bins = 0
    for i in range(1, column.shape[0]):
        if column[i] != column[i - 1]:
            edges[n_bins] = _between(column[i - 1], column[i])
            n_bins += 1
    return n_bins + 1


@helper()
def _count_light(column, max_bin):
    """Return rows and bins that are left for the values with fewer rows than an even share."""
    n = column.shape[0]
    start = 0
    n_heavy = 0
    n_light_rows = n
    while start < n:
        end = _next_distinct(column, start)
        if end - start >= n / max_bin:
            n_heavy += 1
            n_light_rows -= end - start
        start = end
    return n_light_rows, max(max_bin - n_heavy, 1)


@kernel()
def _choose_edges(column, max_bin, edges):
    """Fill edges (255,) from one ascending column (n,) without missing values; return the bins in use.

    A value with more rows than an even share gets a bin for itself; the others share the bins that are left.
    """
    n = column.shape[0]
    n_distinct = min(n, 1)
    for i in range(1, n):
        n_distinct += column[i] != column[i - 1]
    if n_distinct <= max_bin:
        return _separate_all(column, edges)
    n_light_rows, n_light_bins = _count_light(column, max_bin)
    n_bins = 0
    in_bin = 0
    start = 0
    previous = 0
    while start < n and n_bins < max_bin - 1:
        end = _next_distinct(column, start)
        is_heavy = end - start >= n / max_bin
        light_share = n_light_rows / max(n_light_bins, 1)
        if is_heavy and in_bin >= 0.5 * light_share and in_bin > 0:
            edges[n_bins] = _between(column[previous], column[start])
            n_bins += 1
            n_light_bins -= 1
            n_light_rows -= in_bin
            in_bin = 0
            if n_bins == max_bin - 1:
                break
        in_bin += end - start
        if end < n and (is_heavy or in_bin >= light_share):
            edges[n_bins] = _between(column[start], column[end])
            n_bins += 1
            if not is_heavy:
                n_light_bins -= 1
                n_light_rows -= in_bin
            in_bin = 0
        previous = start
        start = end
    return n_bins + 1

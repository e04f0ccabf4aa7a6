"""Training rows as the booster takes them: binned, in canonical order, in memory or in a memory-mapped file.

A mapped X (`rerank.runtime.mapped_rows`) is read in passes, block by block, and is never in memory as a whole: first as
many columns at a time as fit into the working memory, to learn their bins, then once more to bin the rows. The bins and
the blocks equal those of an X in memory, byte for byte.

A tree's nodes read the codes of binned rows (`tree_values`), so that their features are not needed: a value is in a bin
up to a split's if and only if it is at most the split's threshold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.lanes import prefetch
from rerank.runtime.mapped_rows import is_mapped, row_blocks, temporary_array
from rerank.runtime.threads import in_threads
from rerank.trees.bins import MOST_BINS, learn_bins
from rerank.trees.columns import MOST_CODES, WIDTH, Columns
from rerank.trees.forest import Forest, Tree, set_members
from rerank.types import Floats, Ints

WORKING_BYTES = 1 << 29  # for the columns of a mapped X that are sorted together


@dataclass(frozen=True)
class Storage:
    """Where the binned rows are kept; it has no effect on the model.

    Parameters
    ----------
    mapped : bool
        Whether the blocks are in a memory-mapped temporary file.
    working_bytes : int
        Memory for columns that are sorted together while the bins of a mapped X are learned.

    """

    mapped: bool = False
    working_bytes: int = WORKING_BYTES


@dataclass(frozen=True, eq=False)
class BinnedData:
    """Binned rows in canonical order.

    Parameters
    ----------
    columns : Columns
        Which column holds which features, and their bins.
    blocks : uint8 array of shape (n_blocks, n_rows, 16)
        Codes of the columns.
    max_bin : int
        Most bins of a feature.

    """

    columns: Columns
    blocks: NDArray[np.uint8]
    max_bin: int = MOST_BINS

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.blocks.shape[1])

    def select(self, rows: Ints) -> BinnedData:
        """Return a copy of some rows, with the bins of all."""
        return replace(self, blocks=np.take(self.blocks, rows, axis=1))


def bin_rows(
    X: NDArray[np.float32],
    order: Ints,
    max_bin: int,
    n_threads: int,
    storage: Storage | None = None,
    is_category: NDArray[np.bool_] | None = None,
) -> BinnedData:
    """Learn the bins of some rows, and bin them.

    Shapes: X float32 (n_rows, n_features); order int64 (n_rows,); is_category bool (n_features,), None for no category.
    """
    storage = storage or Storage()
    columns = Columns.of(learn_bins(X, max_bin, n_threads, storage.working_bytes, is_category))
    blocks = bin_with(columns, X, order, n_threads, storage.mapped)
    return BinnedData(columns, blocks, max_bin)


def bin_with(
    columns: Columns, X: NDArray[np.float32], order: Ints, n_threads: int, mapped: bool = False
) -> NDArray[np.uint8]:
    """Return the codes of all rows under bins that are known."""
    if not is_mapped(X) and not mapped:
        return columns.blocks(X, order, n_threads)
    shape = (columns.n_blocks, len(order), WIDTH)
    blocks = temporary_array(shape, np.uint8, "binned rows") if mapped else np.empty(shape, dtype=np.uint8)
    out = np.asarray(blocks).view(np.dtype((np.void, WIDTH)))[:, :, 0]
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    for first, rows in row_blocks(X):
        codes = columns.blocks(rows, np.arange(len(rows)), n_threads).view(out.dtype)[:, :, 0]
        _scatter(codes, position[first : first + len(rows)], out, n_threads)
    return np.asarray(blocks)


def _scatter(codes: NDArray[np.void], position: Ints, out: NDArray[np.void], n_threads: int) -> None:
    """Write the codes (n_blocks, k) of some rows to their positions (k,) in out (n_blocks, n_rows)."""

    def write(block: int) -> None:
        out[block, position] = codes[block]

    in_threads(write, range(len(out)), n_threads)


ROWS_A_SHARE = 4096  # of a thread
PREFETCH_DISTANCE = 16  # rows


def tree_values(tree: Tree, columns: Columns, blocks: NDArray[np.uint8]) -> Floats:
    """Return the value of the leaf that each row reaches.

    Shapes: blocks uint8 (n_blocks, n_rows, 16).
    """
    out = np.empty(blocks.shape[1])
    column, goes_left = columns.column[tree.feature], _codes_to_the_left(tree, columns)
    _fill_values(blocks, column, goes_left, tree.left, tree.right, tree.leaf_value, out)
    return out


def _codes_to_the_left(tree: Tree, columns: Columns) -> NDArray[np.uint8]:
    """Return for each node and code of its column whether such rows go left, (n_nodes, 256)."""
    feature, bins = tree.feature, columns.bins
    last_bin = [
        np.searchsorted(bins.edges[f, : bins.n_bins[f]], threshold)
        for f, threshold in zip(feature.tolist(), tree.threshold, strict=True)
    ]
    digit = np.arange(MOST_CODES) // columns.stride[feature, None] % columns.n_digits[feature, None]
    goes_left = digit <= np.array(last_bin, dtype=np.int64)[:, None]
    node_of, categories = set_members(Forest.of([tree]))
    for node in np.unique(node_of).tolist():
        of_bins = bins.edges[feature[node], : bins.n_bins[feature[node]]]
        goes_left[node] = np.isin(digit[node], np.flatnonzero(np.isin(of_bins, categories[node_of == node])))
    is_missing = bins.missing[feature, None] & (digit == columns.missing_digit[feature, None])
    return np.where(is_missing, tree.missing_left[:, None], goes_left).astype(np.uint8)


@helper()
def _divide(codes, goes_left, rows, to_rows):  # type: ignore[no-untyped-def]
    """Copy rows (k,) to to_rows (k,): those that go left to its front, the others to its end; return how many do.

    codes  (n_rows,) uint8 of one column, every 16th byte of its block
    """
    n, left, right = rows.shape[0], np.int64(0), rows.shape[0] - 1
    for i in range(n):
        prefetch(codes, rows[min(i + PREFETCH_DISTANCE, n - 1)])
        to_rows[left] = to_rows[right] = rows[i]  # no branch to mispredict: the next row takes the other place
        flag = np.int64(goes_left[codes[np.uint32(rows[i])]])
        left += flag
        right -= 1 - flag
    return left


@helper()
def _fill_share(blocks, column, goes_left, left, right, leaf_value, first, last, out):  # type: ignore[no-untyped-def]
    """Do what `_fill_values` does for the rows from `first` to `last`, which are divided node by node."""
    n_nodes = column.shape[0]
    if n_nodes == 0:
        out[first:last] = leaf_value[0]
        return
    rows, parts = np.empty((2, last - first), np.int32), np.empty((n_nodes, 3), np.int64)  # from, to, which rows
    for i in range(last - first):
        rows[0, i] = first + i
    parts[0, 0], parts[0, 1], parts[0, 2] = 0, last - first, 0
    for node in range(n_nodes):  # a child follows its parent
        begin, end, buffer, number = parts[node, 0], parts[node, 1], parts[node, 2], column[node]
        codes = blocks[number // 16, :, number % 16]
        middle = begin + _divide(codes, goes_left[node], rows[buffer, begin:end], rows[1 - buffer, begin:end])
        for side in range(2):
            child = right[node] if side else left[node]
            low, high = (middle, end) if side else (begin, middle)
            if child >= 0:
                parts[child, 0], parts[child, 1], parts[child, 2] = low, high, 1 - buffer
            else:
                for i in range(low, high):
                    out[rows[1 - buffer, i]] = leaf_value[~child]


@kernel(parallel=True)
def _fill_values(blocks, column, goes_left, left, right, leaf_value, out):  # type: ignore[no-untyped-def]
    """Fill out (n_rows,) float64 with the value of the leaf that each row of blocks (n_blocks, n_rows, 16) reaches.

    column       (n_nodes,) int64 column that each node reads
    goes_left    (n_nodes, 256) uint8 by code
    left, right  (n_nodes,) int32 children: a node, or ~leaf (negative)
    """
    for share in prange((out.shape[0] + ROWS_A_SHARE - 1) // ROWS_A_SHARE):
        first = np.int64(share) * ROWS_A_SHARE
        last = min(out.shape[0], first + ROWS_A_SHARE)
        _fill_share(blocks, column, goes_left, left, right, leaf_value, first, last, out)

"""The value of a tree for binned rows.

A tree's nodes read the codes of the rows, so that their features are not needed: a value is in a bin up to a split's if
and only if it is at most the split's threshold.
"""

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.llvm import prefetch
from rerank.trees.columns import MOST_CODES, Columns
from rerank.trees.forest import Forest, set_members
from rerank.types import Floats

ROWS_A_SHARE = 4096  # of a thread
PREFETCH_DISTANCE = 16  # rows


def tree_values(tree: Forest, columns: Columns, blocks: NDArray[np.uint8]) -> Floats:
    """Return the value of the leaf that each row reaches.

    Shapes: blocks uint8 (n_blocks, n_rows, 16).
    """
    out = np.empty(blocks.shape[1])
    _fill_values(
        blocks,
        columns.column[tree.feature],
        _codes_to_the_left(tree, columns),
        np.stack((tree.left, tree.right), axis=1),
        tree.leaf_value,
        out,
    )
    return out


def _codes_to_the_left(tree: Forest, columns: Columns) -> NDArray[np.uint8]:
    """Return for each node and code of its column whether such rows go left, (n_nodes, 256)."""
    feature = tree.feature
    bins = columns.bins
    last_bin = [
        np.searchsorted(bins.edges[f, : bins.n_bins[f]], threshold)
        for f, threshold in zip(feature.tolist(), tree.threshold, strict=True)
    ]
    digit = np.arange(MOST_CODES) // columns.stride[feature, None] % columns.n_digits[feature, None]
    goes_left = digit <= np.array(last_bin, dtype=np.int64)[:, None]
    node_of, categories = set_members(tree)
    for node in np.unique(node_of).tolist():
        of_bins = bins.edges[feature[node], : bins.n_bins[feature[node]]]
        goes_left[node] = np.isin(digit[node], np.flatnonzero(np.isin(of_bins, categories[node_of == node])))
    is_missing = bins.missing[feature, None] & (digit == columns.missing_digit[feature, None])
    return np.where(is_missing, tree.missing_left[:, None], goes_left).astype(np.uint8)


@helper()
def _divide(codes, goes_left, rows, to_rows):
    """Copy rows (k,) to to_rows (k,): those that go left to its front, the others to its end; return how many do.

    codes  (n_rows,) uint8 of one column, every 16th byte of its block
    """
    n = rows.shape[0]
    left = np.int64(0)
    right = rows.shape[0] - 1
    for i in range(n):
        prefetch(codes, rows[min(i + PREFETCH_DISTANCE, n - 1)])
        to_rows[left] = to_rows[right] = rows[i]  # no branch to mispredict: the next row takes the other place
        flag = np.int64(goes_left[codes[np.uint32(rows[i])]])
        left += flag
        right -= 1 - flag
    return left


@helper()
def _fill_share(blocks, column, goes_left, children, leaf_value, first, last, out):
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
        begin = parts[node, 0]
        end = parts[node, 1]
        buffer = parts[node, 2]
        number = column[node]
        codes = blocks[number // 16, :, number % 16]
        middle = begin + _divide(codes, goes_left[node], rows[buffer, begin:end], rows[1 - buffer, begin:end])
        for side in range(2):
            child = children[node, side]
            low, high = (middle, end) if side else (begin, middle)
            if child >= 0:
                parts[child, 0], parts[child, 1], parts[child, 2] = low, high, 1 - buffer
            else:
                for i in range(low, high):
                    out[rows[1 - buffer, i]] = leaf_value[~child]


@kernel(parallel=True)
def _fill_values(blocks, column, goes_left, children, leaf_value, out):
    """Fill out (n_rows,) float64 with the value of the leaf that each row of blocks (n_blocks, n_rows, 16) reaches.

    column     (n_nodes,) int64 column that each node reads
    goes_left  (n_nodes, 256) uint8 by code
    children   (n_nodes, 2) int32, left and right: a node, or ~leaf (negative)
    """
    for share in prange((out.shape[0] + ROWS_A_SHARE - 1) // ROWS_A_SHARE):
        first = np.int64(share) * ROWS_A_SHARE
        last = min(out.shape[0], first + ROWS_A_SHARE)
        _fill_share(blocks, column, goes_left, children, leaf_value, first, last, out)

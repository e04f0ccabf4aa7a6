"""What one tree adds to binned rows: its nodes read the codes of the rows, so that their features are not needed.

A value is in a bin up to a split's if and only if it is at most the split's threshold, so that a row reaches the leaf
that it reaches by its features.
"""

from __future__ import annotations

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.trees.columns import MOST_CODES, Columns
from rerank.trees.forest import Tree
from rerank.types import Floats

ROWS_A_SHARE = 4096  # of a thread


def tree_values(tree: Tree, columns: Columns, blocks: NDArray[np.uint8]) -> Floats:
    """Return the value of the leaf that each row reaches.

    Shapes: blocks uint8 (n_blocks, n_rows, 16).
    """
    out = np.empty(blocks.shape[1])
    _fill_values(blocks, columns.column[tree.feature], _children(tree, columns), tree.leaf_value, out)
    return out


def _children(tree: Tree, columns: Columns) -> NDArray[np.int32]:
    """Return the child of each node (n_nodes, 256) by the code of its column: a node, or ~leaf (negative)."""
    feature, bins = tree.feature, columns.bins
    last_bin = [
        np.searchsorted(bins.edges[f, : bins.n_bins[f]], threshold)
        for f, threshold in zip(feature.tolist(), tree.threshold, strict=True)
    ]
    digit = np.arange(MOST_CODES) // columns.stride[feature, None] % columns.n_digits[feature, None]
    goes_left = digit <= np.array(last_bin, dtype=np.int64)[:, None]
    is_missing = bins.missing[feature, None] & (digit == columns.missing_digit[feature, None])
    goes_left = np.where(is_missing, tree.missing_left[:, None], goes_left)
    return np.where(goes_left, tree.left[:, None], tree.right[:, None]).astype(np.int32)


@kernel(parallel=True)
def _fill_values(blocks, column, children, leaf_value, out):  # type: ignore[no-untyped-def]
    """Fill out (n_rows,) float64 with the value of the leaf that each row of blocks (n_blocks, n_rows, 16) reaches.

    column    (n_nodes,) int64 column that each node reads
    children  (n_nodes, 256) int32 child by code
    """
    n_rows, root = out.shape[0], np.int32(0 if column.shape[0] > 0 else -1)
    for share in prange((n_rows + ROWS_A_SHARE - 1) // ROWS_A_SHARE):
        for row in range(share * ROWS_A_SHARE, min(n_rows, (share + 1) * ROWS_A_SHARE)):
            node = root
            while node >= 0:
                number = column[node]
                node = children[node, blocks[number // 16, row, number % 16]]
            out[row] = leaf_value[~node]

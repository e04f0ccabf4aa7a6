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

from rerank.runtime.kernels import kernel
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
    node_of, categories = set_members(Forest.of([tree]))
    for node in np.unique(node_of).tolist():
        of_bins = bins.edges[feature[node], : bins.n_bins[feature[node]]]
        goes_left[node] = np.isin(digit[node], np.flatnonzero(np.isin(of_bins, categories[node_of == node])))
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

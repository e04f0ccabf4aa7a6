"""Sparse columns: nearly every row has the most frequent code, so only the exceptions of a row are stored.

exception  another code than the most frequent one of its column, as a uint16: (column - first_sparse) * 256 + code

A row stores eight uint16, one load from memory in place of one byte for each sparse column. Those that it does not need
name the most frequent codes of different columns, whose sums are computed from the others and overwrite what these add.
A row with more than eight exceptions has OVERFLOW as its first, and its codes are read from the blocks. The kernel that
adds exceptions to histograms is in `leafwise.py`.

`exceptions_of_row` in `tests/oracles/trees.py` does for one row what `_fill_exceptions` does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.runtime.threads import in_threads, row_parts
from rerank.trees.bins import Bins
from rerank.trees.leafwise import OVERFLOW
from rerank.types import Ints

EXCEPTIONS = 8  # stored for each row
MOST_SPARSE = int(OVERFLOW) // 256  # columns: none of their exceptions equals OVERFLOW
LEAST_SPARSE = 20  # columns: to add a row's exceptions takes about as long as the bytes of this many columns
LARGEST_SHARE = 0.25  # of rows with an exception: above it a byte a row is faster
MEAN_EXCEPTIONS = 4.0  # of a row, at most: few rows have more than eight
LEAST_BINS = 128  # features of fewer bins may share a column with others


def sparse_features(bins: Bins) -> Ints:
    """Return the features to store as sparse columns."""
    sparse = np.flatnonzero((bins.n_bins + bins.missing > LEAST_BINS) & (bins.exception_share <= LARGEST_SHARE))
    sparse = sparse[np.argsort(bins.exception_share[sparse], kind="stable")]
    sparse = sparse[np.cumsum(bins.exception_share[sparse]) <= MEAN_EXCEPTIONS][:MOST_SPARSE]
    return sparse if len(sparse) >= LEAST_SPARSE else sparse[:0]


def list_exceptions(
    blocks: NDArray[np.uint8], first_sparse: int, most_freq_code: NDArray[np.uint8], n_threads: int
) -> NDArray[np.uint16]:
    """Return the exceptions of every row.

    Shapes: blocks uint8 (n_blocks, n_rows, 16); most_freq_code uint8 (n_sparse,).
    """
    if not len(most_freq_code):
        return np.empty((0, EXCEPTIONS), dtype=np.uint16)
    n_rows = blocks.shape[1]
    exceptions = np.empty((n_rows + 1, EXCEPTIONS), dtype=np.uint16)
    exceptions[-1] = 256 * np.arange(EXCEPTIONS) + most_freq_code[:EXCEPTIONS]

    def fill(rows: slice) -> None:
        _fill_exceptions(blocks[:, rows], first_sparse, most_freq_code, OVERFLOW, exceptions[:-1][rows])

    in_threads(fill, row_parts(n_rows, n_threads), n_threads)
    return exceptions


@kernel()
def _fill_exceptions(blocks, first_sparse, most_freq_code, overflow, out):  # type: ignore[no-untyped-def]
    """Fill out (k, 8) uint16 with the exceptions of the rows of blocks (n_blocks, k, 16)."""
    for row in range(out.shape[0]):
        n = 0
        for k in range(most_freq_code.shape[0]):
            column = first_sparse + k
            code = blocks[column // 16, row, column % 16]
            if code != most_freq_code[k]:
                if n < EXCEPTIONS:
                    out[row, n] = 256 * k + np.int64(code)
                n += 1
        if n > EXCEPTIONS:
            out[row, 0] = overflow
        for k in range(n, EXCEPTIONS):
            out[row, k] = 256 * k + np.int64(most_freq_code[k])

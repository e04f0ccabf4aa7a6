"""Training rows as the booster takes them: binned, in canonical order, in memory or in a memory-mapped file.

A mapped X (`rerank.runtime.mapped_rows`) is binned block by block, and is never in memory as a whole. The bins and the
blocks equal those of an X in memory, byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.mapped_rows import is_mapped, row_blocks, temporary_array
from rerank.trees.bins import MOST_BINS
from rerank.trees.columns import WIDTH, Columns
from rerank.types import Ints

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
    digests : uint64 array of shape (n_features,)
        Digest of each feature (`content.py`), 0 where no split divides the rows.
    max_bin : int
        Most bins of a feature.

    """

    columns: Columns
    blocks: NDArray[np.uint8]
    digests: NDArray[np.uint64]
    max_bin: int = MOST_BINS

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.blocks.shape[1])

    def select(self, rows: Ints) -> BinnedData:
        """Return a copy of some rows, with the bins of all."""
        return replace(self, blocks=np.take(self.blocks, rows, axis=1))


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
        out[:, position[first : first + len(rows)]] = codes
    return np.asarray(blocks)

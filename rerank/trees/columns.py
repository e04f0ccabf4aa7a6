"""Bins as training reads them: columns of one byte, in blocks of 16; features of few bins share a column.

column   a byte a row. Features whose numbers of states multiply to at most 256 stand in one column, as digits of a
         mixed-radix number: one add to the column's histogram serves them all, and loses nothing.
state    what a feature's digit can be: its bins, and one more for missing values where it has any. A feature with a
         column of its own has its bin, and 255 where it is missing.
block    16 columns: a row's bytes of one block are one load, and the block's histograms stay in L1
unit     4 columns, a quarter of a block: what one thread takes at least. Rare columns (rare.py) begin a unit, and no
         others follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.threads import in_threads, row_parts
from rerank.trees.bins import Bins
from rerank.trees.rare import rare_features
from rerank.types import Ints, pointers

WIDTH = 16
UNIT = WIDTH // 4
MOST_CODES = 256
ROWS_AT_ONCE = 128  # their features stay in L2 while column after column reads them


@dataclass(frozen=True, eq=False)
class Columns:
    """Which column holds which features; a feature that parts nothing has no column (-1).

    column         (n_features,) int64
    stride         (n_features,) int64 what one state more adds to the column's byte
    n_states       (n_features,) int64
    missing_state  (n_features,) int64 state of a missing value
    features       (n_stored,) int64 features column by column, with column_ptr (n_blocks * 16 + 1,) int64
    first_rare     the first of the rare columns
    usual          (n_rare,) uint8 code that most rows have in each of them
    """

    bins: Bins
    column: Ints
    stride: Ints
    n_states: Ints
    missing_state: Ints
    features: Ints
    column_ptr: Ints
    first_rare: int
    usual: NDArray[np.uint8]

    @classmethod
    def of(cls, bins: Bins) -> Columns:
        """Put features with the most states first, each into the first column that has room, and the rare behind."""
        n_states, rare = bins.n_bins + bins.missing, rare_features(bins)
        column, stride = np.full(len(n_states), -1), np.ones(len(n_states), dtype=np.int64)
        codes: list[int] = []  # in use, of each column
        for feature in np.argsort(-n_states, kind="stable"):
            if n_states[feature] < 2 or feature in rare:
                continue
            free = (number for number, used in enumerate(codes) if used * n_states[feature] <= MOST_CODES)
            column[feature] = place = next(free, len(codes))
            if place == len(codes):
                codes.append(1)
            stride[feature] = codes[place]
            codes[place] *= int(n_states[feature])
        first_rare = -(-len(codes) // UNIT) * UNIT
        column[rare] = first_rare + np.arange(len(rare))
        counts = np.bincount(column[column >= 0], minlength=-(-max(first_rare + len(rare), 1) // WIDTH) * WIDTH)
        alone = counts[column] == 1
        missing_state = np.where(alone, MOST_CODES - 1, bins.n_bins).astype(np.int64)
        order = np.argsort(column, kind="stable")
        return cls(
            bins,
            column,
            stride,
            np.where(alone, MOST_CODES, n_states).astype(np.int64),
            missing_state,
            order[column[order] >= 0],
            pointers(counts),
            first_rare,
            np.where(bins.usual < bins.n_bins, bins.usual, missing_state)[rare].astype(np.uint8),
        )

    @property
    def states(self) -> Ints:
        """What each code of a feature's column says of the feature, (n_features, 256)."""
        return np.arange(MOST_CODES) // self.stride[:, None] % self.n_states[:, None]

    @property
    def n_blocks(self) -> int:
        """Number of 16-column blocks."""
        return (len(self.column_ptr) - 1) // WIDTH

    def blocks(self, X: NDArray[np.float32], rows: Ints, n_threads: int) -> NDArray[np.uint8]:
        """Return the columns of X[rows] (k, n_features) as (n_blocks, k, 16) uint8; X itself is not copied."""
        out = np.zeros((self.n_blocks, len(rows), WIDTH), dtype=np.uint8)

        def fill(here: slice) -> None:
            bins = (self.bins.edges, self.bins.n_bins)
            _fill_blocks(
                X, rows[here], self.features, self.column, self.stride, self.missing_state, *bins, out[:, here]
            )

        in_threads(fill, row_parts(len(rows), n_threads), n_threads)
        return out


def by_column(blocks: NDArray[np.uint8], n_threads: int) -> NDArray[np.uint8]:
    """Return the bytes of blocks (n_blocks, n_rows, 16) column by column, (n_blocks * 16, n_rows)."""
    out = np.empty((len(blocks), WIDTH, blocks.shape[1]), dtype=np.uint8)

    def turn(block: int) -> None:
        out[block] = blocks[block].T

    in_threads(turn, range(len(blocks)), n_threads)
    return out.reshape(len(blocks) * WIDTH, blocks.shape[1])


@helper()
def _find_bins(values, edges, n_bins, out):  # type: ignore[no-untyped-def]
    """Fill out (k,) int64 with how many of the edges (255,), which end in +inf, lie below each value."""
    step = 1
    while 2 * step < n_bins:
        step *= 2
    out[:] = 0
    while step > 0:
        for i in range(values.shape[0]):
            out[i] += step if edges[np.uint64(out[i] + step - 1)] < values[i] else 0
        step >>= 1


@kernel()
def _fill_blocks(X, rows, features, column, stride, missing_state, edges, n_bins, out):  # type: ignore[no-untyped-def]
    """Write the bytes of some rows into out (n_blocks, k, 16), zero before."""
    values, bins = np.empty(ROWS_AT_ONCE, np.float32), np.empty(ROWS_AT_ONCE, np.int64)
    for first in range(0, rows.shape[0], ROWS_AT_ONCE):
        n = min(ROWS_AT_ONCE, rows.shape[0] - first)
        for k in range(features.shape[0]):
            feature = features[k]
            for i in range(n):
                values[i] = X[rows[first + i], feature]
            _find_bins(values[:n], edges[feature], n_bins[feature], bins[:n])
            block, c = column[feature] // WIDTH, column[feature] % WIDTH
            for i in range(n):
                state = bins[i] if values[i] == values[i] else missing_state[feature]
                out[block, first + i, c] += np.uint8(state * stride[feature])

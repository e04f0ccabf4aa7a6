"""One tree, grown leaf by leaf: always the leaf whose split takes most off the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.trees.columns import MOST_CODES, UNIT, WIDTH, Columns, by_column
from rerank.trees.forest import Tree
from rerank.trees.leafwise import grow_leaves
from rerank.trees.leaves import newton_steps, pack
from rerank.trees.rare import LEAST_RARE, exceptions
from rerank.types import Floats, Ints

HIGHEST = np.finfo(np.float32).max
ADDS = 7 * MOST_CODES  # to add a leaf's rows to a column's histogram takes about as long as to search so many states
LEAST_SQUARES = np.array([1.0, 0.0, 0.0, 1.0])  # the limits that do not speak of the hessian


@dataclass(frozen=True)
class TreeLimits:
    """When a tree stops growing; the names are LGBMRanker's."""

    num_leaves: int = 31
    max_depth: int = -1
    min_child_samples: int = 20
    min_child_weight: float = 1e-3
    min_split_gain: float = 0.0
    reg_lambda: float = 0.0

    def as_array(self) -> Floats:
        """Return what the kernel asks for: rows and hessian a side, reg_lambda, gain."""
        return np.array([self.min_child_samples, self.min_child_weight, self.reg_lambda, self.min_split_gain])


class Grower:
    """Grows trees on one binned data set; the memory is taken once and used for every tree."""

    def __init__(self, columns: Columns, blocks: NDArray[np.uint8], limits: TreeLimits, n_threads: int) -> None:
        """Take binned rows: blocks (n_blocks, n_rows, 16) uint8."""
        n_blocks, n_rows, _ = blocks.shape
        bins, n_leaves = columns.bins, limits.num_leaves
        self.columns, self.limits, self.n_threads = columns, limits, n_threads
        self._layout = np.column_stack(
            [columns.column, columns.n_states, columns.missing_state, bins.n_bins, columns.states]
        )
        self._limits = limits.as_array()
        self._blocks, self._codes = blocks.view(np.uint64), by_column(blocks, n_threads)
        self._words = exceptions(blocks, columns.first_rare, columns.usual, n_threads).view(np.uint64)
        self._rows = np.empty((2, n_rows), dtype=np.int32)
        self._packed, self._flags = np.empty((2, n_rows), dtype=np.int64), np.empty(n_rows, dtype=np.uint8)
        self._histograms = np.empty((n_leaves, n_blocks * WIDTH, MOST_CODES), dtype=np.int64)
        self._found = np.zeros((2, len(bins.n_bins), 5))
        self._sums, self._splits = np.zeros((n_leaves, 3)), np.zeros((n_leaves, 6))
        self._steps = np.ones(2)
        self._leaf_ptr, self._nodes = np.zeros((n_leaves, 2), dtype=np.int64), np.zeros((max(n_leaves - 1, 1), 6))

    def grow(
        self, grad: Floats, hess: Floats, rows: NDArray[np.int32], features: Ints, row_weights: Floats | None = None
    ) -> tuple[Tree, NDArray[np.int32], Ints]:
        """Grow one tree on some rows and features.

        grad, hess  (n_rows,) float64 of the loss; leaf values are Newton steps -sum grad / sum hess
        rows        (k,) int32 ascending; features (m,) int64 ascending, with a column
        row_weights (n_rows,) float64 that take the hessian's place while splits are searched: G^2 / W is what a mean
                    of gradients takes off their weighted squared error (least squares); None: G^2 / H
        Returns the tree, the rows ordered by leaf, and their leaf_ptr (n_leaves, 2) int64.
        """
        columns, n_rows = self.columns, len(rows)
        self._rows[0, :n_rows] = rows
        wanted = np.zeros(len(self._layout), dtype=np.bool_)
        wanted[features] = True
        units, shares = self._units(features)
        self._leaf_ptr[0], self._found[:] = (0, n_rows), 0.0
        newton = row_weights is None
        bounds = self._limits if newton else self._limits * LEAST_SQUARES
        pack(grad, hess if newton else row_weights, rows, self._steps, self._packed[0, :n_rows], self._sums[0])
        n_leaves = grow_leaves(
            self._blocks, self._codes, self._words, columns.usual, columns.first_rare, units, columns.column_ptr,
            columns.features, self._layout, columns.bins.missing, wanted, self._rows, self._packed, self._flags,
            self._histograms, self._steps, bounds, self.limits.max_depth, self._found, self._sums, self._splits,
            shares, self._leaf_ptr, self._nodes,
        )  # fmt: skip
        leaf_ptr = self._leaf_ptr[:n_leaves].copy()
        values = np.zeros(n_leaves)
        least_hess = self.limits.min_child_weight if n_leaves == 1 or not newton else 0.0  # else asked of each split
        newton_steps(grad, hess, self._rows[0], leaf_ptr, self.limits.reg_lambda, least_hess, values)
        return self._tree(self._nodes[: n_leaves - 1], values), self._rows[0, :n_rows], leaf_ptr

    def _units(self, features: Ints) -> tuple[Ints, Ints]:
        """Return the units of some features, ascending, and where those of each thread begin: about equal work.

        One thread takes all rare columns, the last: their rows are read once for all of them.
        """
        columns, n_units = self.columns, len(self.columns.column_ptr) // UNIT
        shared = columns.n_states[features] < MOST_CODES  # the whole histogram is read for each feature in it
        work = np.bincount(
            columns.column[features] // UNIT, columns.bins.n_bins[features] + MOST_CODES * shared, n_units
        )
        units, read = np.flatnonzero(work), np.unique(columns.column[features])
        n_common = np.searchsorted(units, columns.first_rare // UNIT)
        work += ADDS * np.bincount(read[read < columns.first_rare] // UNIT, minlength=n_units)
        work[units[n_common : n_common + 1]] += ADDS * LEAST_RARE
        before = np.cumsum(work[units]) - work[units] / 2
        ends = np.arange(1, self.n_threads) * work.sum() / self.n_threads
        return units, np.concatenate([[0], np.minimum(np.searchsorted(before, ends), n_common), [len(units)]])

    def _tree(self, nodes: Floats, values: Floats) -> Tree:
        feature = nodes[:, 0].astype(np.int32)
        edges = self.columns.bins.edges[feature, nodes[:, 1].astype(np.int64)]
        return Tree(
            feature,
            np.minimum(edges, HIGHEST),  # JSON has no infinity, which parts the values from the missing ones
            nodes[:, 2] > 0.0,
            nodes[:, 3].astype(np.int32),
            nodes[:, 4].astype(np.int32),
            nodes[:, 5].copy(),
            values,
        )

"""One tree, grown leaf by leaf: always the leaf whose split takes most off the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from rerank.trees.bins import WIDTH, Bins
from rerank.trees.forest import Tree
from rerank.trees.histogram import NEAR_ROWS, fill_histogram, pack, scales
from rerank.trees.split import find_splits, partition
from rerank.types import Floats, Ints

ROWS_FOR_PARTS = 4096  # a leaf with fewer rows is not worth cutting up between threads


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
        """Return what the split kernel asks for: rows and hessian a side, reg_lambda, gain."""
        return np.array([self.min_child_samples, self.min_child_weight, self.reg_lambda, self.min_split_gain])


@dataclass
class _Leaf:
    """A leaf while the tree grows: its rows, where its histogram stands, and where it hangs."""

    start: int
    end: int
    slot: int
    depth: int
    parent: int
    is_left: bool

    @property
    def n_rows(self) -> int:
        return self.end - self.start


class Grower:
    """Grows trees on one binned data set; the memory is taken once and used for every tree."""

    def __init__(self, bins: Bins, blocks: NDArray[np.uint8], limits: TreeLimits, n_threads: int) -> None:
        """Take binned rows: blocks (n_blocks, n_rows, 16) uint8."""
        n_blocks, n_rows, _ = blocks.shape
        self.bins, self.blocks, self.limits, self.n_threads = bins, blocks, limits, n_threads
        self._limits = limits.as_array()
        self._rows = np.empty(n_rows, dtype=np.int32)
        self._packed = np.empty(n_rows, dtype=np.int64)
        self._spare_rows, self._spare_packed = np.empty_like(self._rows), np.empty_like(self._packed)
        shape = (n_blocks, WIDTH, 256)
        self._histograms = np.empty((limits.num_leaves, *shape), dtype=np.int64)
        self._parts = np.empty((n_threads - 1, *shape), dtype=np.int64)
        self._words = blocks.view(np.uint64)
        self._near = np.empty((n_threads * n_blocks, NEAR_ROWS, 2), dtype=np.uint64)
        self._near_bins = self._near.view(np.uint8)
        self._sums = np.zeros((limits.num_leaves, 3))
        self._splits = np.zeros((limits.num_leaves, 6))

    def grow(
        self, grad: Floats, hess: Floats, rows: NDArray[np.int32], features: Ints
    ) -> tuple[Tree, NDArray[np.int32], Ints]:
        """Grow one tree on some rows and features.

        grad, hess  (n_rows,) float64 of the loss; leaf values are Newton steps -sum grad / sum hess
        rows        (k,) int32 ascending; features (m,) int64 ascending, with more than one bin
        Returns the tree, the rows ordered by leaf, and their leaf_ptr (n_leaves + 1,) int64.
        """
        self._start(grad, hess, rows, features)
        leaves = [_Leaf(0, len(rows), 0, 0, -1, False)]
        nodes: list[tuple[int, float, int, bool]] = []
        children: list[list[int]] = []
        self._search(leaves[:1], -1)
        while len(leaves) < self.limits.num_leaves:
            number = int(np.argmax([self._splits[leaf.slot, 0] for leaf in leaves]))
            leaf = leaves[number]
            if self._splits[leaf.slot, 0] <= 0.0:
                break
            gain, feature, threshold_bin, missing_left = self._splits[leaf.slot, :4]
            nodes.append((int(feature), float(gain), int(threshold_bin), bool(missing_left)))
            children.append([~number, ~len(leaves)])
            if leaf.parent >= 0:
                children[leaf.parent][0 if leaf.is_left else 1] = len(nodes) - 1
            leaves[number], right = self._split(leaf, len(nodes) - 1, len(leaves))
            leaves.append(right)
        return self._tree(grad, hess, leaves, nodes, children, len(rows))

    def _start(self, grad: Floats, hess: Floats, rows: NDArray[np.int32], features: Ints) -> None:
        self._features = features
        self._used = np.unique(features // WIDTH)
        grad_scale, hess_scale = scales(grad, hess)
        self._units = (1.0 / grad_scale, 1.0 / hess_scale)
        self._rows[: len(rows)] = rows
        pack(grad, hess, rows, grad_scale, hess_scale, self._packed[: len(rows)])
        packed = self._packed[: len(rows)]
        self._sums[0] = (
            float((packed >> 32).sum()) * self._units[0],
            float((packed & 0xFFFFFFFF).sum()) * self._units[1],
            len(rows),
        )

    def _split(self, leaf: _Leaf, node: int, new_slot: int) -> tuple[_Leaf, _Leaf]:
        """Part the rows of a leaf as its best split says, and look for the best splits of both sides."""
        _, feature, threshold_bin, missing_left, left_grad, left_hess = self._splits[leaf.slot]
        here = slice(leaf.start, leaf.end)
        n_left = partition(
            self.blocks[int(feature) // WIDTH],
            int(feature) % WIDTH,
            int(threshold_bin),
            bool(missing_left),
            self._rows[here],
            self._packed[here],
            self._spare_rows[here],
            self._spare_packed[here],
            self._n_parts(leaf.n_rows),
        )
        # The smaller side is summed anew; what is left in the parent's histogram is the larger side.
        left_is_small = 2 * n_left <= leaf.n_rows
        left_slot, right_slot = (new_slot, leaf.slot) if left_is_small else (leaf.slot, new_slot)
        whole = self._sums[leaf.slot].copy()
        middle = leaf.start + n_left
        left = _Leaf(leaf.start, middle, left_slot, leaf.depth + 1, node, True)
        right = _Leaf(middle, leaf.end, right_slot, leaf.depth + 1, node, False)
        self._sums[left_slot] = (left_grad, left_hess, left.n_rows)
        self._sums[right_slot] = (whole[0] - left_grad, whole[1] - left_hess, right.n_rows)
        self._search([left, right] if left_is_small else [right, left], leaf.slot)
        return left, right

    def _search(self, leaves: list[_Leaf], parent: int) -> None:
        """Fill the histogram of the first leaf, take it off `parent` for the second, find best splits."""
        self._splits[[leaf.slot for leaf in leaves]] = 0.0
        open_slots = [leaf.slot for leaf in leaves if self._may_split(leaf)]
        if not open_slots:
            return
        first = leaves[0]
        here = slice(first.start, first.end)
        n_parts = self._n_parts(first.n_rows)
        fill_histogram(
            self._words,
            self._used,
            self._rows[here],
            self._packed[here],
            self._near,
            self._near_bins,
            self._parts[: n_parts - 1],
            self._histograms,
            first.slot,
            parent,
        )
        find_splits(
            self._histograms,
            self._features,
            self.bins.n_bins,
            self.bins.missing,
            *self._units,
            self._limits,
            np.array(open_slots),
            self._sums,
            self._splits,
        )

    def _may_split(self, leaf: _Leaf) -> bool:
        deep = 0 <= self.limits.max_depth <= leaf.depth
        return not deep and leaf.n_rows >= 2 * max(self.limits.min_child_samples, 1)

    def _n_parts(self, n_rows: int) -> int:
        return self.n_threads if n_rows >= ROWS_FOR_PARTS else 1

    def _tree(
        self,
        grad: Floats,
        hess: Floats,
        leaves: list[_Leaf],
        nodes: list[tuple[int, float, int, bool]],
        children: list[list[int]],
        n_rows: int,
    ) -> tuple[Tree, NDArray[np.int32], Ints]:
        leaf_ptr = np.array([[leaf.start, leaf.end] for leaf in leaves], dtype=np.int64)
        values = np.zeros(len(leaves))
        _newton_steps(grad, hess, self._rows, leaf_ptr, self.limits.reg_lambda, values)
        feature = np.array([node[0] for node in nodes], dtype=np.int32)
        threshold_bin = np.array([node[2] for node in nodes], dtype=np.int64)
        links = np.array(children, dtype=np.int32).reshape(-1, 2)
        tree = Tree(
            feature,
            self.bins.edges[feature, threshold_bin],
            np.array([node[3] for node in nodes], dtype=np.bool_),
            np.ascontiguousarray(links[:, 0]),
            np.ascontiguousarray(links[:, 1]),
            np.array([node[1] for node in nodes], dtype=np.float64),
            values,
        )
        return tree, self._rows[:n_rows], leaf_ptr


@njit(cache=True, parallel=True)
def _newton_steps(grad, hess, rows, leaf_ptr, reg_lambda, out):  # type: ignore[no-untyped-def]
    """Fill out (n_leaves,) with -sum grad / (sum hess + lambda) over each leaf's rows, summed in row order."""
    for leaf in prange(leaf_ptr.shape[0]):
        total_grad, total_hess = 0.0, 0.0
        for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
            total_grad += grad[rows[i]]
            total_hess += hess[rows[i]]
        total_hess += reg_lambda
        out[leaf] = -total_grad / total_hess if total_hess > 0.0 else 0.0


@njit(cache=True, parallel=True)
def add_leaf_values(rows, leaf_ptr, leaf_value, scores):  # type: ignore[no-untyped-def]
    """Add each leaf's value to the scores of its rows."""
    for leaf in prange(leaf_ptr.shape[0]):
        for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
            scores[rows[i]] += leaf_value[leaf]

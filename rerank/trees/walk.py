"""Scores of a few rows: eight trees are walked in step, without a branch that depends on the row.

place  where a node or a leaf stands; a node's children stand side by side, so that the next place is
       that of the left one plus one where the row goes right; a leaf leads to itself
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.trees.forest import Forest
from rerank.types import Floats

GROUP = 8


@dataclass(frozen=True, eq=False)
class WalkForest:
    """A forest laid out for walking.

    roots      (n_groups, 8) int32 places; place 0 is a leaf of value 0 that fills up the last group
    steps      (n_places, 2) int32: which of a row's values is tested (see `_add_scores`), place of the left child
    threshold  (n_places,) float32: greater goes right; infinite at a leaf
    value      (n_places,) float64: a leaf's value
    """

    roots: NDArray[np.int32]
    steps: NDArray[np.int32]
    threshold: NDArray[np.float32]
    value: Floats


def walk_forest(forest: Forest) -> WalkForest:
    """Lay a forest out for walking."""
    n_groups = -(-forest.n_trees // GROUP)
    n_places = 1 + len(forest.feature) + len(forest.leaf_value)
    steps = np.zeros((n_places, 2), dtype=np.int32)
    threshold = np.full(n_places, np.inf, dtype=np.float32)
    value = np.zeros(n_places)
    roots = np.zeros((n_groups, GROUP), dtype=np.int32)
    _lay_out(
        forest.node_ptr,
        forest.leaf_ptr,
        # Values 2f + 1 and 2f + 2 of a row are those of feature f for either direction of the missing.
        2 * forest.feature + 2 - forest.missing_left,
        forest.threshold,
        forest.left,
        forest.right,
        forest.leaf_value,
        roots.ravel(),
        steps,
        threshold,
        value,
    )
    return WalkForest(roots, steps, threshold, value)


def add_scores(forest: WalkForest, X: NDArray[np.float32], out: Floats) -> None:
    """Add every tree's value to out (n_rows,) float64, in the order of the trees."""
    _add_scores(X, forest.roots, forest.steps, forest.threshold, forest.value, out)


@kernel()
def _add_scores(X, roots, steps, threshold, value, out):  # type: ignore[no-untyped-def]
    """Add every tree's value to out (n_rows,) float64; the arrays are those of `WalkForest`.

    A row is spread to 1 + 2 * n_features values: -inf for the leaves, which stay put, then every feature
    twice: with -inf, which goes left, in place of NaN, and as it is, as NaN is not <= the threshold.
    """
    n_features = X.shape[1]
    spread = np.empty(1 + 2 * n_features, np.float32)
    spread[0] = -np.inf
    places = np.empty(GROUP, np.int32)
    for row in range(X.shape[0]):
        for f in range(n_features):
            x = X[row, f]
            spread[2 * f + 1] = -np.inf if x != x else x
            spread[2 * f + 2] = x
        total = out[row]
        for g in range(roots.shape[0]):
            for j in range(GROUP):
                places[j] = roots[g, j]
            moved = np.int32(1)
            while moved:
                moved = np.int32(0)
                for j in range(GROUP):
                    p = np.uint32(places[j])
                    place = np.int32(steps[p, 1] + (not spread[np.uint32(steps[p, 0])] <= threshold[p]))
                    moved |= place ^ places[j]
                    places[j] = place
            for j in range(GROUP):
                total += value[np.uint32(places[j])]
        out[row] = total


@kernel()
def _lay_out(node_ptr, leaf_ptr, tested, limit, left, right, leaf_value, roots, steps, threshold, value):  # type: ignore[no-untyped-def]
    """Fill roots (n_trees or more,), steps, threshold and value of a `WalkForest`, breadth first.

    tested  (n_nodes,) int32 which of a row's values; limit (n_nodes,) float32
    """
    child = np.empty(steps.shape[0], np.int32)  # the node or ~leaf of a place
    n_placed = 1
    for t in range(node_ptr.shape[0] - 1):
        first, p = node_ptr[t], n_placed
        roots[t] = p
        child[p] = 0 if node_ptr[t + 1] > first else -1
        n_placed += 1
        while p < n_placed:
            steps[p, 1] = p
            if child[p] < 0:
                value[p] = leaf_value[leaf_ptr[t] + ~child[p]]
            else:
                n = first + child[p]
                steps[p, 0] = tested[n]
                steps[p, 1] = n_placed
                threshold[p] = limit[n]
                child[n_placed], child[n_placed + 1] = left[n], right[n]
                n_placed += 2
            p += 1

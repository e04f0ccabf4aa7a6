"""Scores of rows under a forest: many rows by bits of leaves (`quickscorer.py`), a few by walking.

A forest with sets of categories is always scored by bits: walking only compares.

Walking follows eight trees at once, one level in each step, without a branch on the row's values.

position  index of a node or leaf in the arrays of a `WalkForest`. The children of a node are next to each other, so the
          next position is that of the left one, plus one where the row goes right; a leaf is its own child.

`score` in `tests/oracles/trees.py` walks one row through the trees as they are stored.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numba
import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.trees import quickscorer
from rerank.trees.forest import Forest
from rerank.types import Floats

TREES_AT_ONCE = 8


class WalkForest(NamedTuple):
    """A forest arranged for walking.

    Attributes
    ----------
    roots : int32 array of shape (n_groups, 8)
        Position of the root of each tree; position 0 is a leaf of value 0, which fills up the last group.
    steps : int32 array of shape (n_positions, 2)
        Which of a row's values is tested (see `_add_scores`), position of the left child.
    threshold : float32 array of shape (n_positions,)
        Greater values go right; infinite at a leaf.
    value : float64 array of shape (n_positions,)
        Value of a leaf.

    """

    roots: NDArray[np.int32]
    steps: NDArray[np.int32]
    threshold: NDArray[np.float32]
    value: Floats


def walk_forest(forest: Forest) -> WalkForest:
    """Return a forest arranged for `add_walked_scores`."""
    n_groups = -(-forest.n_trees // TREES_AT_ONCE)
    n_positions = 1 + len(forest.feature) + len(forest.leaf_value)
    walk = WalkForest(
        roots=np.zeros((n_groups, TREES_AT_ONCE), dtype=np.int32),
        steps=np.zeros((n_positions, 2), dtype=np.int32),
        threshold=np.full(n_positions, np.inf, dtype=np.float32),
        value=np.zeros(n_positions, dtype=forest.leaf_value.dtype),
    )
    # Values 2f + 1 and 2f + 2 of a row are those of feature f for either direction of missing values.
    tested = 2 * forest.feature + 2 - forest.missing_left
    children = np.stack((forest.left, forest.right), axis=1)
    _arrange(forest.node_ptr, forest.leaf_ptr, tested, forest.threshold, children, forest.leaf_value, walk)
    return walk


def add_walked_scores(forest: WalkForest, X: NDArray[np.float32], out: Floats) -> None:
    """Add the value of every tree to the scores of some rows, in the order of the trees.

    Shapes: X float32 (n_rows, n_features); out float64 (n_rows,).
    """
    _add_scores(X, forest.roots, forest.steps, forest.threshold, forest.value, out)


@kernel()
def _add_scores(X, roots, steps, threshold, value, out):  # type: ignore[no-untyped-def]
    """Add every tree's value to out (n_rows,) float64; the arrays are those of `WalkForest`.

    Each row is copied into 1 + 2 * n_features values, so that one comparison decides at every node. Value 0 is -inf: a
    leaf compares it with its threshold, infinity, and stays at its position. Values 2f + 1 and 2f + 2 are feature f:
    the first has -inf in place of NaN, for nodes that send missing values left; the second keeps NaN, which is not <=
    any threshold, for nodes that send them right.
    """
    n_features = X.shape[1]
    spread = np.empty(1 + 2 * n_features, np.float32)
    spread[0] = -np.inf
    positions = np.empty(TREES_AT_ONCE, np.int32)
    for row in range(X.shape[0]):
        for f in range(n_features):
            x = X[row, f]
            spread[2 * f + 1] = -np.inf if x != x else x
            spread[2 * f + 2] = x
        total = out[row]
        for g in range(roots.shape[0]):
            for j in range(TREES_AT_ONCE):
                positions[j] = roots[g, j]
            moved = np.int32(1)
            while moved:
                moved = np.int32(0)
                for j in range(TREES_AT_ONCE):
                    p = np.uint32(positions[j])
                    position = np.int32(steps[p, 1] + (not spread[np.uint32(steps[p, 0])] <= threshold[p]))
                    moved |= position ^ positions[j]
                    positions[j] = position
            for j in range(TREES_AT_ONCE):
                total += value[np.uint32(positions[j])]
        out[row] = total


@kernel()
def _arrange(node_ptr, leaf_ptr, tested, threshold, children, leaf_value, walk):  # type: ignore[no-untyped-def]
    """Fill the arrays of a `WalkForest`, each tree breadth first.

    tested  (n_nodes,) int32 which of a row's values; children (n_nodes, 2) int32
    """
    child = np.empty(walk.steps.shape[0], np.int32)  # the node or ~leaf at a position
    roots, end = walk.roots.reshape(walk.roots.size), 1
    for t in range(node_ptr.shape[0] - 1):
        first, p = node_ptr[t], end
        roots[t] = p
        child[p] = 0 if node_ptr[t + 1] > first else -1
        end += 1
        while p < end:
            walk.steps[p, 1] = p
            if child[p] < 0:
                walk.value[p] = leaf_value[leaf_ptr[t] + ~child[p]]
            else:
                n = first + child[p]
                walk.steps[p, 0], walk.steps[p, 1] = tested[n], end
                walk.threshold[p] = threshold[n]
                child[end], child[end + 1] = children[n, 0], children[n, 1]
                end += 2
            p += 1


FEW_ROWS = 8  # about as many rows as can be walked while a block of 64 is scored by bits
# From about two milliseconds on threads pay off, even where other processes use the cores and the last thread is late.
# In tests of a node on a row; moving a value into its column counts as several.
PARALLEL_TESTS = 50_000_000
TESTS_A_COLUMN = 40

_BITS: WeakKeyDictionary[Forest, quickscorer.BitForest] = WeakKeyDictionary()
_WALKS: WeakKeyDictionary[Forest, WalkForest] = WeakKeyDictionary()


def score_rows(forest: Forest, X: NDArray[np.float32]) -> Floats:
    """Return the scores of some rows under a forest.

    Trees are added in their order, so that a row's score depends neither on the other rows nor on the number of threads
    (``numba.set_num_threads``). The forest as it is arranged for scoring is kept as long as the forest: its arrays must
    not change after its first scores.

    Shapes: X (n_rows, n_features).
    """
    X = np.ascontiguousarray(X, dtype=np.float32)
    out = np.zeros(len(X), dtype=forest.leaf_value.dtype)
    if len(X) <= FEW_ROWS and forest.category_words is None:
        layout = _WALKS.get(forest) or _WALKS.setdefault(forest, walk_forest(forest))
        add_walked_scores(layout, X, out)
    else:
        bits = _BITS.get(forest) or _BITS.setdefault(forest, quickscorer.bit_forest(forest))
        quickscorer.add_scores(bits, X, out, _threads_worth(bits, len(X)))
    return out.astype(np.float64, copy=False)


def _threads_worth(bits: quickscorer.BitForest, n_rows: int) -> int:
    """Return how many threads to use."""
    n_tests = n_rows * (len(bits.tests) + TESTS_A_COLUMN * len(bits.features))
    return numba.get_num_threads() if n_tests >= PARALLEL_TESTS else 1

"""Scores of rows under a forest."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from rerank.trees.forest import Forest
from rerank.types import Floats

ROWS_A_TASK = 256


def score_rows(forest: Forest, X: NDArray[np.float32]) -> Floats:
    """Return the sum of the trees' leaf values for every row of X (n_rows, n_features) float32."""
    out = np.zeros(len(X), dtype=np.float64)
    add_scores(
        np.ascontiguousarray(X, dtype=np.float32),
        forest.node_ptr,
        forest.leaf_ptr,
        forest.feature,
        forest.threshold,
        forest.missing_left,
        forest.left,
        forest.right,
        forest.leaf_value,
        out,
    )
    return out


@njit(cache=True, parallel=True)
def add_scores(X, node_ptr, leaf_ptr, feature, threshold, missing_left, left, right, leaf_value, out):  # type: ignore[no-untyped-def]
    """Add every tree's value to out (n_rows,) float64; the arrays are those of `Forest`."""
    n_rows = X.shape[0]
    for task in prange((n_rows + ROWS_A_TASK - 1) // ROWS_A_TASK):
        for t in range(node_ptr.shape[0] - 1):
            first, n_nodes = node_ptr[t], node_ptr[t + 1] - node_ptr[t]
            for row in range(task * ROWS_A_TASK, min((task + 1) * ROWS_A_TASK, n_rows)):
                node = np.int32(0) if n_nodes > 0 else np.int32(-1)
                while node >= 0:
                    n = first + node
                    value = X[row, feature[n]]
                    goes_left = missing_left[n] if value != value else value <= threshold[n]
                    node = left[n] if goes_left else right[n]
                out[row] += leaf_value[leaf_ptr[t] + ~node]

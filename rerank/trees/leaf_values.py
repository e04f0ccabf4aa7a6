"""Values of a tree's leaves, and what they add to the scores of their rows.

`leaf_value` in `tests/oracles/trees.py` is the slow form of `newton_steps` of the sums of `add_leaf_sums`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from rerank.runtime.kernels import kernel
from rerank.types import Floats


def newton_steps(sums: Floats, reg_lambda: float, least_hess: float) -> Floats:
    """Return -sum grad / (sum hess + lambda) of each leaf, (n_leaves,) float64.

    sums        (n_leaves, 3), see `add_leaf_sums`
    least_hess  a leaf whose hessian is below it, or 0, has the value 0
    """
    hess = sums[:, 1] + reg_lambda
    has_value = (sums[:, 1] >= least_hess) & (hess > 0.0)
    return np.divide(-sums[:, 0], hess, out=np.zeros(len(sums)), where=has_value)


@kernel(parallel=True)
def add_leaf_sums(grad, hess, rows, leaf_ptr, sums):  # type: ignore[no-untyped-def]
    """Add gradient, hessian and number of each leaf's rows to sums (n_leaves, 3) float64, row by row.

    grad, hess  (n_rows,) float64
    rows        (k,) int32, ordered by leaf: those of leaf l are rows[leaf_ptr[l, 0] : leaf_ptr[l, 1]]
    """
    for leaf in prange(leaf_ptr.shape[0]):
        total_grad, total_hess = sums[leaf, 0], sums[leaf, 1]
        for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
            total_grad += grad[rows[i]]
            total_hess += hess[rows[i]]
        sums[leaf, 0], sums[leaf, 1] = total_grad, total_hess
        sums[leaf, 2] += leaf_ptr[leaf, 1] - leaf_ptr[leaf, 0]


@kernel(parallel=True)
def add_leaf_values(rows, leaf_ptr, leaf_value, scores):  # type: ignore[no-untyped-def]
    """Add each leaf's value to the scores (n_rows,) float64 of its rows; rows, leaf_ptr as in `add_leaf_sums`."""
    for leaf in prange(leaf_ptr.shape[0]):
        for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
            scores[rows[i]] += leaf_value[leaf]

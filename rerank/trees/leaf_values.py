"""Values of a tree's leaves, and what they add to the scores of their rows.

`leaf_value` in `tests/oracles/trees.py` is the slow form of `newton_steps`.
"""

from __future__ import annotations

from numba import prange

from rerank.runtime.kernels import kernel


@kernel(parallel=True)
def newton_steps(grad, hess, rows, leaf_ptr, reg_lambda, least_hess, out):  # type: ignore[no-untyped-def]
    """Fill out (n_leaves,) with -sum grad / (sum hess + lambda) over each leaf's rows, summed in row order.

    grad, hess  (n_rows,) float64
    rows        (k,) int32, ordered by leaf: those of leaf l are rows[leaf_ptr[l, 0] : leaf_ptr[l, 1]]
    least_hess  a leaf whose hessian is below it, or 0, has the value 0
    """
    for leaf in prange(leaf_ptr.shape[0]):
        total_grad, total_hess = 0.0, 0.0
        for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
            total_grad += grad[rows[i]]
            total_hess += hess[rows[i]]
        enough = total_hess >= least_hess
        total_hess += reg_lambda
        out[leaf] = -total_grad / total_hess if enough and total_hess > 0.0 else 0.0


@kernel(parallel=True)
def add_leaf_values(rows, leaf_ptr, leaf_value, scores):  # type: ignore[no-untyped-def]
    """Add each leaf's value to the scores (n_rows,) float64 of its rows; rows, leaf_ptr as in `newton_steps`."""
    for leaf in prange(leaf_ptr.shape[0]):
        for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
            scores[rows[i]] += leaf_value[leaf]


@kernel()
def add_leaf_sums(grad, hess, rows, leaf_ptr, sums):  # type: ignore[no-untyped-def]
    """Add gradient and hessian of each leaf's rows to sums (n_leaves, 2) float64, row by row as `newton_steps`."""
    for leaf in range(leaf_ptr.shape[0]):
        total_grad, total_hess = sums[leaf, 0], sums[leaf, 1]
        for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
            total_grad += grad[rows[i]]
            total_hess += hess[rows[i]]
        sums[leaf, 0], sums[leaf, 1] = total_grad, total_hess

"""The leaves of a grown tree: their values, and what they add to the scores of their rows."""

from __future__ import annotations

from numba import njit, prange


@njit(cache=True, parallel=True)
def newton_steps(grad, hess, rows, leaf_ptr, reg_lambda, out):  # type: ignore[no-untyped-def]
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

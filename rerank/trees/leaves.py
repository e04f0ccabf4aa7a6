"""Before and after a tree: gradients as packed integers; its leaves' values, and what they add to their rows' scores.

packed  one int64 a row: gradient in the high 32 bits, hessian in the low 32; both are scaled to integers whose sums
        over all rows stay below 2^31
"""

from __future__ import annotations

import numpy as np
from numba import prange

from rerank.runtime.kernels import kernel

TOTAL = 2.0**30


@kernel()
def pack(grad, hess, rows, units, packed, sums):  # type: ignore[no-untyped-def]
    """Fill packed (k,) with the scaled gradient and hessian of `rows` (k,) int32.

    units (2,) and sums (3,) float64, OUT: what one step of either integer is worth; gradient, hessian and rows of all
    """
    total_grad, total_hess = 0.0, 0.0
    for i in range(grad.shape[0]):
        total_grad += abs(grad[i])
        total_hess += hess[i]
    grad_scale = TOTAL / total_grad if total_grad > 0.0 else 1.0
    hess_scale = TOTAL / total_hess if total_hess > 0.0 else 1.0
    whole_grad, whole_hess = np.int64(0), np.int64(0)
    for i in range(rows.shape[0]):
        row = rows[i]
        high, low = np.int64(np.rint(grad[row] * grad_scale)), np.int64(np.rint(hess[row] * hess_scale))
        packed[i] = (high << 32) + low
        whole_grad += high
        whole_hess += low
    units[0], units[1] = 1.0 / grad_scale, 1.0 / hess_scale
    sums[0], sums[1], sums[2] = whole_grad * units[0], whole_hess * units[1], rows.shape[0]


@kernel(parallel=True)
def newton_steps(grad, hess, rows, leaf_ptr, reg_lambda, least_hess, out):  # type: ignore[no-untyped-def]
    """Fill out (n_leaves,) with -sum grad / (sum hess + lambda) over each leaf's rows, summed in row order.

    A leaf whose hessian is below `least_hess`, or 0, takes no step.
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
    """Add each leaf's value to the scores of its rows."""
    for leaf in prange(leaf_ptr.shape[0]):
        for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
            scores[rows[i]] += leaf_value[leaf]

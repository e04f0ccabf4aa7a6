"""Gradients and hessians of a tree's rows as packed integers, whose sums do not depend on their order.

packed  one int64 a row: gradient in the high 32 bits, hessian in the low 32, so that one addition sums both. They are
        scaled so that sums over all rows stay below 2^31.

`pack` in `tests/oracles/trees.py` does the same in Python.
"""

from __future__ import annotations

import numpy as np

from rerank.runtime.kernels import kernel

LARGEST_SUM = 2.0**30


@kernel()
def pack_gradients(grad, hess, rows, packed):  # type: ignore[no-untyped-def]
    """Fill packed (k,) int64 with the gradients and hessians of rows (k,) int32; return units and totals.

    grad, hess  (n_rows,) float64
    Returns grad_unit and hess_unit, the gradient and hessian of one unit of the integers, and the sums of both.
    """
    sum_grad, sum_hess = 0.0, 0.0
    for i in range(grad.shape[0]):
        sum_grad += abs(grad[i])
        sum_hess += hess[i]
    grad_scale = LARGEST_SUM / sum_grad if sum_grad > 0.0 else 1.0
    hess_scale = LARGEST_SUM / sum_hess if sum_hess > 0.0 else 1.0
    total_grad, total_hess = np.int64(0), np.int64(0)
    for i in range(rows.shape[0]):
        row = rows[i]
        high, low = np.int64(np.rint(grad[row] * grad_scale)), np.int64(np.rint(hess[row] * hess_scale))
        packed[i] = (high << 32) + low
        total_grad += high
        total_hess += low
    grad_unit, hess_unit = 1.0 / grad_scale, 1.0 / hess_scale
    return grad_unit, hess_unit, total_grad * grad_unit, total_hess * hess_unit


@kernel()
def add_sizes(grad, hess, sums):  # type: ignore[no-untyped-def]
    """Add |gradient| and hessian of some rows (k,) float64 to sums[0] and sums[1], row by row as `pack_gradients`."""
    sum_grad, sum_hess = sums[0], sums[1]
    for i in range(grad.shape[0]):
        sum_grad += abs(grad[i])
        sum_hess += hess[i]
    sums[0], sums[1] = sum_grad, sum_hess


@kernel()
def pack_scaled(grad, hess, rows, grad_scale, hess_scale, packed):  # type: ignore[no-untyped-def]
    """Fill packed (k,) int64 as `pack_gradients` does, with given scales; return both sums in units."""
    total_grad, total_hess = np.int64(0), np.int64(0)
    for i in range(rows.shape[0]):
        row = rows[i]
        high, low = np.int64(np.rint(grad[row] * grad_scale)), np.int64(np.rint(hess[row] * hess_scale))
        packed[i] = (high << 32) + low
        total_grad += high
        total_hess += low
    return total_grad, total_hess

"""Gradients and hessians of a tree's rows as packed integers, whose sums do not depend on their order.

packed  one int64 a row: gradient in the high 32 bits, hessian in the low 32, so that one addition sums both. They are
        scaled so that sums over all rows stay below 2^31.

`pack` in `tests/oracles/trees.py` does the same in Python.
"""

from __future__ import annotations

from math import frexp, ldexp

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.types import Floats, Ints

LARGEST_EXPONENT, MOST_EXPONENT = 30, 1000  # of sums, and of a scale: beyond it, that of a unit would underflow
LARGEST_SUM = 2.0**LARGEST_EXPONENT


def pack_gradients(
    grad: Floats, hess: Floats, rows: NDArray[np.int32], packed: Ints
) -> tuple[float, float, float, float]:
    """Fill packed (k,) with the gradients and hessians of rows (k,); return units and totals.

    grad, hess  (n_rows,), all rows
    Returns grad_unit and hess_unit, the gradient and hessian of one unit of the integers, and the sums of both.
    """
    sums = np.zeros(2)
    add_sizes(grad, hess, sums)
    grad_scale, hess_scale = gradient_scales(sums)
    total_grad, total_hess = pack_scaled(grad, hess, rows, grad_scale, hess_scale, packed)
    grad_unit, hess_unit = 1.0 / grad_scale, 1.0 / hess_scale
    return grad_unit, hess_unit, total_grad * grad_unit, total_hess * hess_unit


def gradient_scales(sums: Floats) -> tuple[float, float]:
    """Return what gradients and hessians are multiplied by, from the sums of `add_sizes` over all rows.

    That of hessians is a power of 2: counts of rows and pairs stay exact, and so do limits of their sums.
    """
    grad_total, hess_total = sums[:2].tolist()
    grad_scale = LARGEST_SUM / grad_total if grad_total > 0.0 else 1.0
    exponent = min(LARGEST_EXPONENT - frexp(hess_total)[1], MOST_EXPONENT)
    return grad_scale, ldexp(1.0, exponent) if hess_total > 0.0 else 1.0


@kernel()
def add_sizes(grad, hess, sums):  # type: ignore[no-untyped-def]
    """Add |gradient| and hessian (k,) float64 to sums[0] and sums[1], row by row."""
    sum_grad, sum_hess = sums[0], sums[1]
    for i in range(grad.shape[0]):
        sum_grad += abs(grad[i])
        sum_hess += hess[i]
    sums[0], sums[1] = sum_grad, sum_hess


@kernel()
def pack_scaled(grad, hess, rows, grad_scale, hess_scale, packed):  # type: ignore[no-untyped-def]
    """Fill packed (k,) int64 with the scaled gradients and hessians of rows (k,) int32; return both sums in units."""
    total_grad, total_hess = np.int64(0), np.int64(0)
    for i in range(rows.shape[0]):
        row = rows[i]
        high, low = np.int64(np.rint(grad[row] * grad_scale)), np.int64(np.rint(hess[row] * hess_scale))
        packed[i] = (high << 32) + low
        total_grad += high
        total_hess += low
    return total_grad, total_hess

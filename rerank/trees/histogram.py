"""Gradient histograms: packed integers over 16-feature blocks.

packed  one int64 a row: gradient in the high 32 bits, hessian in the low 32, so one add sums both;
        both are scaled to integers whose sums over all rows stay below 2^31. Integer sums do not depend
        on order: the same histograms for any number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

TOTAL = 2.0**30


def scales(grad: np.ndarray, hess: np.ndarray) -> tuple[float, float]:
    """Return what gradients and hessians (n_rows,) are multiplied by before they become integers."""
    total_grad, total_hess = float(np.abs(grad).sum()), float(hess.sum())
    return (TOTAL / total_grad if total_grad > 0 else 1.0, TOTAL / total_hess if total_hess > 0 else 1.0)


@njit(cache=True)
def pack(grad, hess, rows, grad_scale, hess_scale, out):
    """Fill out (m,) int64 with the scaled gradient and hessian of `rows` (m,) int32."""
    for i in range(rows.shape[0]):
        row = rows[i]
        high = np.int64(np.rint(grad[row] * grad_scale))
        out[i] = (high << 32) + np.int64(np.rint(hess[row] * hess_scale))


@njit(cache=True, parallel=True)
def fill_histogram(blocks, used, rows, packed, parts, histograms, slot, parent):
    """Sum the packed gradients of a leaf's rows by bin, and take them off its parent's histogram.

    blocks      (n_blocks, n_rows, 16) uint8
    used        (m,) int64 numbers of the blocks to fill; others are left as they are
    rows        (k,) int32 rows of the leaf, ascending
    packed      (k,) int64, in the order of `rows`
    parts       (n_parts - 1, n_blocks, 16, 256) int64 scratch: a large leaf is cut into n_parts pieces
    histograms  (n_slots, n_blocks, 16, 256) int64: `slot` is filled; `parent`, unless negative, becomes
                the histogram of the sibling
    """
    n_parts = parts.shape[0] + 1
    size = (rows.shape[0] + n_parts - 1) // n_parts
    for task in prange(used.shape[0] * n_parts):
        b = used[task // n_parts]
        part = task % n_parts
        block = blocks[b]
        histogram = histograms[slot, b] if part == 0 else parts[part - 1, b]
        histogram[:] = 0
        for i in range(part * size, min((part + 1) * size, rows.shape[0])):
            row = rows[i]
            value = packed[i]
            for j in range(16):
                histogram[j, block[row, j]] += value
    if n_parts > 1 or parent >= 0:
        for task in prange(used.shape[0]):
            b = used[task]
            for part in range(n_parts - 1):
                histograms[slot, b] += parts[part, b]
            if parent >= 0:
                histograms[parent, b] -= histograms[slot, b]

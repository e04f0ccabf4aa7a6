"""Gradient histograms: packed integers over 16-feature blocks.

packed  one int64 a row: gradient in the high 32 bits, hessian in the low 32, so one add sums both;
        both are scaled to integers whose sums over all rows stay below 2^31. Integer sums do not depend
        on order: the same histograms for any number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

TOTAL = 2.0**30
NEAR_ROWS = 64


def scales(grad: np.ndarray, hess: np.ndarray) -> tuple[float, float]:
    """Return what gradients and hessians (n_rows,) are multiplied by before they become integers."""
    total_grad, total_hess = float(np.abs(grad).sum()), float(hess.sum())
    return (TOTAL / total_grad if total_grad > 0 else 1.0, TOTAL / total_hess if total_hess > 0 else 1.0)


@njit(cache=True)
def pack(grad, hess, rows, grad_scale, hess_scale, out):  # type: ignore[no-untyped-def]
    """Fill out (m,) int64 with the scaled gradient and hessian of `rows` (m,) int32."""
    for i in range(rows.shape[0]):
        row = rows[i]
        high = np.int64(np.rint(grad[row] * grad_scale))
        out[i] = (high << 32) + np.int64(np.rint(hess[row] * hess_scale))


@njit(cache=True, parallel=True)
def fill_histogram(words, used, rows, packed, near, near_bins, parts, histograms, slot, parent):  # type: ignore[no-untyped-def]
    """Sum the packed gradients of a leaf's rows by bin, and take them off its parent's histogram.

    words       (n_blocks, n_rows, 2) uint64, the 16 bins of a row
    used        (m,) int64 numbers of the blocks to fill; others are left as they are
    rows        (k,) int32 rows of the leaf, ascending
    packed      (k,) int64, in the order of `rows`
    near        (m * n_parts or more, 64, 2) uint64 scratch, and the same bytes as near_bins (.., 64, 16) uint8
    parts       (n_parts - 1, n_blocks, 16, 256) int64 scratch: a large leaf is cut into n_parts pieces
    histograms  (n_slots, n_blocks, 16, 256) int64: `slot` is filled; `parent`, unless negative, becomes
                the histogram of the sibling
    """
    n_parts = parts.shape[0] + 1
    size = (rows.shape[0] + n_parts - 1) // n_parts
    for task in prange(used.shape[0] * n_parts):
        b = used[task // n_parts]
        part = task % n_parts
        low, high = part * size, min((part + 1) * size, rows.shape[0])
        histogram = histograms[slot, b] if part == 0 else parts[part - 1, b]
        histogram[:] = 0
        _add_rows(words[b], rows[low:high], packed[low:high], near[task], near_bins[task], histogram)
    if n_parts > 1 or parent >= 0:
        for task in prange(used.shape[0]):
            b = used[task]
            for j in range(16):
                for value_bin in range(256):
                    total = histograms[slot, b, j, value_bin]
                    for part in range(n_parts - 1):
                        total += parts[part, b, j, value_bin]
                    histograms[slot, b, j, value_bin] = total
                    if parent >= 0:
                        histograms[parent, b, j, value_bin] -= total


@njit(cache=True)
def _add_rows(words, rows, packed, near, near_bins, histogram):  # type: ignore[no-untyped-def]
    """Add rows to one block's histogram, 64 at a time.

    Their bins are fetched first: rows of a leaf lie scattered, and an add whose address is not known yet
    holds up the next row's fetch: without this step most of the time is waiting.
    """
    for first in range(0, rows.shape[0], NEAR_ROWS):
        n = min(NEAR_ROWS, rows.shape[0] - first)
        for i in range(n):
            row = np.uint32(rows[first + i])
            near[i, 0] = words[row, 0]
            near[i, 1] = words[row, 1]
        for i in range(n):
            value = packed[first + i]
            for j in range(16):
                histogram[j, near_bins[i, j]] += value

"""The best split of a leaf, found on its histogram; Newton gain with second-order sums."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

LOW = 0xFFFFFFFF


@njit(cache=True)
def _gain(grad, hess, reg_lambda):  # type: ignore[no-untyped-def]
    """Return twice the loss that a leaf with these sums removes: G^2 / (H + lambda)."""
    return grad * grad / (hess + reg_lambda) if hess + reg_lambda > 0.0 else 0.0


@njit(cache=True)
def _scan(histogram, n_bins, missing, grad_unit, hess_unit, limits, total_grad, total_hess, count):  # type: ignore[no-untyped-def]
    """Return (gain, bin, missing_left, left_grad, left_hess) of one feature's best split; gain 0: none.

    Missing values go left and right in turn; without any in this leaf they follow the larger side.
    The rows of a side are estimated from its share of the hessian, as LightGBM does.
    """
    min_rows, min_hess, reg_lambda, min_gain = limits[0], limits[1], limits[2], limits[3]
    whole = _gain(total_grad, total_hess, reg_lambda)
    rows_per_hess = count / total_hess if total_hess > 0.0 else 0.0
    absent = histogram[255] if missing else np.int64(0)
    absent_grad, absent_hess = (absent >> 32) * grad_unit, (absent & LOW) * hess_unit
    best_gain, best_bin, best_side, best_grad, best_hess = 0.0, -1, False, 0.0, 0.0
    running = np.int64(0)
    for b in range(n_bins - 1 if absent == 0 else n_bins):
        running += histogram[b]
        present_grad, present_hess = (running >> 32) * grad_unit, (running & LOW) * hess_unit
        for side in range(1 if absent == 0 else 2):
            left_grad, left_hess = present_grad, present_hess
            if side == 1:
                left_grad += absent_grad
                left_hess += absent_hess
            right_grad, right_hess = total_grad - left_grad, total_hess - left_hess
            if left_hess < min_hess or right_hess < min_hess:
                continue
            if left_hess * rows_per_hess < min_rows or right_hess * rows_per_hess < min_rows:
                continue
            gain = _gain(left_grad, left_hess, reg_lambda) + _gain(right_grad, right_hess, reg_lambda) - whole
            if gain > best_gain and gain > min_gain:
                best_gain, best_bin, best_grad, best_hess = gain, b, left_grad, left_hess
                best_side = side == 1 if absent != 0 else left_hess >= right_hess
    return best_gain, best_bin, best_side, best_grad, best_hess


@njit(cache=True, parallel=True)
def find_splits(histograms, features, n_bins, missing, grad_unit, hess_unit, limits, slots, sums, out):  # type: ignore[no-untyped-def]
    """Find the best split of each of some leaves.

    histograms  (n_slots, n_blocks, 16, 256) int64, packed; a leaf is known by its slot
    features    (m,) int64 features that may be split on, ascending
    limits      (4,) float64: rows a side, hessian a side, reg_lambda, gain
    slots       (k,) int64; `sums` (n_slots, 3) float64: gradient, hessian, rows of each leaf
    out         (n_slots, 6) float64, OUT: gain (0: no split), feature, bin, missing goes left,
                gradient and hessian of the left side. Equal gains: the lowest feature number.
    """
    found = np.empty((slots.shape[0], features.shape[0], 5))
    for task in prange(slots.shape[0] * features.shape[0]):
        k, m = task // features.shape[0], task % features.shape[0]
        slot, feature = slots[k], features[m]
        gain, b, side, left_grad, left_hess = _scan(
            histograms[slot, feature >> 4, feature & 15],
            n_bins[feature],
            missing[feature],
            grad_unit,
            hess_unit,
            limits,
            sums[slot, 0],
            sums[slot, 1],
            sums[slot, 2],
        )
        found[k, m, 0] = gain
        found[k, m, 1] = b
        found[k, m, 2] = side
        found[k, m, 3] = left_grad
        found[k, m, 4] = left_hess
    for k in range(slots.shape[0]):
        best = 0
        for m in range(1, features.shape[0]):
            if found[k, m, 0] > found[k, best, 0]:
                best = m
        row = out[slots[k]]
        row[0] = found[k, best, 0]
        row[1] = features[best]
        row[2:6] = found[k, best, 1:5]


@njit(cache=True, parallel=True)
def partition(block_bins, column, threshold_bin, missing_left, rows, packed, spare_rows, spare_packed, n_parts):  # type: ignore[no-untyped-def]
    """Put the rows that go left before the others, both in their old order; return how many go left.

    block_bins  (n_rows, 16) uint8, the block of the split's feature; `column` its place in the block
    rows, packed (k,) int32 and int64, IN and OUT; spare_rows, spare_packed (k,) scratch
    """
    k = rows.shape[0]
    size = (k + n_parts - 1) // n_parts
    n_left = np.zeros(n_parts + 1, dtype=np.int64)
    for part in prange(n_parts):
        low, high = part * size, min((part + 1) * size, k)
        left, right = low, high
        for i in range(low, high):
            row = rows[i]
            b = block_bins[row, column]
            goes_left = (b <= threshold_bin) | (missing_left & (b == 255))
            # Written on both sides, and one place taken: no branch to guess wrong.
            spare_rows[left] = row
            spare_packed[left] = packed[i]
            spare_rows[right - 1] = row
            spare_packed[right - 1] = packed[i]
            left += goes_left
            right -= not goes_left
        n_left[part + 1] = left - low
    total = np.sum(n_left)
    for part in prange(n_parts):
        low, high = part * size, min((part + 1) * size, k)
        left = np.sum(n_left[: part + 1])
        right = total + low - left
        middle = low + n_left[part + 1]
        for i in range(low, middle):
            rows[left] = spare_rows[i]
            packed[left] = spare_packed[i]
            left += 1
        for i in range(high - 1, middle - 1, -1):
            rows[right] = spare_rows[i]
            packed[right] = spare_packed[i]
            right += 1
    return total

"""Products of dense arrays whose sums have one order: the same bits on every processor, with any number of threads.

NumPy's `@`, `dot` and `linalg` call BLAS, which chooses the order of sums and fused operations by the processor.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from rerank.runtime.arithmetic import Floats
from rerank.runtime.kernels import kernel
from rerank.runtime.sums import total
from rerank.runtime.threads import in_threads, slices

BLOCK = 1 << 12  # rows of a partial sum
GRAM_COLUMNS = 32  # columns of the left side at a time: their sums stay in the processor's cache
FEW_PRODUCTS = 1 << 19  # multiplications that take less time than starting threads


def array_dot(left: Floats, right: NDArray[Any]) -> float:
    """Return the sum of the products of two vectors."""
    return total(left * right)


def product(left: NDArray[Any], right: Floats) -> Floats:
    """Return left (n, p), float32 or float64, times right (p,) or (p, q) float64: (n,) or (n, q) float64."""
    out = np.empty((len(left), *right.shape[1:]))

    def fill(rows: slice) -> None:
        if right.ndim == 1:
            _fill_dots(left[rows], right, out[rows])
        else:
            _fill_cross_product(left[rows].T, right, out[rows])

    _in_blocks(fill, len(left), left.shape[1] * max(out[:1].size, 1))
    return out


def cross_product(left: NDArray[Any], right: NDArray[Any]) -> Floats:
    """Return left' (p, n) times right (n, q), (p, q) float64; both are float32 or float64."""
    parts = np.empty((-(-len(left) // BLOCK), left.shape[1], right.shape[1]))
    _in_blocks(
        lambda rows: _fill_cross_product(left[rows], right[rows], parts[rows.start // BLOCK]),
        len(left),
        left.shape[1] * right.shape[1],
    )
    return parts.sum(axis=0)  # type: ignore[no-any-return]


def gram(inputs: Floats, weights: Floats) -> Floats:
    """Return inputs' (p, n) times weights (n,) times inputs (n, p), (p, p) float64; one half is computed and copied."""
    n_columns = inputs.shape[1]
    out = np.empty((n_columns, n_columns))

    def fill(columns: slice) -> None:
        left = inputs[:, columns] * weights[:, None]
        part = np.empty((left.shape[1], n_columns - columns.start))
        _fill_cross_product(left, inputs[:, columns.start :].copy(), part)
        out[columns, columns.start :], out[columns.start :, columns] = part, part.T

    _in_blocks(fill, n_columns, len(inputs) * n_columns, GRAM_COLUMNS)
    return out


def inverse_matrix(matrix: Floats) -> Floats:
    """Return the inverse of a symmetric positive definite matrix (n, n)."""
    out = matrix.copy()
    _invert(out)
    return out


def _in_blocks(task: Callable[[slice], None], n_rows: int, work: int, step: int = BLOCK) -> None:
    """Call the task for each block of rows, on several threads where there are many multiplications, `work` a row."""
    in_threads(task, slices(n_rows, step), numba.get_num_threads() if n_rows * work > FEW_PRODUCTS else 1)


@kernel()
def _fill_dots(left, right, out):
    """Fill out (n,) with left (n, p) times right (p,); eight sums at a time."""
    size = right.shape[0]
    whole = size - size % 8
    for row in range(left.shape[0]):
        a = 0.0
        b = 0.0
        c = 0.0
        d = 0.0
        e = 0.0
        f = 0.0
        g = 0.0
        h = 0.0
        for i in range(0, whole, 8):
            a += left[row, i] * right[i]
            b += left[row, i + 1] * right[i + 1]
            c += left[row, i + 2] * right[i + 2]
            d += left[row, i + 3] * right[i + 3]
            e += left[row, i + 4] * right[i + 4]
            f += left[row, i + 5] * right[i + 5]
            g += left[row, i + 6] * right[i + 6]
            h += left[row, i + 7] * right[i + 7]
        for i in range(whole, size):
            a += left[row, i] * right[i]
        out[row] = ((a + b) + (c + d)) + ((e + f) + (g + h))


@kernel()
def _fill_cross_product(left, right, out):
    """Fill out (p, q) with left' (p, n) times right (n, q)."""
    n_rows = left.shape[0]
    whole = n_rows - n_rows % 4
    out[:] = 0.0
    for row in range(0, whole, 4):
        for i in range(left.shape[1]):
            a = left[row, i]
            b = left[row + 1, i]
            c = left[row + 2, i]
            d = left[row + 3, i]
            for k in range(right.shape[1]):
                out[i, k] += (a * right[row, k] + b * right[row + 1, k]) + (
                    c * right[row + 2, k] + d * right[row + 3, k]
                )
    for row in range(whole, n_rows):
        for i in range(left.shape[1]):
            for k in range(right.shape[1]):
                out[i, k] += left[row, i] * right[row, k]


@kernel()
def _invert(matrix):
    """Replace a symmetric positive definite matrix (n, n) by its inverse: Gauss and Jordan's steps in place."""
    size = matrix.shape[0]
    for step in range(size):
        pivot = 1.0 / matrix[step, step]
        matrix[step, step] = 1.0
        for k in range(size):
            matrix[step, k] *= pivot
        for row in range(size):
            if row != step:
                factor = matrix[row, step]
                matrix[row, step] = 0.0
                for k in range(size):
                    matrix[row, k] -= factor * matrix[step, k]

"""Truncated singular value decomposition of a sparse matrix by subspace iteration.

The block Q (n_columns, l) is multiplied by A'A and orthonormalised in turn; the Rayleigh-Ritz procedure then gives the
right singular vectors. Only blocks of this shape are in memory, never one with a row for each row of A. Threads compute
separate columns of the block, so the result does not depend on their number, bit for bit.

References
----------
Halko, Martinsson & Tropp, SIAM Review 2011, algorithms 4.4 and 5.1; Rutishauser, Numerische Mathematik 1969.

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rerank.runtime.kernels import kernel
from rerank.runtime.progress import track
from rerank.runtime.threads import in_threads, kernel_threads
from rerank.types.arrays import Floats, Ints

SEED = 0  # of the start block
OVERSAMPLING = 20  # columns of the block beyond the wanted ones
ITERATIONS = 5  # multiplications by A'A
_COLUMNS = 32  # of a task of a thread
_ROWS = 1 << 14  # of a block of rows in dense products


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A sparse matrix A by rows.

    Parameters
    ----------
    row_ptr : ndarray of shape (n_rows + 1,) and dtype int64
        First entry of each row.
    columns : ndarray of shape (n_entries,) and dtype int32
        Column of each entry.
    values : ndarray of shape (n_entries,) and dtype float32
        Value of each entry.
    n_columns : int
        Number of columns.

    """

    row_ptr: Ints
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    n_columns: int


def right_singular_vectors(
    matrix: SparseRows, size: int, threads: int | None = None
) -> tuple[NDArray[np.float32], Floats]:
    """Return the right singular vectors of the greatest singular values.

    Parameters
    ----------
    matrix : SparseRows
        The matrix.
    size : int
        Number of vectors; fewer are returned where the matrix has fewer rows or columns.
    threads : int, optional
        Number of threads; by default one per core.

    Returns
    -------
    vectors : ndarray of shape (n_columns, size) and dtype float32
        The vectors as columns, in descending order of the singular values; of each, the entry of the greatest
        magnitude is positive.
    values : ndarray of shape (size,) and dtype float64
        The singular values.

    """
    n_rows = len(matrix.row_ptr) - 1
    size = min(size, n_rows, matrix.n_columns)
    width = min(size + OVERSAMPLING, matrix.n_columns)
    if size == 0:
        return np.empty((matrix.n_columns, 0), dtype=np.float32), np.empty(0)
    block = np.random.default_rng(SEED).standard_normal((matrix.n_columns, width), dtype=np.float32)
    with kernel_threads(threads) as n_threads, threadpool_limits(1, "blas"):
        _orthonormalise(block)
        for _ in track(range(ITERATIONS), "singular vectors"):
            block = _times_gram(matrix, block, n_threads)
            _orthonormalise(block)
        _orthonormalise(block)  # once more, for what float32 has lost
        ritz = _product(block, _times_gram(matrix, block, n_threads))
        squares, rotation = np.linalg.eigh((ritz + ritz.T) / 2.0)
        best = np.argsort(-squares, kind="stable")[:size]
        vectors = _rotated(block, rotation[:, best])
    greatest = np.abs(vectors).argmax(axis=0)
    vectors *= np.where(vectors[greatest, np.arange(size)] < 0.0, -1.0, 1.0).astype(np.float32)
    return vectors, np.sqrt(np.maximum(squares[best], 0.0))


def _times_gram(matrix: SparseRows, block: NDArray[np.float32], n_threads: int) -> NDArray[np.float32]:
    """Return A'A times the block."""
    out = np.zeros_like(block)

    def multiply(first: int) -> None:
        last = min(first + _COLUMNS, block.shape[1])
        _add_gram_product(matrix.row_ptr, matrix.columns, matrix.values, block, first, last, out)

    in_threads(multiply, range(0, block.shape[1], _COLUMNS), n_threads)
    return out


def _product(left: NDArray[np.float32], right: NDArray[np.float32]) -> Floats:
    """Return left' right in float64."""
    total = np.zeros((left.shape[1], right.shape[1]))
    for first in range(0, len(left), _ROWS):
        rows = slice(first, first + _ROWS)
        total += left[rows].T @ right[rows]
    return total


def _orthonormalise(block: NDArray[np.float32]) -> None:
    """Replace the block by an orthonormal basis of its columns, by the eigenvectors of its Gram matrix."""
    values, vectors = np.linalg.eigh(_product(block, block))
    kept = values > values[-1] * 1e-12
    small = (vectors * np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)).astype(np.float32)
    for first in range(0, len(block), _ROWS):
        rows = slice(first, first + _ROWS)
        block[rows] = block[rows] @ small


def _rotated(block: NDArray[np.float32], rotation: Floats) -> NDArray[np.float32]:
    out, small = np.empty((len(block), rotation.shape[1]), dtype=np.float32), rotation.astype(np.float32)
    for first in range(0, len(block), _ROWS):
        rows = slice(first, first + _ROWS)
        out[rows] = block[rows] @ small
    return out


@kernel()
def _add_gram_product(row_ptr, columns, values, block, first, last, out):  # type: ignore[no-untyped-def]
    """Add columns [first, last) of A'A times the block to `out` (n_columns, l) float32."""
    row_product = np.empty(last - first, np.float32)
    for row in range(len(row_ptr) - 1):
        row_product[:] = 0.0
        for entry in range(row_ptr[row], row_ptr[row + 1]):
            column, value = columns[entry], values[entry]
            for index in range(last - first):
                row_product[index] += value * block[column, first + index]
        for entry in range(row_ptr[row], row_ptr[row + 1]):
            column, value = columns[entry], values[entry]
            for index in range(last - first):
                out[column, first + index] += value * row_product[index]

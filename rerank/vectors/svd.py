"""Truncated singular value decomposition of a sparse matrix by the block Lanczos method with thick restarts.

The basis grows by A'A times its last block, orthogonal to what is there; the Rayleigh-Ritz procedure on it gives the
right singular vectors, and how far each is from an eigenvector of A'A. Where the basis is full before all are near
enough, the best Ritz vectors are the basis that is grown further. Only blocks with a row for each column of A are in
memory, never one with a row for each row of A. All sums have one order, so that the result does not depend on the
processor nor on the number of threads, bit for bit.

References
----------
Wu & Simon, SIAM Journal on Matrix Analysis 2000 (thick restarts); Golub & Underwood 1977 (blocks).

"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.runtime.products import cross_product, product
from rerank.runtime.progress import track
from rerank.runtime.threads import in_threads, kernel_threads
from rerank.types.arrays import Floats, Ints
from rerank.vectors.eigen import symmetric_eigen

SEED = 0  # of the start block
WIDTH = 32  # columns of a block
BASIS_RATIO = 3  # columns of the full basis for each wanted vector
LEAST_BASIS = 12 * WIDTH
FAR = 1e-5  # |A'A v - s^2 v| of a vector v of singular value s that is near enough, as a share of s^2
ROUNDING = 1e-6  # the same as a share of the largest s^2: below it float32 rounds
SHORT = 1e-3  # share of the largest s^2: of shorter columns, rounding leaves too much that is in the basis
MOST_RESTARTS = 100
_COLUMNS = 16  # of a task of a thread
_ROWS = 1 << 13  # of a block of rows in rotations
_log = logging.getLogger("rerank")
Block = NDArray[np.float32]


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


def right_singular_vectors(matrix: SparseRows, size: int, threads: int | None = None) -> tuple[Block, Floats]:
    """Return the right singular vectors of the greatest singular values.

    Shapes: vectors float32 (n_columns, size); values float64 (size,).
    """
    size = min(size, len(matrix.row_ptr) - 1, matrix.n_columns)
    if size == 0:
        return np.empty((matrix.n_columns, 0), dtype=np.float32), np.empty(0)
    with kernel_threads(threads) as n_threads:
        basis_size = max(BASIS_RATIO * size, LEAST_BASIS)
        if matrix.n_columns <= basis_size + WIDTH:
            squares, rotation = symmetric_eigen(
                _times_gram(matrix, np.eye(matrix.n_columns, dtype=np.float32), n_threads)
            )
            vectors = rotation[:, :size].astype(np.float32)
        else:
            vectors, squares = _Krylov(matrix, n_threads).dominant(size, basis_size)
    greatest = np.abs(vectors).argmax(axis=0)
    vectors *= np.where(vectors[greatest, np.arange(size)] < 0.0, -1.0, 1.0).astype(np.float32)
    return vectors, np.sqrt(np.maximum(squares[:size], 0.0))


class _Krylov:
    """An orthonormal basis that grows by A'A times its last block, and A'A on it, (m, m) float64."""

    def __init__(self, matrix: SparseRows, n_threads: int) -> None:
        """Start with a random block; uniform numbers are the same bits on every processor."""
        self._matrix, self._n_threads, self._random = matrix, n_threads, np.random.default_rng(SEED)
        self._basis: list[Block] = []
        self._projected = np.empty((0, 0))
        self._n_coupled = 0  # last blocks of the basis that A'A times the newest one is not orthogonal to
        self._next, self._beside = self._orthonormal(np.zeros((matrix.n_columns, WIDTH)), 1.0)

    def dominant(self, size: int, basis_size: int) -> tuple[Block, Floats]:
        """Return the vectors (n, size) float32 of the greatest eigenvalues of A'A, and these, descending."""
        for restart in track(count(), "singular vectors"):
            while WIDTH * len(self._basis) < basis_size:
                self._grow()
            squares, rotation = symmetric_eigen(self._projected)
            beside = product(self._beside, rotation[-WIDTH:])
            distances = np.sqrt((beside * beside).sum(axis=0))[:size]
            near = distances <= np.maximum(FAR * squares[:size], ROUNDING * squares[0])
            if near.all() or restart == MOST_RESTARTS:
                break
            kept = WIDTH * ((2 * size + basis_size) // (3 * WIDTH))
            self._rotate(rotation[:, :kept])
            self._projected, self._n_coupled = np.diag(squares[:kept]), len(self._basis)
        if not near.all():
            _log.warning("singular vectors: %d of %d have not converged.", size - int(near.sum()), size)
        self._rotate(rotation[:, :size])
        return np.hstack(self._basis)[:, :size], squares

    def _grow(self) -> None:
        """Add the next block to the basis, and find the one after it."""
        self._basis.append(self._next.astype(np.float32))
        images = _times_gram(self._matrix, self._basis[-1], self._n_threads)
        near = self._basis[-1 - self._n_coupled :]
        shares = np.vstack([cross_product(block, images) for block in near])
        _subtract(images, near, shares)
        before, after = len(self._projected), len(self._projected) + WIDTH
        projected = np.zeros((after, after))
        projected[:before, :before] = self._projected
        projected[after - len(shares) :, before:] = shares
        projected[before:, after - len(shares) :] = shares.T
        own = projected[before:, before:]
        own[:] = (own + own.T) / 2.0
        self._projected, self._n_coupled = projected, 1
        _remove(images, self._basis)
        self._next, self._beside = self._orthonormal(images, float(np.abs(projected).max()))

    def _orthonormal(self, images: Floats, scale: float) -> tuple[Floats, Floats]:
        """Return an orthonormal basis (n, WIDTH) of the columns and the columns in it, (WIDTH, WIDTH) float64.

        Columns that are rounding beside `scale`, and what depends on others, are replaced by random ones: the space of
        the basis holds all its images, but not all of the vectors. Short columns are made orthogonal to it once more.
        """
        out, beside = _basis_of(images, ROUNDING * scale)
        if len(beside) and (beside * beside).sum(axis=1).min() < (SHORT * scale) ** 2:
            _remove(out, self._basis)
            out = _rounded_off(out)
        while out.shape[1] < WIDTH:
            drawn = 2.0 * self._random.random((len(images), WIDTH - out.shape[1])) - 1.0
            for _ in range(2):
                _remove(drawn, [*self._basis, out])
            out = np.hstack([out, _basis_of(drawn, ROUNDING)[0]])
        return out, np.vstack([beside, np.zeros((WIDTH - len(beside), WIDTH))])

    def _rotate(self, rotation: Floats) -> None:
        """Replace the basis by the basis times the rotation (m, p), in place, with columns of 0 at its end."""
        n_blocks = -(-rotation.shape[1] // WIDTH)
        whole = np.zeros((len(rotation), WIDTH * n_blocks))
        whole[:, : rotation.shape[1]] = rotation
        for first in range(0, self._matrix.n_columns, _ROWS):
            rows = slice(first, first + _ROWS)
            rotated = product(np.hstack([block[rows] for block in self._basis]), whole)
            for number, block in enumerate(self._basis[:n_blocks]):
                block[rows] = rotated[:, WIDTH * number : WIDTH * (number + 1)]
        del self._basis[n_blocks:]


def _basis_of(images: Floats, least: float) -> tuple[Floats, Floats]:
    """Return an orthonormal basis (n, p) of columns (n, q) longer than `least`, and the columns in it (p, q)."""
    squares, vectors = symmetric_eigen(cross_product(images, images))
    kept = squares > max(least**2, 1e-14 * squares[0], 0.0)
    lengths, vectors = np.sqrt(squares[kept]), vectors[:, kept]
    return _rounded_off(product(images, vectors / lengths)), np.ascontiguousarray((vectors * lengths).T)


def _rounded_off(block: Floats) -> Floats:
    """Return the orthonormal block that is nearest to a block (n, p) which is nearly so."""
    squares, vectors = symmetric_eigen(cross_product(block, block))
    return product(block, product(vectors / np.sqrt(squares), np.ascontiguousarray(vectors.T)))


def _remove(images: Floats, blocks: Iterable[NDArray[np.floating]]) -> None:
    """Take off the images (n, q) what lies in the space of orthonormal blocks (n, p), one after the other."""
    for block in blocks:
        _subtract(images, [block], cross_product(block, images))


def _subtract(images: Floats, blocks: Iterable[NDArray[np.floating]], shares: Floats) -> None:
    """Subtract the blocks (n, p) times their shares (m, q) from images (n, q)."""
    first = 0
    for block in blocks:
        images -= product(block, shares[first : first + block.shape[1]])
        first += block.shape[1]


def _times_gram(matrix: SparseRows, block: Block, n_threads: int) -> Floats:
    """Return A'A times the block, (n_columns, p) float64."""
    out = np.zeros(block.shape)

    def multiply(first: int) -> None:
        last = min(first + _COLUMNS, block.shape[1])
        _add_gram_product(matrix.row_ptr, matrix.columns, matrix.values, block, first, last, out)

    in_threads(multiply, range(0, block.shape[1], _COLUMNS), n_threads)
    return out


@kernel()
def _add_gram_product(row_ptr, columns, values, block, first, last, out):  # type: ignore[no-untyped-def]
    """Add columns [first, last) of A'A times the block to `out` (n_columns, p) float64."""
    row_product = np.empty(last - first)
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

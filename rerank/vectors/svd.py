"""Truncated singular value decomposition of a sparse matrix by the block Lanczos method with thick restarts.

The basis grows by A'A times its last block, orthogonal to what is there; the Rayleigh-Ritz procedure on it gives the
right singular vectors, and how far each is from an eigenvector of A'A. Where the basis is full before all are near
enough, the best Ritz vectors are the basis that is grown further: a small basis takes no more products with A'A than a
large one, and its blocks are made orthogonal to fewer columns. Where A has fewer rows than columns, the left singular
vectors are found in this way, whose products with A are the right ones. Blocks in memory have a row for each column of
A, or for each row where these are fewer. All sums have one order, so that the result does not depend on the processor
nor on the number of threads, bit for bit.

References
----------
Wu & Simon, SIAM Journal on Matrix Analysis 2000 (thick restarts); Golub & Underwood 1977 (blocks).

"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import log
from rerank.runtime.kernels import kernel
from rerank.runtime.llvm import LANES, load, same, store
from rerank.runtime.products import cross_product, product
from rerank.runtime.progress import track
from rerank.runtime.threads import in_threads, kernel_threads
from rerank.types.query_rows import Floats, Ints
from rerank.vectors.eigen import symmetric_eigen

WIDTH = 16  # columns of a block
SEED = 0  # of the start block
BASIS_RATIO = 2  # columns of the full basis for each wanted vector
LEAST_BASIS = 12 * WIDTH
STAYING = 0.3  # share of the basis beyond the wanted vectors that a restart keeps
FAR = 1e-5  # |A'A v - s^2 v| of a vector v of singular value s that is near enough, as a share of s^2
SQUARE_ROUNDING = 1e-6  # the same as a share of the largest s^2: below it float32 rounds
SHORT = 1e-3  # share of the largest s^2: of shorter columns, rounding leaves too much that is in the basis
MOST_RESTARTS = 100
_ROWS = 1 << 13  # of a block of rows in rotations
Block = NDArray[np.float32]


class SparseRows(NamedTuple):
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

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.row_ptr) - 1

    def transposed(self) -> SparseRows:
        """Return A'."""
        from scipy.sparse import csr_array

        rows = csr_array((self.values, self.columns, self.row_ptr), (self.n_rows, self.n_columns)).tocsc()
        return SparseRows(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data, self.n_rows)


def right_singular_vectors(matrix: SparseRows, size: int, threads: int | None = None) -> tuple[Block, Floats]:
    """Return the right singular vectors of the greatest singular values.

    Shapes: vectors float32 (n_columns, size); values float64 (size,).
    """
    size = min(size, matrix.n_rows, matrix.n_columns)
    if size == 0:
        return np.empty((matrix.n_columns, 0), dtype=np.float32), np.empty(0)
    with kernel_threads(threads) as n_threads:
        vectors, values = _by_left_vectors(matrix, size, n_threads) or _dominant(matrix, size, n_threads)
    greatest = np.abs(vectors).argmax(axis=0)
    vectors *= np.where(vectors[greatest, np.arange(size)] < 0.0, -1.0, 1.0).astype(np.float32)
    return vectors, values


def _by_left_vectors(matrix: SparseRows, size: int, n_threads: int) -> tuple[Block, Floats] | None:
    """Return A' times the left singular vectors, divided by the singular values; None where that is no faster.

    None also where a singular value is so small that the quotient would be rounding.
    """
    if matrix.n_rows >= matrix.n_columns:
        return None
    transposed = matrix.transposed()
    left, values = _dominant(transposed, size, n_threads)
    if values[-1] <= SHORT * values[0]:
        return None
    vectors = np.empty((matrix.n_columns, size), dtype=np.float32)
    _multiply(_fill_product, transposed, left, vectors, n_threads)
    vectors /= values.astype(np.float32)
    return vectors, values


def _dominant(matrix: SparseRows, size: int, n_threads: int) -> tuple[Block, Floats]:
    """Return the right singular vectors (n_columns, size) of the greatest singular values, and these (size,)."""
    basis_size = WIDTH * -(-max(BASIS_RATIO * size, LEAST_BASIS) // WIDTH)
    if matrix.n_columns <= basis_size + WIDTH:
        squares, rotation = symmetric_eigen(_times_gram(matrix, np.eye(matrix.n_columns, dtype=np.float32), n_threads))
        vectors = rotation[:, :size].astype(np.float32)
    else:
        vectors, squares = _Krylov(matrix, basis_size, n_threads).dominant(size)
    return vectors, np.sqrt(np.maximum(squares[:size], 0.0))


class _Krylov:
    """An orthonormal basis that grows by A'A times its last block, and A'A on it, (m, m) float64."""

    def __init__(self, matrix: SparseRows, basis_size: int, n_threads: int) -> None:
        """Start with a random block; uniform numbers are the same bits on every processor."""
        self._matrix = matrix
        self._n_threads = n_threads
        self._random = np.random.default_rng(SEED)
        self._columns = np.empty((matrix.n_columns, basis_size), dtype=np.float32)
        self._size = 0  # columns that there are
        self._projected = np.zeros((basis_size, basis_size))
        self._n_coupled = 0  # last columns of the basis that A'A times the newest block is not orthogonal to
        self._next, self._coupling = self._orthonormal(np.zeros((matrix.n_columns, WIDTH)), 1.0)

    @property
    def _basis(self) -> Block:
        return self._columns[:, : self._size]

    def dominant(self, size: int) -> tuple[Block, Floats]:
        """Return the vectors (n, size) float32 of the greatest eigenvalues of A'A, and these, descending."""
        basis_size = self._columns.shape[1]
        for restart in track(count(), "singular vectors"):
            while self._size < basis_size:
                self._grow()
            squares, rotation = symmetric_eigen(self._projected)
            coupling = product(self._coupling, rotation[-WIDTH:])
            distances = np.sqrt((coupling * coupling).sum(axis=0))[:size]
            near = distances <= np.maximum(FAR * squares[:size], SQUARE_ROUNDING * squares[0])
            if near.all() or restart == MOST_RESTARTS:
                break
            # Besides the wanted vectors, a share of the others stays.
            self._rotate(rotation[:, : WIDTH * int((size + STAYING * (basis_size - size)) // WIDTH)])
            self._projected[:] = 0.0
            np.fill_diagonal(self._projected, squares[: self._size])
            self._n_coupled = self._size
        if not near.all():
            log.warning("singular vectors: %d of %d have not converged.", size - int(near.sum()), size)
        self._rotate(rotation[:, :size])
        return self._basis.copy(), squares

    def _grow(self) -> None:
        """Add the next block to the basis, and find the one after it."""
        first = self._size
        last = self._size + WIDTH
        self._columns[:, first:last] = self._next
        self._size = last
        images = _times_gram(self._matrix, self._columns[:, first:last], self._n_threads)
        near = slice(first - self._n_coupled, last)
        shares = cross_product(self._columns[:, near], images)
        images -= product(self._columns[:, near], shares)
        self._projected[near, first:last] = shares
        self._projected[first:last, near] = shares.T
        own = self._projected[first:last, first:last]
        own[:] = (own + own.T) / 2.0
        self._n_coupled = WIDTH
        self._remove(images)
        self._next, self._coupling = self._orthonormal(images, float(np.abs(self._projected).max()))

    def _orthonormal(self, images: Floats, scale: float) -> tuple[Floats, Floats]:
        """Return an orthonormal basis (n, WIDTH) of the columns and the columns in it, (WIDTH, WIDTH) float64.

        Columns that are rounding next to `scale`, and what depends on others, are replaced by random ones: the space of
        the basis holds all its images, but not all of the vectors. Short columns are made orthogonal to it once more.
        """
        out, coupling = _basis_of(images, SQUARE_ROUNDING * scale)
        if len(coupling) and (coupling * coupling).sum(axis=1).min() < (SHORT * scale) ** 2:
            self._remove(out)
            out = _rounded_off(out)
        while out.shape[1] < WIDTH:
            drawn = 2.0 * self._random.random((len(images), WIDTH - out.shape[1])) - 1.0
            for _ in range(2):
                self._remove(drawn)
                drawn -= product(out, cross_product(out, drawn))
            out = np.hstack([out, _basis_of(drawn, SQUARE_ROUNDING)[0]])
        return out, np.vstack([coupling, np.zeros((WIDTH - len(coupling), WIDTH))])

    def _remove(self, images: Floats) -> None:
        """Take off the images (n, q) what lies in the space of the basis."""
        images -= product(self._basis, cross_product(self._basis, images))

    def _rotate(self, rotation: Floats) -> None:
        """Replace the basis by the basis times the rotation (m, p), in place."""
        n_columns = rotation.shape[1]
        for first in range(0, len(self._columns), _ROWS):
            rows = slice(first, first + _ROWS)
            self._columns[rows, :n_columns] = product(self._basis[rows], rotation)
        self._size = n_columns


def _basis_of(images: Floats, least: float) -> tuple[Floats, Floats]:
    """Return an orthonormal basis (n, p) of columns (n, q) longer than `least`, and the columns in it (p, q)."""
    squares, vectors = symmetric_eigen(cross_product(images, images))
    is_long = squares > max(least**2, 1e-14 * squares[0], 0.0)
    lengths = np.sqrt(squares[is_long])
    vectors = vectors[:, is_long]
    return _rounded_off(product(images, vectors / lengths)), np.ascontiguousarray((vectors * lengths).T)


def _rounded_off(block: Floats) -> Floats:
    """Return the orthonormal block that is nearest to a block (n, p) which is nearly so."""
    squares, vectors = symmetric_eigen(cross_product(block, block))
    return product(block, product(vectors / np.sqrt(squares), np.ascontiguousarray(vectors.T)))


def _times_gram(matrix: SparseRows, block: Block, n_threads: int) -> Floats:
    """Return A'A times the block, (n_columns, p) float64."""
    out = np.empty(block.shape)
    _multiply(_add_gram_product, matrix, block, out, n_threads)
    return out


def _multiply(
    add: Callable[..., None], matrix: SparseRows, block: Block, out: NDArray[np.floating], n_threads: int
) -> None:
    """Fill out with what the kernel adds for the block: a task of a thread is LANES columns, rows of a cache line."""

    def multiply(first: int) -> None:
        some = slice(first, first + LANES)
        width = block[:1, some].shape[1]
        part = np.zeros((len(block), LANES))
        own = np.zeros((len(out), LANES))
        part[:, :width] = block[:, some]
        add(matrix.row_ptr, matrix.columns, matrix.values, part.ravel(), own.ravel())
        out[:, some] = own[:, :width]

    in_threads(multiply, range(0, block.shape[1], LANES), n_threads)


@kernel()
def _add_gram_product(row_ptr, columns, values, block, out):
    """Add A'A times the block to `out`; both are flat, with LANES float64 for each column of A."""
    for row in range(len(row_ptr) - 1):
        total = same(0.0)
        for entry in range(row_ptr[row], row_ptr[row + 1]):
            total = total + load(block, LANES * np.int64(columns[entry])) * same(np.float64(values[entry]))
        for entry in range(row_ptr[row], row_ptr[row + 1]):
            place = LANES * np.int64(columns[entry])
            store(out, place, load(out, place) + total * same(np.float64(values[entry])))


@kernel()
def _fill_product(row_ptr, columns, values, block, out):
    """Fill `out` with A times the block; both are flat, with LANES float64 for each row, or column, of A."""
    for row in range(len(row_ptr) - 1):
        total = same(0.0)
        for entry in range(row_ptr[row], row_ptr[row + 1]):
            total = total + load(block, LANES * np.int64(columns[entry])) * same(np.float64(values[entry]))
        store(out, LANES * row, total)

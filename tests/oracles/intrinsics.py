"""What the functions in LLVM's language do, in Python: for runs of the kernels without Numba's compiler."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rerank.runtime import llvm


def install() -> None:
    """Put the functions below where kernels have LLVM's or will import them, which only fail without a compiler.

    Singular vectors take NumPy's products and eigenvectors: theirs would take minutes, and have tests of their own.
    """
    loaded = [module for name, module in sys.modules.items() if name.startswith("rerank.")]
    for name, function in PLAIN.items():
        own = getattr(llvm, name)
        for module in loaded:
            if getattr(module, name, None) is own:
                setattr(module, name, function)
    from rerank.trees import leafwise
    from rerank.vectors import svd

    svd.product, svd.cross_product = np.matmul, lambda left, right: left.T.astype(np.float64) @ right  # type: ignore
    svd.symmetric_eigen = numpy_eigen  # type: ignore[assignment]
    svd._add_gram_product = add_gram_product  # type: ignore[assignment]
    svd._fill_product = fill_product  # type: ignore[assignment]
    leafwise.prefetch = prefetch  # type: ignore[attr-defined]


def numpy_eigen(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what `symmetric_eigen` returns."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1], np.ascontiguousarray(vectors[:, ::-1])


def add_gram_product(row_ptr, columns, values, block, out) -> None:
    """Add A'A times the block to `out`; both are flat."""
    rows = csr_matrix((values, columns, row_ptr), shape=(len(row_ptr) - 1, len(out) // llvm.LANES))
    out += (rows.T @ (rows @ block.reshape(-1, llvm.LANES))).ravel()


def fill_product(row_ptr, columns, values, block, out) -> None:
    """Fill `out` with A times the block; both are flat."""
    rows = csr_matrix((values, columns, row_ptr), shape=(len(row_ptr) - 1, len(block) // llvm.LANES))
    out[:] = (rows @ block.reshape(-1, llvm.LANES)).ravel()


def prefetch(array: NDArray[np.uint64], row: int) -> None:
    """Read array[row], whose bounds a prefetch does not check."""
    array[row]


def n_lanes(dtype: np.dtype) -> int:
    """Return the number of floats in a vector."""
    return llvm.LANES if dtype == np.float64 else llvm.LANES32


def store(array: NDArray[np.float64], index: int, vector: NDArray[np.float64]) -> None:
    """Put a vector at array[index] and the elements after it."""
    array[index : index + n_lanes(array.dtype)] = vector


def lane_sum(vector: NDArray[np.float64]) -> np.float64:
    """Return the sum of the elements, of halves added to each other."""
    while len(vector) > 1:
        vector = vector[: len(vector) // 2] + vector[len(vector) // 2 :]
    return vector[0]


PLAIN = {
    "prefetch": lambda array, index: None,
    "load": lambda array, index: array[index : index + n_lanes(array.dtype)].copy(),
    "store": store,
    "same": lambda value: np.full(n_lanes(np.asarray(value).dtype), value),
    "positive": lambda vector: np.maximum(vector, 0.0),
    "absolute": np.abs,
    "lane_sum": lane_sum,
}

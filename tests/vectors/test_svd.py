"""The singular value decomposition against NumPy's, and its independence of threads."""

from __future__ import annotations

import numpy as np
import pytest

from rerank.types import pointers
from rerank.vectors.svd import SparseRows, right_singular_vectors


def _sparse(dense: np.ndarray) -> SparseRows:
    rows, columns = np.nonzero(dense)
    counts = np.bincount(rows, minlength=len(dense))
    return SparseRows(
        pointers(counts), columns.astype(np.int32), dense[rows, columns].astype(np.float32), dense.shape[1]
    )


def _matrix(seed: int, shape: tuple[int, int], rank: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    scale = 2.0 ** -np.arange(rank)
    return (random.normal(size=(shape[0], rank)) * scale) @ random.normal(size=(rank, shape[1]))


@pytest.mark.parametrize("shape", [(80, 50), (30, 90)])
def test_singular_vectors_are_those_of_numpy(shape: tuple[int, int]) -> None:
    dense = _matrix(0, shape, 12)
    vectors, values = right_singular_vectors(_sparse(dense), 5)
    _, expected, rows = np.linalg.svd(dense)
    np.testing.assert_allclose(values, expected[:5], rtol=1e-4)
    signs = np.sign(rows[np.arange(5), np.abs(rows[:5]).argmax(axis=1)])
    np.testing.assert_allclose(vectors, (rows[:5] * signs[:, None]).T, atol=2e-3)


@pytest.mark.parametrize(("shape", "size"), [((700, 600), 40), ((420, 900), 60)])
def test_singular_vectors_of_a_flat_spectrum_are_those_of_numpy(shape: tuple[int, int], size: int) -> None:
    dense = np.random.default_rng(3).standard_normal(shape).astype(np.float32).astype(np.float64)
    vectors, values = right_singular_vectors(_sparse(dense), size)
    _, expected, rows = np.linalg.svd(dense, full_matrices=False)
    np.testing.assert_allclose(values, expected[:size], rtol=1e-6)
    np.testing.assert_allclose(np.linalg.svd(rows[:size] @ vectors, compute_uv=False), 1.0, atol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=1e-5)


@pytest.mark.parametrize("rank", [1, 12])
def test_singular_vectors_beyond_the_rank_are_orthonormal(rank: int) -> None:
    dense = _matrix(4, (500, 600), rank)
    vectors, values = right_singular_vectors(_sparse(dense), 20)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(20), atol=1e-5)
    np.testing.assert_allclose(values[rank:], 0.0, atol=2e-3 * values[0])


def test_singular_vectors_of_equal_singular_values_are_orthonormal() -> None:
    vectors, values = right_singular_vectors(_sparse(np.eye(700)), 100)
    np.testing.assert_allclose(values, 1.0, rtol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(100), atol=1e-5)


def test_singular_vectors_of_few_rows_are_as_many_as_rows() -> None:
    dense = _matrix(1, (3, 10), 3)
    vectors, values = right_singular_vectors(_sparse(dense), 400)
    assert vectors.shape == (10, 3)
    np.testing.assert_allclose(values, np.linalg.svd(dense, compute_uv=False)[:3], rtol=1e-4)
    vectors, values = right_singular_vectors(_sparse(np.zeros((4, 0))), 400)
    assert (vectors.shape, values.shape) == ((0, 0), (0,))


def test_singular_vectors_of_a_zero_matrix_are_finite() -> None:
    vectors, values = right_singular_vectors(_sparse(np.zeros((4, 5))), 2)
    assert np.isfinite(vectors).all()
    np.testing.assert_array_equal(values, 0.0)


@pytest.mark.parametrize("shape", [(300, 200), (400, 500), (500, 400)])
def test_singular_vectors_do_not_depend_on_threads_bit_for_bit(shape: tuple[int, int]) -> None:
    matrix = _sparse(_matrix(2, shape, 60))
    one, two = (right_singular_vectors(matrix, 40, threads)[0] for threads in (1, 2))
    np.testing.assert_array_equal(one, two)

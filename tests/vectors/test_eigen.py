"""Eigenvectors of symmetric matrices against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from rerank.vectors.eigen import symmetric_eigen


def _symmetric(size: int) -> np.ndarray:
    matrix = np.random.default_rng(size).standard_normal((size, size))
    return matrix + matrix.T


@pytest.mark.parametrize(
    "matrix",
    [*(_symmetric(size) for size in (1, 2, 3, 40, 130)), np.zeros((4, 4)), np.ones((5, 5)), np.diag([2.0, 1.0, 2.0])],
)
def test_eigenvectors_are_orthonormal_with_the_eigenvalues_of_numpy(matrix: np.ndarray) -> None:
    values, vectors = symmetric_eigen(matrix)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1], atol=1e-11)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-11)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(matrix)), atol=1e-12)

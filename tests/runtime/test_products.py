"""Products with sums of one order against NumPy's, and that they do not depend on the number of threads."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from rerank.runtime.products import BLOCK, array_dot, cross_product, gram, inverse_matrix, product


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 7), (2 * BLOCK + 3, 29)])
def test_products_are_those_of_numpy(shape: tuple[int, int], dtype: type) -> None:
    random = np.random.default_rng(sum(shape))
    left, right = random.standard_normal(shape).astype(dtype), random.standard_normal((shape[1], 6))
    others = random.standard_normal((shape[0], 6))
    np.testing.assert_allclose(product(left, right), left.astype(float) @ right, atol=1e-12)
    np.testing.assert_allclose(product(left, right[:, 0].copy()), left.astype(float) @ right[:, 0], atol=1e-12)
    np.testing.assert_allclose(cross_product(left, others), left.astype(float).T @ others, atol=1e-10)
    np.testing.assert_allclose(array_dot(others[:, 0], left[:, 0]), others[:, 0] @ left[:, 0].astype(float), atol=1e-10)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 40), (500, 70)])
def test_gram_is_the_weighted_product_with_itself(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(shape[0])
    inputs, weights = random.standard_normal(shape), random.random(shape[0])
    np.testing.assert_allclose(gram(inputs, weights), (inputs * weights[:, None]).T @ inputs, atol=1e-10)


def test_inverse_times_a_positive_definite_matrix_is_the_identity() -> None:
    factor = np.random.default_rng(0).standard_normal((40, 30))
    matrix = factor.T @ factor + 0.1 * np.eye(30)
    np.testing.assert_allclose(inverse_matrix(matrix) @ matrix, np.eye(30), atol=1e-9)


def test_products_do_not_depend_on_threads_bit_for_bit() -> None:
    random = np.random.default_rng(1)
    left, right = random.standard_normal((3 * BLOCK + 1, 70)), random.standard_normal((3 * BLOCK + 1, 5))
    before, results = numba.get_num_threads(), []
    for threads in (1, before):
        numba.set_num_threads(threads)
        results.append((product(left, right[:70]), product(left, right[:70, 0].copy()), cross_product(left, right)))
        results[-1] += (gram(left, right[:, 0] ** 2),)
    numba.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)

from __future__ import annotations

import numba
import numpy as np
import pytest

from rerank.trees.sampling import draw_by_gradient
from tests.oracles.sampling import probabilities

N_ROWS = 1000
ROWS = np.arange(N_ROWS, dtype=np.int32)


def _gradients(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.lognormal(0.0, 2.0, N_ROWS) * random.choice([-1.0, 1.0], N_ROWS), random.random(N_ROWS)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.7])
@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_rows_are_weighted_by_the_inverse_of_their_probability(share: float, unit: float) -> None:
    grad, hess = _gradients()
    expected = probabilities(grad, hess, share)
    weighted, hessians = unit * grad, unit * hess
    rows = draw_by_gradient(share, [0, 3], weighted, hessians, ROWS)
    assert (np.diff(rows) > 0).all()
    np.testing.assert_allclose(weighted[rows] / unit, grad[rows] / expected[rows], rtol=0.03)
    np.testing.assert_allclose(hessians[rows] / unit, hess[rows] / expected[rows], rtol=0.03)
    left = np.setdiff1d(ROWS, rows)
    np.testing.assert_array_equal(weighted[left], unit * grad[left])


def test_rows_are_drawn_as_often_as_their_probability_says() -> None:
    grad, hess = _gradients()
    n_draws, counts, sums = 1000, np.zeros(N_ROWS), np.zeros(2)
    for number in range(n_draws):
        weighted, hessians = grad.copy(), hess.copy()
        rows = draw_by_gradient(0.2, [0, number], weighted, hessians, ROWS)
        counts[rows] += 1
        sums += weighted[rows].sum(), hessians[rows].sum()
    expected = probabilities(grad, hess, 0.2)
    deviation = np.sqrt(expected * (1.0 - expected) / n_draws)
    assert (np.abs(counts / n_draws - expected) <= 5.0 * deviation + 0.01).all()
    assert counts.sum() / n_draws == pytest.approx(0.2 * N_ROWS, rel=0.02)
    np.testing.assert_allclose(sums / n_draws, [grad.sum(), hess.sum()], rtol=0.05, atol=0.01 * np.abs(grad).sum())


def test_draws_depend_on_seed_and_tree_alone() -> None:
    def drawn(seed: int, number: int, rows: np.ndarray = ROWS) -> list[int]:
        return draw_by_gradient(0.3, [seed, number], *_gradients(), rows).tolist()

    first, before = drawn(0, 0), numba.get_num_threads()
    try:
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(threads)
            assert drawn(0, 0) == first
    finally:
        numba.set_num_threads(before)
    assert drawn(0, 1) != first
    assert drawn(1, 0) != first
    assert set(drawn(0, 0, ROWS[::2])) <= set(ROWS[::2].tolist())


def test_rows_without_gradients_are_left_out_and_all_are_drawn_where_few_have_one() -> None:
    grad, hess = np.zeros(N_ROWS), np.zeros(N_ROWS)
    assert draw_by_gradient(0.5, [0, 0], grad, hess, ROWS).tolist() == []
    grad[[5, 70]] = 1e-140, 2.0
    assert draw_by_gradient(0.5, [0, 0], grad, hess, ROWS).tolist() == [5, 70]
    assert grad[70] == 2.0


def test_gradients_at_the_ends_of_float64_are_drawn() -> None:
    grad, hess = np.full(N_ROWS, 1e308), np.full(N_ROWS, 1e-308)
    rows = draw_by_gradient(0.5, [0, 0], grad, hess, ROWS)
    assert 0.4 * N_ROWS < len(rows) < 0.6 * N_ROWS

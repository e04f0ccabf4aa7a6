from __future__ import annotations

import numpy as np
import pytest

from rerank.objectives.pairs import PairwiseExponential
from rerank.types import pointers
from tests.oracles import rankboost as oracle


@pytest.fixture(params=range(5))
def case(request):
    random = np.random.default_rng(request.param)
    query_ptr = pointers([1, 7, 0, 12, 4])
    labels = random.integers(0, 4, query_ptr[-1]).astype(float)
    labels[8:10] = [0.0, 1.0]
    return query_ptr, random.uniform(0.5, 2, 5), labels, random.normal(0, 2, query_ptr[-1])


def _pairs(query_ptr, weights, labels):
    rows = [range(query_ptr[q], query_ptr[q + 1]) for q in range(len(weights))]
    return [(x, y, weights[q]) for q in range(len(weights)) for x in rows[q] for y in rows[q] if labels[x] > labels[y]]


def test_cost_is_the_sum_over_pairs(case) -> None:
    query_ptr, weights, labels, scores = case
    _, expected = oracle.distribution(_pairs(query_ptr, weights, labels), scores)
    assert PairwiseExponential(query_ptr, weights, labels).cost(scores) == pytest.approx(expected, rel=1e-12)


def test_gradient_and_curvature_are_finite_differences_of_the_cost(case) -> None:
    query_ptr, weights, labels, scores = case
    objective = PairwiseExponential(query_ptr, weights, labels)
    grad, hess = np.empty_like(scores), np.empty_like(scores)
    objective.gradients(scores, grad, hess)
    for row in range(len(scores)):
        step = np.where(np.arange(len(scores)) == row, 1e-4, 0.0)
        up, middle, down = (objective.cost(scores + sign * step) for sign in (1, 0, -1))
        assert grad[row] == pytest.approx((up - down) / 2e-4, rel=1e-5, abs=1e-6)
        assert hess[row] == pytest.approx((up - 2 * middle + down) / 1e-8, rel=1e-3, abs=1e-3)


def test_scores_far_apart_stay_finite() -> None:
    objective = PairwiseExponential(pointers([3]), np.ones(1), np.array([0.0, 1.0, 2.0]))
    grad, hess = np.empty(3), np.empty(3)
    scores = np.array([4000.0, 0.0, -4000.0])
    objective.gradients(scores, grad, hess)
    assert np.isfinite([*grad, *hess, objective.cost(scores)]).all()
    assert grad[0] > 0 > grad[2]

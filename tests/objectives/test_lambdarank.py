from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.metrics.base import SwapWeights
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.objectives.lambdarank import BlockLambdaRankObjective, LambdaRankObjective
from rerank.types import Floats, pointers
from rerank.types.query_rows import ideal_of_rows
from tests.oracles import lambdas as oracle


def _objective(labels, query_ptr, truncation=5, sigma=1.0, normalize=False, weights=None) -> LambdaRankObjective:
    n_queries, longest = len(query_ptr) - 1, int(np.diff(query_ptr).max())
    norms = []
    for q in range(n_queries):
        ideal = sorted(labels[query_ptr[q] : query_ptr[q + 1]], reverse=True)
        best = sum(label * oracle.discount(rank, truncation) for rank, label in enumerate(ideal))
        norms.append(1 / best if best > 0 else 0.0)
    discounts = np.array([oracle.discount(rank, truncation) for rank in range(longest)])
    swap = SwapWeights(labels.copy(), discounts, np.array(norms))
    weights = np.ones(n_queries) if weights is None else weights
    how = {"sigma": sigma, "truncation_level": truncation, "normalize": normalize}
    return LambdaRankObjective(query_ptr, swap, weights=weights, **how)


def _lists(seed: int, ties: bool = False):
    random = np.random.default_rng(seed)
    query_ptr = pointers([7, 1, 12, 3, 20])
    labels = random.integers(0, 4, query_ptr[-1]).astype(np.float64)
    labels[query_ptr[3] : query_ptr[4]] = 0.0
    scores = random.integers(0, 4, query_ptr[-1]).astype(float) if ties else random.standard_normal(query_ptr[-1])
    return query_ptr, labels, scores


def _gradients(objective: LambdaRankObjective, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    grad, hess = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    objective.gradients(scores, grad, hess)
    return grad, hess


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("sigma", [1.0, 2.5])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("truncation", [1, 5, 100])
def test_lambdas_equal_the_oracle(normalize: bool, sigma: float, ties: bool, truncation: int) -> None:
    query_ptr, labels, scores = _lists(truncation, ties)
    grad, hess = _gradients(_objective(labels, query_ptr, truncation, sigma, normalize), scores)
    for q in range(len(query_ptr) - 1):
        rows = slice(query_ptr[q], query_ptr[q + 1])
        expected = oracle.lambdas(scores[rows], labels[rows], labels[rows], sigma, truncation, normalize)
        np.testing.assert_allclose(grad[rows], expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(hess[rows], expected[1], rtol=1e-9, atol=1e-12)


def _row_weights(n_rows: int) -> Floats:
    random = np.random.default_rng(n_rows)
    return random.integers(0, 3, n_rows) / 2.0 * random.random(n_rows)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("truncation", [1, 5, 100])
@pytest.mark.parametrize("spread", [1.0, 50.0])
def test_pairs_with_weights_of_documents_equal_the_oracle(normalize: bool, truncation: int, spread: float) -> None:
    query_ptr, labels, scores = _lists(truncation, ties=True)
    row_weights = _row_weights(len(labels))
    objective = replace(_objective(labels, query_ptr, truncation, 1.3, normalize), row_weights=row_weights)
    grad, hess = _gradients(objective, scores * spread)
    for q in range(len(query_ptr) - 1):
        rows = slice(query_ptr[q], query_ptr[q + 1])
        with np.errstate(over="ignore"):
            how = scores[rows] * spread, labels[rows], labels[rows], 1.3, truncation, normalize
            expected = oracle.lambdas(*how, row_weights[rows])
        np.testing.assert_allclose(grad[rows], expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(hess[rows], expected[1], rtol=1e-9, atol=1e-12)


def test_pairs_with_weights_of_documents_equal_the_blocks_of_the_same_measure() -> None:
    query_ptr, labels, scores = _lists(1)
    vectors = replace(_objective(labels, query_ptr, 5, 1.3, True), row_weights=_row_weights(len(labels)))
    deep = parse_measure("nDCG@5")
    lists = RankedLists(labels, query_ptr, *ideal_of_rows(labels, query_ptr))
    how = {"sigma": 1.3, "truncation_level": 5, "row_weights": vectors.row_weights}
    blocks = BlockLambdaRankObjective(lists, deep, weights=np.ones(5), **how)
    for one, other in zip(_gradients(vectors, scores), _gradients(blocks, scores), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_lambdas_are_the_gradient_of_the_frozen_cost() -> None:
    query_ptr, labels, scores = pointers([9]), np.array([0, 1, 2, 0, 3, 1, 0, 2, 0.0]), np.linspace(-1, 1.3, 9)
    grad, hess = _gradients(_objective(labels, query_ptr, 5, 1.7), scores)
    deltas = oracle.frozen_deltas(scores, labels, labels, 5)
    step = 1e-4
    for row in range(9):
        up, down = scores.copy(), scores.copy()
        up[row] += step
        down[row] -= step
        middle = oracle.cost(scores, labels, deltas, 1.7)
        above, below = oracle.cost(up, labels, deltas, 1.7), oracle.cost(down, labels, deltas, 1.7)
        assert grad[row] == pytest.approx((above - below) / (2 * step), abs=1e-6)
        assert hess[row] == pytest.approx((above - 2 * middle + below) / step**2, abs=1e-5)


def test_lambdas_of_a_query_sum_to_zero() -> None:
    query_ptr, labels, scores = _lists(1)
    grad, hess = _gradients(_objective(labels, query_ptr), scores)
    np.testing.assert_allclose(np.add.reduceat(grad, query_ptr[:-1]), 0.0, atol=1e-12)
    assert (hess >= 0).all()


def test_weights_multiply_a_query() -> None:
    query_ptr, labels, scores = _lists(2)
    plain, _ = _gradients(_objective(labels, query_ptr), scores)
    heavy, _ = _gradients(_objective(labels, query_ptr, weights=np.array([1, 1, 3.0, 1, 0])), scores)
    factor = np.repeat([1, 1, 3.0, 1, 0], np.diff(query_ptr))
    np.testing.assert_allclose(heavy, plain * factor, rtol=1e-12)


def test_lambdas_stay_finite_when_scores_lie_far_apart() -> None:
    query_ptr, labels = pointers([4]), np.array([0.0, 3.0, 1.0, 2.0])
    grad, hess = _gradients(_objective(labels, query_ptr), np.array([1e6, -1e6, 0.0, 1e300]))
    assert np.isfinite(grad).all()
    assert np.isfinite(hess).all()
    assert grad[1] < 0 < grad[0]

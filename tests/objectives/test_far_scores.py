"""Scores of any finite size: every objective gives its exact limits, and nothing overflows on the way."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from rerank.metrics.base import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.objectives.base import Objective, known_objectives, objective_class
from rerank.objectives.pairwise_exponential import PairwiseExponential
from rerank.objectives.preferences import PreferencePairs
from rerank.objectives.swap_blocks import lambdarank_for
from rerank.types import Floats, pointers
from tests.oracles import limits as oracle

MEASURES = ("nDCG@10", "P@3", "AP", "ERR")
NAMES = (*known_objectives(), "preferences", *MEASURES)
LABELS = np.array([2.0, 0.0, 1.0, 0.0, 3.0, 1.0, 0.0, 4.0, 0.0, 2.0])
LARGEST = float(np.finfo(np.float64).max)
POINTWISE = {"least-squares", "logistic", "balanced-logistic", "logistrank"}


def _scores(seed: int, scale: float) -> Floats:
    """Clusters of scores, the clusters many scales apart, equal scores among them."""
    random = np.random.default_rng(seed)
    clusters = random.choice([0.0, 1.0, -7.0, 40.0, 1000.0], len(LABELS)) * scale
    own = random.choice([0.0, 1.0, scale], len(LABELS)) * random.standard_normal(len(LABELS))
    scores = clusters + own
    scores[random.integers(len(LABELS))] = scores[0]
    return scores


def _objective(name: str, labels: Floats = LABELS) -> Objective:
    query_ptr, weights = pointers([len(labels)]), np.ones(1)
    if name == "preferences":
        pairs = [(i, j) for i in range(len(labels)) for j in range(len(labels)) if labels[i] > labels[j]]
        first, second = np.array(pairs).T
        return PreferencePairs(first, second, np.ones(len(pairs)), np.ones(len(pairs)))
    if name in MEASURES:
        ideal = np.sort(labels[labels > 0])[::-1]
        return lambdarank_for(parse_measure(name), RankedLists.of_query(labels, ideal), weights, 1.0, 5, False)
    return objective_class(name)(query_ptr, weights, labels)


def _worth(name: str, scores: Floats) -> Floats:
    """|delta| of each pair at the present order, measured anew; 0 below the truncation level of 5."""
    measure, order = parse_measure(name).cut_for_training(5), np.argsort(-scores, kind="stable")
    ideal, n = np.sort(LABELS[LABELS > 0])[::-1], len(scores)
    worth = np.zeros((n, n))
    for upper in range(min(measure.cutoff or 5, 5)):
        for lower in range(n):
            after = order.copy()
            after[[upper, lower]] = after[[lower, upper]]
            change = abs(measure.score(LABELS[after], ideal) - measure.score(LABELS[order], ideal))
            worth[order[upper], order[lower]] = worth[order[lower], order[upper]] = change
    return worth


def _exact(name: str, scores: Floats):
    if name in MEASURES:
        return oracle.pairwise_logistic(scores, LABELS, _worth(name, scores))
    if name == "balanced-logistic":
        positive = LABELS > 0
        return oracle.logistic(
            scores, LABELS, scale=len(LABELS) / 2 / np.where(positive, positive.sum(), (~positive).sum())
        )
    if name == "logistrank":
        scale, positive = np.select([LABELS == 4, LABELS == 3], [3.0, 2.0], 1.0), LABELS >= 2
        return oracle.logistic(scores, LABELS, 1.0, scale, positive)
    if name == "xe-ndcg":
        return oracle.xe_ndcg(scores, LABELS, _objective(name)._uniform())
    named = {"ranknet": "pairwise_logistic", "preferences": "pairwise_logistic"}
    return getattr(oracle, named.get(name, name.replace("-", "_")))(scores, LABELS)


def _found(objective: Objective, scores: Floats) -> tuple[float, Floats, Floats]:
    """Return cost, gradient and curvature; a warning is an error."""
    grad, hess = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cost = objective.cost(scores)
        objective.gradients(scores, grad, hess)
    return cost, grad, hess


def _as_float64(value):
    with np.errstate(over="ignore"):
        return np.asarray(value).astype(np.float64)


def _assert_exact(name: str, scores: Floats) -> None:
    cost, grad, hess = _found(_objective(name), scores)
    exact = [_as_float64(value) for value in _exact(name, scores)]
    np.testing.assert_allclose(cost, exact[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(grad, exact[1], rtol=1e-9, atol=1e-12 * max(1.0, np.abs(exact[1]).max()))
    if name == "logistrank":  # its note's curvature, no second derivative
        assert (hess >= 0.0).all()
        return
    np.testing.assert_allclose(hess, exact[2], rtol=1e-9, atol=1e-12 * max(1.0, np.abs(exact[2]).max()))


@pytest.mark.parametrize("exponent", [-300, -30, -3, 0, 1, 2, 3, 4, 6, 10, 30, 140])
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_exact_at_any_scale(name: str, exponent: int) -> None:
    for seed in range(4):
        _assert_exact(name, _scores(seed, 10.0**exponent))


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_exact_limits_at_the_ends_of_float64(name: str) -> None:
    """The difference of two scores may leave float64, and with it a cost; no derivative but GBRank's does."""
    for largest in (1e300, 1e306 if name in POINTWISE else 0.6 * LARGEST):
        scores = np.random.default_rng(0).choice([-1.0, -0.5, 0.0, 1e-300, 0.5, 1.0], len(LABELS)) * largest
        cost, grad, hess = _found(_objective(name), scores)
        assert not np.isnan([cost, *grad, *hess]).any()
        assert cost >= 0.0
        exact = [_as_float64(value) for value in _exact(name, scores)]
        np.testing.assert_allclose(grad, exact[1], rtol=1e-9, atol=1e-12)
        if name != "logistrank":
            np.testing.assert_allclose(hess, exact[2], rtol=1e-9, atol=1e-12)


def test_documents_far_below_the_best_are_not_tied() -> None:
    scores, labels = np.array([0.0, -1000.0, -400.0]), np.array([0.0, 2.0, 1.0])
    _, grad, _ = _found(_objective("ranknet", labels), scores)
    np.testing.assert_array_equal(grad[[2, 1, 0]], np.array([0.0, -2.0, 2.0]))


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"exponential"}))
def test_gradient_is_the_derivative_of_the_cost_between_clusters(name: str) -> None:
    """One document moves past others, a thousand and more below the best."""
    random = np.random.default_rng(3)
    scores = random.choice([0.0, -1000.0, -5000.0], len(LABELS)) + random.standard_normal(len(LABELS))
    objective, step = _objective(name), 2.0**-12
    cost, grad, _ = _found(objective, scores)
    rounding = 1e-15 * cost / step
    for row in range(len(scores)):
        above, below = scores.copy(), scores.copy()
        above[row] += step
        below[row] -= step
        slope = (objective.cost(above) - objective.cost(below)) / (2 * step)
        assert grad[row] == pytest.approx(slope, rel=1e-6, abs=1e-5 + rounding)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", ["nDCG@10", "AP"])
def test_lambdas_change_smoothly_where_pairs_take_exponentials_of_their_own(name: str, normalize: bool) -> None:
    """A document that nobody of another label can beat falls past the bound: the others do not notice."""
    labels = np.array([2.0, 0.0, 1.0, 0.0, 0.0])
    objective = replace(_objective(name, labels), normalize=normalize)
    result = [_found(objective, np.array([0.3, 0.1, -0.4, 0.2, bottom]))[1:] for bottom in (-299.0, -301.0)]
    np.testing.assert_allclose(result[0], result[1], rtol=1e-9 if not normalize else 1e-3, atol=1e-12)


@pytest.mark.parametrize("name", sorted(set(NAMES) - POINTWISE))
def test_a_constant_added_to_a_query_changes_nothing(name: str) -> None:
    scores = np.round(np.random.default_rng(4).standard_normal(len(LABELS)) * 400)
    for _, grad, hess in [_found(_objective(name), scores)]:
        for shift in (2.0**20, -(2.0**40)):
            _, other_grad, other_hess = _found(_objective(name), scores + shift)
            np.testing.assert_allclose(other_grad, grad, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(other_hess, hess, rtol=1e-9, atol=1e-12)


def test_agreement_is_exact_where_scores_lie_far_apart() -> None:
    scores, labels = np.array([0.0, -5000.0, -5001.0, 4000.0]), np.array([0.0, 1.0, 2.0, 3.0])
    objective = PairwiseExponential(pointers([4]), np.ones(1), labels)
    right, wrong = objective.agreement(scores, np.array([False, True, False, False]))
    assert right == pytest.approx(np.exp(600.0), rel=1e-12)  # 1 over 0
    assert wrong == pytest.approx(np.exp(1.0), rel=1e-12)  # 2 over 1; 3 over 1 weighs nothing

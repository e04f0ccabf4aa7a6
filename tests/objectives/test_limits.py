"""Derivatives of every objective equal those of the oracles in long double; nothing overflows on the way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.objectives.base import CostObjective, Objective, known_objectives, objective_class
from rerank.objectives.lambdarank import lambdarank_for
from rerank.objectives.pairs import PreferencePairs
from rerank.types import Floats, pointers
from tests.oracles import limits as oracle

MEASURES = ("nDCG@10", "P@3", "AP", "ERR")
NAMES = (*known_objectives(), "preferences", *MEASURES)
LABELS = np.array([2.0, 0.0, 1.0, 0.0, 3.0, 1.0, 0.0, 4.0, 0.0, 2.0])
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


def _found(objective: Objective, scores: Floats) -> tuple[float | None, Floats, Floats]:
    """Return cost, where the objective computes it, gradient and curvature; a warning is an error."""
    grad, hess = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cost = objective.cost(scores) if isinstance(objective, CostObjective) else None
        objective.gradients(scores, grad, hess)
    return cost, grad, hess


def _as_float64(value):
    with np.errstate(over="ignore"):
        return np.asarray(value).astype(np.float64)


def _assert_exact(name: str, scores: Floats) -> None:
    cost, grad, hess = _found(_objective(name), scores)
    exact = [_as_float64(value) for value in _exact(name, scores)]
    if cost is not None:
        np.testing.assert_allclose(cost, exact[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(grad, exact[1], rtol=1e-9, atol=1e-12 * max(1.0, np.abs(exact[1]).max()))
    if name == "logistrank":  # its note's curvature, no second derivative
        assert (hess >= 0.0).all()
        return
    np.testing.assert_allclose(hess, exact[2], rtol=1e-9, atol=1e-12 * max(1.0, np.abs(exact[2]).max()))


@pytest.mark.parametrize("exponent", [-300, -30, -3, -1])
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_exact_up_to_differences_of_exponentials_in_range(name: str, exponent: int) -> None:
    for seed in range(4):
        _assert_exact(name, _scores(seed, 10.0**exponent))


@pytest.mark.parametrize("name", sorted(set(NAMES) - POINTWISE - {"gbrank"}))
def test_a_constant_added_to_a_query_changes_nothing(name: str) -> None:
    scores = np.round(np.random.default_rng(4).standard_normal(len(LABELS)) * 40)
    for _, grad, hess in [_found(_objective(name), scores)]:
        for shift in (2.0**20, -(2.0**40)):
            _, other_grad, other_hess = _found(_objective(name), scores + shift)
            np.testing.assert_allclose(other_grad, grad, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(other_hess, hess, rtol=1e-9, atol=1e-12)


def test_documents_far_below_the_best_are_tied() -> None:
    """Pairs with the best document are as they are; that of two documents beyond 300 is one of equal scores."""
    _, grad, _ = _found(_objective("ranknet", np.array([0.0, 2.0, 1.0])), np.array([0.0, -1000.0, -400.0]))
    np.testing.assert_allclose(grad, [2.0, -1.5, -0.5])

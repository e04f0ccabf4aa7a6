"""What holds for every objective: derivatives are those of the cost, weights multiply, far scores stay finite."""

from __future__ import annotations

from itertools import pairwise, repeat

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.objectives.base import Objective, known_objectives, objective_class
from rerank.objectives.lambdarank import lambdarank_for
from rerank.objectives.pairs import ExponentialPairs, PreferencePairs
from rerank.types import Floats, pointers
from tests.oracles import objectives as oracle

QUERY_PTR = pointers([7, 1, 0, 12, 3, 9])
MEASURES = ["nDCG@10", "AP", "RR", "ERR"]
NORMALIZED = [f"{name}, normalized" for name in ("nDCG@10", "AP")]
NAMES = [*known_objectives(), "preferences", "exponential-preferences", *MEASURES]
COSTED = ["hinge", "exponential", "plackett-luce", "logistic", "balanced-logistic", "exponential-preferences"]
BOUNDS = {"hinge", "logistrank"}  # hess is no second derivative there
SLOPED = ["ranknet", "logistic", "balanced-logistic"]
ORACLES = {
    "ranknet": oracle.ranknet,
    "hinge": oracle.hinge,
    "exponential": oracle.exponential,
    "gbrank": oracle.gbrank,
    "plackett-luce": oracle.plackett_luce,
    "least-squares": oracle.least_squares,
    "logistic": oracle.logistic,
    "logistrank": oracle.logistrank,
}


def _labels() -> Floats:
    labels = np.random.default_rng(5).integers(0, 5, QUERY_PTR[-1]).astype(np.float64)
    labels[QUERY_PTR[4] : QUERY_PTR[5]] = 0.0
    labels[0] = 4.0
    return labels


def _scores(seed: int = 1) -> Floats:
    return np.random.default_rng(seed).standard_normal(QUERY_PTR[-1])


def _objective(name: str, weights: Floats | None = None) -> Objective:
    name, _, normalized = name.partition(", ")
    labels = _labels()
    weights = np.ones(len(QUERY_PTR) - 1) if weights is None else weights
    if name == "preferences":
        return PreferencePairs(*_preferences(weights), 1.3)
    if name == "exponential-preferences":
        return ExponentialPairs(*_preferences(weights))
    if name in MEASURES:
        ideals = [np.sort(labels[first:last])[::-1] for first, last in pairwise(QUERY_PTR)]
        ideals = [ideal[ideal > 0] for ideal in ideals]
        ideal = np.concatenate(ideals), pointers([len(own) for own in ideals])
        return lambdarank_for(
            parse_measure(name), RankedLists(labels, QUERY_PTR, *ideal), weights, 1.3, 5, bool(normalized)
        )
    of_one_tree = {"trees": repeat(0)} if name == "xe-ndcg" else {}
    return objective_class(name)(QUERY_PTR, weights, labels, **of_one_tree)


def _preferences(weights: Floats) -> tuple[Floats, ...]:
    """Pairs drawn with return, some in both directions, in each query."""
    random, pairs = np.random.default_rng(2), []
    for query, (first, last) in enumerate(pairwise(QUERY_PTR)):
        drawn = random.integers(first, last, (3 * (last - first), 2)) if last - first > 1 else np.empty((0, 2), int)
        pairs += [(i, j, random.random(), weights[query]) for i, j in drawn if i != j]
    return tuple(map(np.array, zip(*pairs, strict=True)))


def _gradients(objective: Objective, scores: Floats) -> tuple[Floats, Floats]:
    grad, hess = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    objective.gradients(scores, grad, hess)
    return grad, hess


def _moved(scores: Floats, row: int, step: float) -> Floats:
    moved = scores.copy()
    moved[row] += step
    return moved


@pytest.mark.parametrize("name", COSTED)
def test_gradient_is_the_derivative_of_the_cost(name) -> None:
    objective, scores, step = _objective(name), _scores(), 1e-6
    grad, _ = _gradients(objective, scores)
    for row in range(len(scores)):
        above, below = (objective.cost(_moved(scores, row, way * step)) for way in (1, -1))
        assert grad[row] == pytest.approx((above - below) / (2 * step), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", sorted(set(NAMES) - BOUNDS))
def test_curvature_is_the_derivative_of_the_gradient(name) -> None:
    objective, scores, step = _objective(name), _scores(), 1e-6
    _, hess = _gradients(objective, scores)
    for row in range(len(scores)):
        above, below = (_gradients(objective, _moved(scores, row, way * step))[0][row] for way in (1, -1))
        assert hess[row] == pytest.approx((above - below) / (2 * step), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_of_gradients_are_symmetric(name) -> None:
    """Burges 2010, section 4.3: d lambda_i / d s_j = d lambda_j / d s_i, the order frozen."""
    objective, scores, step = _objective(name), _scores(), 1e-6
    moves = []
    for row in range(len(scores)):
        above, below = (_gradients(objective, _moved(scores, row, way * step))[0] for way in (1, -1))
        moves.append((above - below) / (2 * step))
    slopes = np.array(moves)
    np.testing.assert_allclose(slopes, slopes.T, rtol=1e-5, atol=1e-6)
    if name != "hinge":
        assert np.abs(slopes).max() > 0.01


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_gradient_is_the_derivative_of_the_oracles_cost(name) -> None:
    scores, labels, step = _scores(), _labels(), 1e-6
    weights = np.array([1.0, 2.0, 5.0, 0.5, 3.0, 0.0])

    def cost(at: Floats) -> float:
        parts = [ORACLES[name](at[a:b].tolist(), labels[a:b].tolist()) for a, b in pairwise(QUERY_PTR)]
        return float(weights @ parts)

    grad, _ = _gradients(_objective(name, weights), scores)
    for row in range(len(scores)):
        slope = (cost(_moved(scores, row, step)) - cost(_moved(scores, row, -step))) / (2 * step)
        assert grad[row] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", sorted({*ORACLES} & {*COSTED}))
def test_cost_equals_the_oracle(name) -> None:
    scores, labels = _scores(), _labels()
    expected = [ORACLES[name](scores[a:b].tolist(), labels[a:b].tolist()) for a, b in pairwise(QUERY_PTR)]
    assert _objective(name).cost(scores) == pytest.approx(sum(expected), rel=1e-10)
    weights = np.array([1.0, 2.0, 5.0, 0.5, 3.0, 0.0])
    assert _objective(name, weights).cost(scores) == pytest.approx(float(weights @ expected), rel=1e-10)


def test_every_objective_has_an_oracle() -> None:
    assert set(known_objectives()) - set(ORACLES) == {"balanced-logistic", "xe-ndcg"}  # test_limits.py has these


@pytest.mark.parametrize("name", sorted({*NAMES, *NORMALIZED} - {"balanced-logistic"}))
def test_weights_multiply_a_query(name) -> None:
    """A weight of 3 is three copies: gradients of documents that share their features are summed."""
    weights = np.array([1.0, 2.0, 100.0, 3.0, 1e-9, 0.0])
    plain, heavy = (_gradients(_objective(name, own), _scores()) for own in (None, weights))
    for before, after in zip(plain, heavy, strict=True):
        np.testing.assert_allclose(after, before * np.repeat(weights, np.diff(QUERY_PTR)), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_stay_finite_and_curvature_positive_when_scores_lie_far_apart(name) -> None:
    scores = _scores() * 10.0 ** np.arange(-3, len(_scores()) - 3).clip(max=12)
    grad, hess = _gradients(_objective(name), scores)
    assert np.isfinite(grad).all()
    assert np.isfinite(hess).all()
    assert (hess >= 0.0).all()


@pytest.mark.parametrize("name", NAMES)
def test_gradients_do_not_depend_on_threads(name) -> None:
    import numba

    result, before = [], numba.get_num_threads()
    try:
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(threads)
            result.append(_gradients(_objective(name), _scores()))
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(result[0], result[1])


def test_pairs_of_labels_cost_what_ranknet_costs() -> None:
    labels, scores = _labels(), _scores()
    pairs = [(i, j) for a, b in pairwise(QUERY_PTR) for i in range(a, b) for j in range(a, b) if labels[i] > labels[j]]
    better, worse = np.array(pairs).T
    listed = PreferencePairs(better, worse, np.ones(len(pairs)), np.ones(len(pairs)))
    np.testing.assert_allclose(_gradients(listed, scores), _gradients(_objective("ranknet"), scores), rtol=1e-10)


def test_preferences_that_contradict_each_other_balance_where_their_probabilities_do() -> None:
    """Pairs (0, 1) three times and (1, 0) once: the cost is least at P = 3/4."""
    pairs = PreferencePairs(np.array([0, 0, 0, 1]), np.array([1, 1, 1, 0]), np.ones(4), np.ones(4))
    grad, _ = _gradients(pairs, np.array([np.log(3.0), 0.0]))
    np.testing.assert_allclose(grad, 0.0, atol=1e-12)


def test_hinge_puts_the_pairs_inside_the_margin_in_place_of_curvature() -> None:
    scores, labels = _scores(), _labels()
    expected = np.zeros(len(scores))
    for a, b in pairwise(QUERY_PTR):
        for i in range(a, b):
            for j in range(a, b):
                if labels[i] > labels[j] and scores[i] - scores[j] < 1.0:
                    expected[[i, j]] += 1.0
    np.testing.assert_array_equal(_gradients(_objective("hinge"), scores)[1], expected)


def test_logistrank_has_the_papers_curvature() -> None:
    """|ytilde (2 - |ytilde|)|, also beyond |ytilde| = 2, which scale 3 reaches."""
    objective, largest = _objective("logistrank"), 0.0
    for shift in (-4.0, 0.0, 4.0):
        grad, hess = _gradients(objective, _scores() + shift)
        response = np.abs(grad)
        np.testing.assert_allclose(hess, np.abs(response * (2.0 - response)), rtol=1e-12)
        largest = max(largest, response.max())
    assert largest > 2.5


def test_balanced_classes_weigh_both_sums_of_a_leaf() -> None:
    """Burges 2010, equation 15: not the plain step with weighted responses."""
    labels, scores = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.3, -0.2, 0.5, 0.1])
    objective = objective_class("balanced-logistic")(pointers([4]), np.ones(1), labels)
    grad, hess = _gradients(objective, scores)
    y, w = np.where(labels > 0, 1, -1), np.where(labels > 0, 1.0, 1 / 3)
    response = 2 * y / (1 + np.exp(2 * y * scores))
    step = (w * response).sum() / (w * np.abs(response) * (2 - np.abs(response))).sum()
    assert -grad.sum() / hess.sum() == pytest.approx(step, rel=1e-12)
    weighted = w * response
    assert abs(step - weighted.sum() / (np.abs(weighted) * (2 - np.abs(weighted))).sum()) > 0.05


@pytest.mark.parametrize("name", SLOPED)
def test_sigma_sets_only_the_unit_of_the_scores(name) -> None:
    """At s / sigma the Newton step of any rows is 1 / sigma times that of slope 1 at s."""
    kind, given, scores = objective_class(name), (QUERY_PTR, np.ones(len(QUERY_PTR) - 1), _labels()), _scores()
    grad, hess = _gradients(kind(*given), scores)
    for sigma in (0.5, 4.0):
        other_grad, other_hess = _gradients(kind(*given, sigma=sigma), scores / sigma)
        np.testing.assert_allclose(other_grad, sigma * grad, rtol=1e-9)
        np.testing.assert_allclose(other_hess, sigma**2 * hess, rtol=1e-9)


@pytest.mark.parametrize("name", sorted(known_objectives()))
def test_constant_is_where_all_rows_together_cost_least(name) -> None:
    objective = _objective(name)
    constant = objective.constant()
    if name == "logistrank":
        assert constant == pytest.approx(np.where(_labels() >= 2.0, 1.0, -1.0).mean())
        return
    start = np.full(QUERY_PTR[-1], constant or 0.0)
    assert _gradients(objective, start)[0].sum() == pytest.approx(0.0, abs=1e-9)


def test_unknown_objectives_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="Did you mean 'ranknet'"):
        objective_class("rankmet")

from __future__ import annotations

import numpy as np
import pytest

from rerank.metrics.registry import parse_measure
from rerank.metrics.structures import RankedLists
from rerank.objectives.click_lists import ClickListsObjective
from rerank.objectives.for_measure import lambdarank_for
from rerank.objectives.hessian import PairFactors
from rerank.types import pointers
from rerank.types.arrays import ideal_of_rows
from tests.oracles import click_lists as oracle

THETA = np.array([1.0, 0.8, 0.5, 0.4, 0.3, 0.2])
N_ROWS, TRUNCATION, ETA = 14, 4, 0.1


def _lists(seed: int = 0, n_lists: int = 30):
    """Lists of 3 to 6 rows, the first position among them, with a click and a skipped document."""
    random = np.random.default_rng(seed)
    lists = []
    for _ in range(n_lists):
        n = int(random.integers(3, 7))
        clicked = random.random(n) < 0.4
        clicked[:2] = [True, False] if random.random() < 0.5 else [False, True]
        lists.append((random.permutation(N_ROWS)[:n], np.arange(n), clicked, float(random.integers(1, 4))))
    return lists


def _objective(lists, bias: str, measure: str = "nDCG@4") -> ClickListsObjective:
    rows, positions, clicked = (np.concatenate([part[column] for part in lists]) for column in range(3))
    ptr, labels = pointers([len(part[0]) for part in lists]), clicked.astype(np.float64)
    ranked = RankedLists(labels, ptr, *ideal_of_rows(labels, ptr))
    factors = PairFactors(np.ones(len(rows)), np.ones(len(rows)))
    counts = np.array([part[3] for part in lists])
    inner = lambdarank_for(parse_measure(measure), ranked, counts, 1.0, TRUNCATION, False, factors)
    return ClickListsObjective(rows.astype(np.int64), positions.astype(np.int64), inner, bias, THETA, ETA)


def _gradients(objective: ClickListsObjective, scores):
    grad, hess = np.empty(N_ROWS), np.empty(N_ROWS)
    objective.gradients(scores, grad, hess)
    return grad, hess


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("bias", ["ignored", "propensity", "unbiased", "additive"])
def test_gradients_of_three_trees_equal_the_oracle(bias: str, ties: bool) -> None:
    lists, random = _lists(), np.random.default_rng(1)
    objective = _objective(lists, bias)
    t_plus, t_minus = THETA if bias == "propensity" else np.ones(6), np.ones(6)
    offsets = np.zeros(6)
    for _ in range(3):
        scores = random.integers(0, 3, N_ROWS).astype(float) if ties else random.standard_normal(N_ROWS)
        if bias == "unbiased":
            t_plus, t_minus = oracle.propensities(lists, scores, TRUNCATION, t_plus, t_minus)
        expected = oracle.gradients(lists, scores, TRUNCATION, t_plus, t_minus, offsets)
        grad, hess = _gradients(objective, scores)
        np.testing.assert_allclose(grad, expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(hess, expected[1], rtol=1e-9, atol=1e-12)
        if bias == "additive":
            offsets = offsets + ETA * expected[2] / (expected[3] + 0.001)
            np.testing.assert_allclose(objective.offsets, offsets, rtol=1e-9)
        else:
            np.testing.assert_allclose(objective.propensities, [t_plus, t_minus], rtol=1e-9)


@pytest.mark.parametrize("bias", ["ignored", "propensity"])
@pytest.mark.parametrize("measure", ["nDCG@4", "AP"])
def test_gradients_are_the_slope_of_the_cost_while_no_document_moves(bias: str, measure: str) -> None:
    objective, scores = _objective(_lists(2), bias, measure), np.linspace(-1, 1, N_ROWS)
    grad, _ = _gradients(objective, scores)
    for row in range(N_ROWS):
        moved = scores.copy()
        moved[row] += 1e-5
        assert (objective.cost(moved) - objective.cost(scores)) / 1e-5 == pytest.approx(grad[row], abs=1e-3)


def test_a_position_without_pairs_keeps_a_propensity_of_one() -> None:
    lists = [(np.array([0, 1, 2]), np.array([0, 1, 4]), np.array([True, False, False]), 1.0)]
    objective = _objective(lists, "unbiased")
    _gradients(objective, np.zeros(N_ROWS))
    assert objective.propensities[0].tolist() == [1.0] * 6
    assert objective.propensities[1, [0, 2, 3, 5]].tolist() == [1.0] * 4

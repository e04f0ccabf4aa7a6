"""LambdaRank from blocks of swap deltas, for measures that are not separable, and the choice between the two forms."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.objectives.lambdarank import BlockLambdaRankObjective, LambdaRankObjective, lambdarank_for
from rerank.types import Floats, Ints, pointers
from tests.oracles import lambdas as oracle

BLOCKS = ["AP", "RR", "ERR", "nERR", "AUC", "PairAccuracy"]


def _lists(seed: int, ties: bool = False) -> tuple[Ints, Floats, Floats]:
    """Queries of 7, 1, 12, 3 and 20 documents, one of them without a relevant one."""
    random = np.random.default_rng(seed)
    query_ptr = pointers([7, 1, 12, 3, 20])
    labels = random.integers(0, 4, query_ptr[-1]).astype(np.float64)
    labels[query_ptr[3] : query_ptr[4]] = 0.0
    scores = random.integers(0, 4, query_ptr[-1]).astype(float) if ties else random.standard_normal(query_ptr[-1])
    return query_ptr, labels, scores


def _ideal(labels: Floats, query_ptr: Ints) -> tuple[Floats, Ints]:
    """Every positive label, and one 3 a query that was not retrieved."""
    ideals = [np.sort([*labels[first:last], 3.0])[::-1] for first, last in pairwise(query_ptr)]
    kept = [ideal[ideal > 0] for ideal in ideals]
    return np.concatenate(kept), pointers([len(ideal) for ideal in kept])


def _objective(name, labels, query_ptr, truncation=5, sigma=1.0, normalize=False, weights=None):
    weights = np.ones(len(query_ptr) - 1) if weights is None else weights
    ideal = _ideal(labels, query_ptr)
    return lambdarank_for(
        parse_measure(name), RankedLists(labels, query_ptr, *ideal), weights, sigma, truncation, normalize
    )


def _gradients(objective: LambdaRankObjective | BlockLambdaRankObjective, scores: Floats) -> tuple[Floats, Floats]:
    grad, hess = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    objective.gradients(scores, grad, hess)
    return grad, hess


def _frozen_deltas(name: str, labels: Floats, scores: Floats, truncation: int) -> Floats:
    """|delta| of each pair of one query's rows at the present order, measured anew; 0 below the truncation level."""
    measure, order = parse_measure(name), np.argsort(-scores, kind="stable")
    ideal, _ = _ideal(labels, pointers([len(labels)]))
    deltas = np.zeros((len(labels), len(labels)))
    for upper in range(min(truncation, len(labels))):
        for lower in range(len(labels)):
            after = order.copy()
            after[[upper, lower]] = after[[lower, upper]]
            change = abs(measure.score(labels[after], ideal) - measure.score(labels[order], ideal))
            deltas[order[upper], order[lower]] = deltas[order[lower], order[upper]] = change
    return deltas


@pytest.mark.parametrize("truncation", [3, 100])
@pytest.mark.parametrize("name", BLOCKS)
def test_lambdas_are_the_gradient_of_the_frozen_cost(name: str, truncation: int) -> None:
    labels, scores, sigma = np.array([0, 1, 2, 0, 3, 1, 0, 2, 0.0]), np.linspace(-1, 1.3, 9), 1.7
    grad, hess = _gradients(_objective(name, labels, pointers([9]), truncation, sigma), scores)
    deltas, step = _frozen_deltas(name, labels, scores, truncation), 1e-4
    for row in range(9):
        up, down = scores.copy(), scores.copy()
        up[row] += step
        down[row] -= step
        below, here, above = (oracle.cost(at, labels, deltas, sigma) for at in (down, scores, up))
        assert grad[row] == pytest.approx((above - below) / (2 * step), abs=1e-6)
        assert hess[row] == pytest.approx((above - 2 * here + below) / step**2, abs=1e-5)


@pytest.mark.parametrize("name", [*BLOCKS, "nDCG@5"])
def test_lambdas_change_symmetrically(name: str) -> None:
    """Burges 2010, section 4.3: while the order does not change, d lambda_i / d s_j = d lambda_j / d s_i."""
    query_ptr, labels, scores = pointers([9]), np.array([0, 1, 2, 0, 3, 1, 0, 2, 0.0]), np.linspace(-1, 1.3, 9)
    objective, step = _objective(name, labels, query_ptr), 1e-4
    changes = np.empty((9, 9))
    for row in range(9):
        moved = np.repeat(scores[None], 2, axis=0)
        moved[:, row] += step, -step
        changes[row] = (_gradients(objective, moved[0])[0] - _gradients(objective, moved[1])[0]) / (2 * step)
    np.testing.assert_allclose(changes, changes.T, atol=1e-7)
    np.testing.assert_allclose(np.diag(changes), _gradients(objective, scores)[1], atol=1e-6)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", ["nDCG@3", "DCG(dcg='exp-log2')@5", "RBP", "nDCG"])
def test_blocks_of_a_separable_measure_give_the_same_lambdas_as_its_vectors(name, ties, normalize) -> None:
    query_ptr, labels, scores = _lists(3, ties)
    weights = np.array([1.0, 1.0, 0.5, 2.0, 3.0])
    vectors = _objective(name, labels, query_ptr, 6, 1.3, normalize, weights)
    deep = parse_measure(name).cut_for_training(6)
    lists = RankedLists(labels, query_ptr, *_ideal(labels, query_ptr))
    how = {"sigma": 1.3, "truncation_level": 6, "normalize": normalize}
    blocks = BlockLambdaRankObjective(lists, deep, weights=weights, **how)
    assert isinstance(vectors, LambdaRankObjective)
    np.testing.assert_allclose(_gradients(blocks, scores), _gradients(vectors, scores), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", BLOCKS)
def test_lambdas_do_not_depend_on_how_queries_are_batched(name, monkeypatch) -> None:
    query_ptr, labels, scores = _lists(4)
    together = _gradients(_objective(name, labels, query_ptr), scores)
    monkeypatch.setattr("rerank.objectives.lambdarank.DELTAS_AT_ONCE", 40)
    apart = _objective(name, labels, query_ptr)
    np.testing.assert_array_equal(_gradients(apart, scores), together)
    assert len(apart._batches) > 2


@pytest.mark.parametrize("name", BLOCKS)
def test_lambdas_of_a_query_sum_to_zero_and_push_the_better_up(name: str) -> None:
    query_ptr, labels, scores = _lists(1, ties=True)
    grad, hess = _gradients(_objective(name, labels, query_ptr), scores)
    np.testing.assert_allclose(np.add.reduceat(grad, query_ptr[:-1]), 0.0, atol=1e-12)
    assert (hess >= 0).all()
    for first, last in pairwise(query_ptr):
        assert grad[first:last][labels[first:last].argmax()] <= 0.0 <= grad[first:last][labels[first:last].argmin()]


def test_lambdas_stay_finite_when_scores_lie_far_apart() -> None:
    labels = np.array([0.0, 3.0, 1.0, 2.0])
    grad, hess = _gradients(_objective("AP", labels, pointers([4])), np.array([1e6, -1e6, 0.0, 1e300]))
    assert np.isfinite([grad, hess]).all()
    assert grad[1] < 0 < grad[0]


def test_precision_and_recall_look_down_to_their_own_cutoff() -> None:
    query_ptr, labels, _ = _lists(1)
    assert _objective("P@2", labels, query_ptr, truncation=30).truncation_level == 2
    assert _objective("R@7", labels, query_ptr, truncation=3).truncation_level == 7
    assert _objective("nDCG@2", labels, query_ptr, truncation=30).truncation_level == 30


@pytest.mark.parametrize("name", ["AP(rel=4)", "P@3", "R@20"])
def test_labels_whose_order_changes_nothing_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"the order of the documents changes .*, got none. Give queries"):
        _objective(name, np.array([0.0, 1.0, 0.0]), pointers([3]))


def test_lambdas_weigh_relevant_documents_that_are_not_retrieved() -> None:
    labels, scores = np.array([0.0, 1.0, 0.0, 1.0]), np.array([4.0, 3.0, 2.0, 1.0])
    objective = _objective("AP", labels, pointers([4]))
    retrieved_only = replace(objective, lists=RankedLists(labels, pointers([4]), np.ones(2), pointers([2])))
    actual, expected = _gradients(objective, scores), _gradients(retrieved_only, scores)
    np.testing.assert_allclose(actual, np.array(expected) * 2 / 3, rtol=1e-12)

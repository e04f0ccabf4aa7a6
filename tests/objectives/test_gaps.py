from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.metrics.registry import parse_measure
from rerank.metrics.structures import RankedLists
from rerank.objectives.for_measure import lambdarank_for
from rerank.objectives.gaps import with_deltas
from rerank.types import Floats, ideal_of_rows, pointers
from tests.oracles import lambdas as oracle

QUERY_PTR = pointers([7, 1, 12, 0, 3, 20])
NAMES = {"lambdaloss++": "nDCG@3", "lambdagap": "P@3"}


def _labels() -> Floats:
    labels = np.random.default_rng(0).integers(0, 4, QUERY_PTR[-1]).astype(np.float64)
    labels[QUERY_PTR[4] : QUERY_PTR[5]] = 0.0
    return labels


def _objective(name: str, metric: str, truncation: int, normalize: bool = False):
    measure, labels = parse_measure(metric), _labels()
    lists = RankedLists(labels, QUERY_PTR, *ideal_of_rows(labels, QUERY_PTR))
    objective = lambdarank_for(measure, lists, np.ones(len(QUERY_PTR) - 1), 1.5, truncation, normalize)
    return with_deltas(name, objective, measure, lists, truncation)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("truncation", [3, 100])
@pytest.mark.parametrize("ties", [False, True])
def test_gradients_equal_the_oracle(name: str, normalize: bool, truncation: int, ties: bool) -> None:
    scores, labels = np.random.default_rng(1).standard_normal(QUERY_PTR[-1]), _labels()
    scores = np.round(scores) if ties else scores
    grad, hess = np.empty_like(scores), np.empty_like(scores)
    objective = _objective(name, NAMES[name], truncation, normalize)
    objective.gradients(scores, grad, hess)
    total = 0.0
    for first, last in pairwise(QUERY_PTR):
        own, label = scores[first:last], labels[first:last]
        if name == "lambdagap":
            deltas = oracle.lambdagap(own, label, 3, truncation)
        else:
            deltas = oracle.lambdaloss(own, label, label, truncation)
        if last > first:
            expected = oracle.lambdas(own, label, label, 1.5, truncation, normalize, deltas=deltas)
            np.testing.assert_allclose(grad[first:last], expected[0], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(hess[first:last], expected[1], rtol=1e-9, atol=1e-12)
        total += oracle.cost(own, label, deltas, 1.5)
    assert objective.cost(scores) == pytest.approx(total)


def test_measures_without_what_the_deltas_need_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"gain times discount beside 'lambdaloss\+\+', got RR"):
        _objective("lambdaloss++", "RR", 5)
    with pytest.raises(InvalidInputError, match="a cut-off beside 'lambdagap', got AP"):
        _objective("lambdagap", "AP", 5)

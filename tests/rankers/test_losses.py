"""Losses with random numbers, as rankers use them."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from rerank.objectives.base import LabelObjective, objective_class
from rerank.rankers.mart import MART
from rerank.types import Floats, pointers
from tests.rankers.test_lambdamart import ndcg

SMALL: dict[str, Any] = {"n_estimators": 30, "num_leaves": 8, "min_child_samples": 5}
RANDOM = ["xe-ndcg"]


@pytest.mark.slow("4 s: trainings")
@pytest.mark.parametrize("name", RANDOM)
def test_models_learn_what_one_feature_does_not_tell(name: str, train, test) -> None:
    model = MART(**SMALL, objective=name).fit(train)
    assert ndcg(test, model.predict(test)) > ndcg(test, test.base_scores) + 0.02


@pytest.mark.parametrize("name", RANDOM)
def test_random_losses_depend_on_the_seed_and_not_on_threads(name: str, train) -> None:
    one, two, other = (
        MART(**SMALL, objective=name, n_jobs=n, random_state=seed).fit(train).to_dict()["learned"]
        for n, seed in ((1, 0), (2, 0), (1, 1))
    )
    assert one == two != other


@pytest.mark.parametrize("name", RANDOM)
def test_gradients_of_each_tree_are_those_of_its_number(name: str) -> None:
    query_ptr, random = pointers([7, 5, 3, 9]), np.random.default_rng(0)
    labels, scores = random.integers(0, 3, 24).astype(np.float64), random.standard_normal(24)
    whole = objective_class(name)(query_ptr, np.ones(4), labels)
    filled = _of_trees(whole, scores)
    assert not np.array_equal(filled[0], filled[1])
    np.testing.assert_array_equal(_of_trees(replace(whole, trees=count(1)), scores)[0], filled[1])


def _of_trees(objective: LabelObjective, scores: Floats) -> Floats:
    """Return gradients and curvatures of three trees, (3, 2, n_rows)."""
    out = np.empty((3, 2, len(scores)))
    for grad, hess in out:
        objective.gradients(scores, grad, hess)
    return out

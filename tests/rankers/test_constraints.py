"""Monotone and interaction constraints of all boosted rankers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.rankers.auto import Auto
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.ensemble import Ensemble
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.mart import MART
from rerank.rankers.ranker import Ranker, read_model
from rerank.rankers.registry import known_rankers, ranker_class
from rerank.types import RankingData

SMALL: dict[str, Any] = {"n_estimators": 12, "num_leaves": 8, "min_child_samples": 3}
DIRECTIONS = {"f0": -1, "f1": 1}  # the labels rise with f0
VARIANTS: dict[str, dict[str, Any]] = {
    **{name: {} for name in known_rankers() if issubclass(ranker_class(name), BoostedTrees)},
    "lambdamart line-search": {"step": "line-search"},
    "lambdamart from base": {"base": "run", "start": "base"},
    "lambdamart weighted base": {"base": "run"},
    "lambdamart drawn": {"subsample": 0.6, "colsample_bytree": 0.6},
    "lambdamart drawn by gradient": {"data_sample_strategy": "mvs", "subsample": 0.5},
}


def _contradictions(model: Ranker, data: RankingData, n_rows: int = 60) -> int:
    """Return the number of steps against the directions when each constrained feature is swept over its values."""
    rows, n_against = data.X[np.random.default_rng(0).permutation(data.n_rows)[:n_rows]], 0
    for name, direction in DIRECTIONS.items():
        column = data.feature_names.index(name)
        values = np.unique(data.X[~np.isnan(data.X[:, column]), column])
        values = np.concatenate([[values[0] - 1], values, [values[-1] + 1]])
        swept = np.repeat(rows, len(values), axis=0)
        swept[:, column] = np.tile(values, n_rows)
        steps = np.diff(model._scores(np.ascontiguousarray(swept)).reshape(n_rows, -1), axis=1)
        n_against += int((direction * steps < 0.0).sum())
    return n_against


@pytest.mark.parametrize("name", VARIANTS)
def test_scores_of_trees_never_move_against_a_direction(name: str, train: RankingData, test: RankingData) -> None:
    kind, options = ranker_class(name.split()[0]), VARIANTS[name]
    free = kind(**SMALL, **options).fit(train)
    bound = kind(**SMALL, **options, monotone_constraints=DIRECTIONS).fit(train)
    assert _contradictions(free, test) > 0
    assert _contradictions(bound, test) == 0
    assert len(bound.forest_.feature) > 0


@pytest.mark.parametrize("second", ["linear", "boosted"])
def test_an_ensemble_of_constrained_trees_keeps_the_directions(
    second: str, train: RankingData, test: RankingData
) -> None:
    member = "lambdamart(n_estimators=8, num_leaves=8, min_child_samples=3, monotone_constraints={'f0': -1, 'f1': 1})"
    members = f"{member}, {member.replace('lambdamart', 'mart')}"
    assert _contradictions(Ensemble(members=members, second=second).fit(train), test) == 0
    inner = [Ensemble(members=members), Auto(members=[LambdaMART(**SMALL, monotone_constraints=DIRECTIONS)])]
    assert all(each._keeps_directions() for each in inner)
    nested = Ensemble(members=[*inner, MART(**SMALL, monotone_constraints=DIRECTIONS)])
    assert _contradictions(nested.set_params(second=second).fit(train), test) == 0


@pytest.mark.parametrize("second", ["linear", "boosted"])
def test_a_member_that_ranks_backwards_gets_no_negative_weight_when_it_is_constrained(
    second: str, train: RankingData, test: RankingData
) -> None:
    backwards = replace(train, labels=train.labels.max() - train.labels)
    order = {"f0": 1, "f1": -1}  # against the labels
    members = [LambdaMART(**SMALL), LambdaMART(**SMALL, monotone_constraints=order)]
    for data in (train, backwards):
        model = Ensemble(members=members, second=second).fit(data)
        shares = np.zeros((50, 2), dtype=np.float32)
        shares[:, 1] = np.linspace(-3.0, 3.0, 50)
        scores = shares @ model.weights_ if second == "linear" else model.stage_._scores(shares)
        assert (np.diff(scores) >= 0.0).all()


def test_constraints_are_stored_with_the_model(train: RankingData, test: RankingData, tmp_path: Any) -> None:
    names = train.feature_names
    model = LambdaMART(**SMALL, monotone_constraints=DIRECTIONS, interaction_constraints=[names[:2], [2]]).fit(train)
    model.save(tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    assert again.monotone_constraints == DIRECTIONS
    assert again.interaction_constraints == [list(names[:2]), [2]]
    np.testing.assert_array_equal(again.predict(test), model.predict(test))
    assert set(np.unique(model.forest_.feature)) <= {0, 1, 2}


def test_a_list_of_directions_is_that_of_the_columns(train: RankingData, test: RankingData) -> None:
    directions = [DIRECTIONS.get(name, 0) for name in train.feature_names]
    models = [LambdaMART(**SMALL, monotone_constraints=each).fit(train) for each in (DIRECTIONS, directions)]
    np.testing.assert_array_equal(*(model.predict(test) for model in models))


def test_constraints_that_cannot_be_kept_are_refused(train: RankingData) -> None:
    with pytest.raises(InvalidInputError, match=r"expected split='newton' with them, got 'least-squares'"):
        LambdaMART(split="least-squares", monotone_constraints=DIRECTIONS).fit(train)
    with pytest.raises(InvalidInputError, match=r"expected a feature of the training data, got 'g'"):
        LambdaMART(monotone_constraints={"g": 1}).fit(train)
    with pytest.raises(InvalidInputError, match=r"^monotone_constraints\.f0: expected -1 to 1, got 3"):
        LambdaMART(monotone_constraints={"f0": 3}).fit(train)


def test_declared_directions_need_data_with_a_recipe(train: RankingData) -> None:
    with pytest.raises(InvalidInputError, match=r"^monotone_constraints: expected features of `rerank features`"):
        LambdaMART(**SMALL, monotone_constraints="features").fit(train)


def test_card_says_that_constraints_do_not_hold_for_the_base(train: RankingData) -> None:
    for base, what in ((None, "the score"), ("feature:f0", "what the model adds to its base")):
        model = LambdaMART(**SMALL, monotone_constraints=DIRECTIONS, base=base).fit(train)
        assert f"{what} may not rise with it" in str(rerank.model_card(model))

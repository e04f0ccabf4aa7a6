"""Leaf values of trained trees that are fitted to other data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.rankers.boosted import MART, BoostedTrees, GBRank, LambdaMART, LogistRank
from rerank.rankers.store import read_model
from rerank.types import RankingData

SMALL: dict[str, Any] = {"n_estimators": 12, "num_leaves": 6, "min_child_samples": 3}
MODELS: dict[str, BoostedTrees] = {
    "lambdamart": LambdaMART(**SMALL),
    "line-search": LambdaMART(**SMALL, step="line-search"),
    "regularised": LambdaMART(**SMALL, reg_lambda=2.0),
    "from base": LambdaMART(**SMALL, base="run", start="base"),
    "weighted base": LambdaMART(**SMALL, base="run"),
    "mart": MART(**SMALL),
    "mart from base": MART(**SMALL, base="run", start="base"),
    "xe-ndcg": MART(**SMALL, objective="xe-ndcg"),
    "logistrank": LogistRank(**SMALL),
}


@pytest.mark.parametrize("name", MODELS)
def test_values_are_those_of_training_when_all_is_forgotten_on_the_same_data(name: str, train: RankingData) -> None:
    model = MODELS[name].unfitted_copy().fit(train)
    again = model.refit(train, decay_rate=0.0)
    np.testing.assert_allclose(again.weights(), model.weights(), rtol=1e-6, atol=1e-9)
    kept = model.refit(train.select(range(5)), decay_rate=1.0)
    np.testing.assert_allclose(kept.weights(), model.weights(), rtol=1e-12)


def test_values_are_a_mixture_of_old_and_new(train: RankingData, test: RankingData) -> None:
    model = MART(**{**SMALL, "n_estimators": 1}).fit(train)
    mixed, new = (model.refit(test, decay_rate=rate).weights() for rate in (0.75, 0.0))
    np.testing.assert_allclose(mixed, 0.75 * model.weights() + 0.25 * new)
    assert not np.allclose(new, model.weights())


def test_other_data_are_learned_and_the_model_is_left_as_it_was(
    train: RankingData, test: RankingData, tmp_path: Path
) -> None:
    reversed_labels = replace(test, labels=test.labels.max() - test.labels, ideal_labels=None, ideal_ptr=None)
    model = LambdaMART(**SMALL).fit(train)
    before = model.predict(test)
    other = model.refit(reversed_labels, decay_rate=0.0)
    assert other.score(reversed_labels) > model.score(reversed_labels)
    np.testing.assert_array_equal(model.predict(test), before)
    np.testing.assert_array_equal(other.forest_.feature, model.forest_.feature)
    other.save(tmp_path / "model.json")
    np.testing.assert_array_equal(read_model(tmp_path / "model.json").predict(test), other.predict(test))
    stored = read_model(tmp_path / "model.json")
    assert isinstance(stored, LambdaMART)
    np.testing.assert_array_equal(stored.refit(test).weights(), other.refit(test).weights())


def test_leaves_without_rows_keep_their_values(train: RankingData) -> None:
    model = MART(**SMALL).fit(train)
    one = model.refit(train.select([0]), decay_rate=0.0)
    kept = one.weights() == model.weights()
    assert 0 < kept.sum() < len(kept)


def test_refit_is_refused_where_values_cannot_be_fitted(train: RankingData) -> None:
    model = LambdaMART(**SMALL).fit(train)
    with pytest.raises(InvalidInputError, match=r"^decay_rate: expected 0 to 1, got 1\.5\. "):
        model.refit(train, decay_rate=1.5)
    with pytest.raises(InvalidInputError, match=r"^decay_rate: expected 0 to 1, got 'half'"):
        model.refit(train, decay_rate="half")
    with pytest.raises(InvalidInputError, match=r"^data: expected labels, got none"):
        model.refit(replace(train, labels=None, ideal_labels=None, ideal_ptr=None))
    with pytest.raises(
        InvalidInputError, match=r"^refit: expected a sum of trees without monotone constraints, got cons"
    ):
        LambdaMART(**SMALL, monotone_constraints={"f0": -1}).fit(train).refit(train)
    with pytest.raises(InvalidInputError, match=r"^refit: expected a sum of trees .*, got a mean of them"):
        GBRank(**SMALL).fit(train).refit(train)
    with pytest.raises(InvalidInputError, match=r"^data: expected RankingData or the path of its file, got ndarray"):
        model.refit(train.X)
    with pytest.raises(ModelMismatchError, match=r"^data: expected the model's"):
        model.refit(replace(train, X=train.X[:, 1:], feature_names=train.feature_names[1:]))
    with pytest.raises(InvalidInputError, match="expected a fitted model"):
        LambdaMART().refit(train)

"""The feature report: what is measured, that it finds what matters, and how it is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import evaluate
from rerank.explanation.importance import (
    FeatureReport,
    check_report_path,
    feature_groups,
    feature_report,
    measure_costs,
    suggested_recipe,
    write_report,
)
from rerank.features.recipe import Recipe
from rerank.metrics.registry import parse_measure
from rerank.training.folds import query_values
from tests.tiny import Tiny

RECIPE = Recipe(families=("letor", "prior", "run"))


@pytest.fixture(scope="module")
def data(index: rerank.Index, collection: Tiny) -> rerank.RankingData:
    """Data in which one column is the label; the others are the index's features."""
    return index.features(index.search(collection.topics, k=60), collection.topics, collection.qrels, recipe=RECIPE)


@pytest.fixture(scope="module")
def report(data: rerank.RankingData) -> FeatureReport:
    position = data.feature_names.index("tf_sum.title")
    X = data.X.copy()
    X[:, position] = data.labels
    return feature_report(replace(data, X=X), quick=True, microseconds={"letor.title": 2.0, "prior.body": 100.0})


def test_report_finds_the_feature_that_matters(report: FeatureReport) -> None:
    by_name = {feature.name: feature for feature in report.features}
    best = by_name["tf_sum.title"]
    assert best.gain > 0.5
    assert sum(feature.gain for feature in report.features) == pytest.approx(1.0)
    assert report.losses[0].without.startswith("family ")
    assert all(loss.low <= loss.loss <= loss.high for loss in report.losses)


def test_report_is_the_same_when_the_queries_are_in_another_order(data: rerank.RankingData) -> None:
    one, two = (feature_report(some, quick=True) for some in (data, data.select(np.arange(len(data))[::-1])))
    assert one.value == pytest.approx(two.value)
    assert one.suggestion.features == two.suggestion.features


def test_suggestion_keeps_to_the_budget_and_takes_gain_for_cost(
    report: FeatureReport, index: rerank.Index, collection: Tiny, data: rerank.RankingData
) -> None:
    chosen = report.suggestion
    assert chosen.microseconds <= chosen.budget
    assert "tf_sum.title" in chosen.features
    assert "prior.body" not in chosen.groups
    assert data.recipe is not None
    smaller = suggested_recipe(report, data.recipe)
    made = index.features(index.search(collection.topics, k=5), collection.topics, recipe=smaller)
    assert set(made.feature_names) == set(chosen.features)


def test_suggestion_is_refused_when_nothing_fits_the_budget(data: rerank.RankingData) -> None:
    with pytest.raises(InvalidInputError, match=r"^budget: expected at least the .* microseconds .* got 0.001. Raise"):
        feature_report(data, quick=True, budget=0.001)


def test_values_of_queries_are_those_of_evaluate(data: rerank.RankingData, collection: Tiny) -> None:
    scores = np.random.default_rng(0).normal(size=data.n_rows)
    expected = evaluate(collection.qrels, data.run(scores), ["nDCG@10"])
    actual = dict(zip(data, query_values(data, scores, parse_measure("nDCG@10")).tolist(), strict=True))
    assert actual == pytest.approx(expected.per_query["nDCG@10"])


def test_costs_are_measured_for_every_group(index: rerank.Index, collection: Tiny, data: rerank.RankingData) -> None:
    assert data.recipe is not None
    costs = measure_costs(index, index.search(collection.topics, k=120), collection.topics, data.recipe, repeats=5)
    assert set(costs) == set(feature_groups(data))
    assert all(cost >= 0 for cost in costs.values())
    assert any(cost > 0 for cost in costs.values())


@pytest.mark.parametrize("ending", ["txt", "html", "json", "toml"])
def test_report_is_written_as_the_ending_says(
    report: FeatureReport, data: rerank.RankingData, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"report.{ending}"
    assert data.recipe is not None
    write_report(report, data.recipe, path)
    text = path.read_text("utf8")
    if ending == "json":
        assert len(json.loads(text)["features"]) == len(report.features)
    elif ending == "toml":
        assert Recipe.from_toml(path).features == report.suggestion.features
    else:
        assert text.count("tf_sum.title") >= 1
        assert ("<table>" in text) == (ending == "html")


def test_report_refuses_other_endings_and_data_that_tell_nothing(data: rerank.RankingData) -> None:
    with pytest.raises(
        InvalidInputError, match=r"report\.doc: expected a name that ends in \.txt, .*, or - for stdout"
    ):
        check_report_path("report.doc")
    with pytest.raises(InvalidInputError, match=r"data: expected labels and at least 6 queries, got no labels"):
        feature_report(replace(data, labels=None, ideal_labels=None, ideal_ptr=None))
    with pytest.raises(InvalidInputError, match=r"at least 6 queries, got 5\."):
        feature_report(data.select(np.arange(5)))
    with pytest.raises(InvalidInputError, match=r"data: expected the recipe of the features, got none"):
        feature_report(replace(data, recipe=None))

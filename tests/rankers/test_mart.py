from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from rerank.errors import InvalidInputError
from rerank.objectives.base import objective_class
from rerank.rankers.base_unit import start_in_units
from rerank.rankers.gbrank import GBRank
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.logistrank import LogistRank
from rerank.rankers.mart import MART
from rerank.rankers.training_set import TrainingSet
from rerank.trees.booster import Booster
from rerank.trees.content import bin_rows
from rerank.trees.structures import TreeLimits
from rerank.types import Floats, pointers
from tests.oracles.boosting import gbrank_targets
from tests.rankers.conftest import ranking_data
from tests.rankers.leaves import leaves

SMALL = {"n_estimators": 4, "num_leaves": 4, "min_child_samples": 5, "learning_rate": 0.3}


def _mean_residual(labels: Floats, F: Floats) -> float:
    return float(np.mean(labels - F))


def _logistic_step(labels: Floats, F: Floats) -> float:
    """Burges 2010, section 6, sigma 1."""
    y = np.where(labels > 0, 1, -1)
    response = 2 * y / (1 + np.exp(2 * y * F))
    return float(response.sum() / (np.abs(response) * (2 - np.abs(response))).sum())


def _logistrank_step(labels: Floats, F: Floats) -> float:
    """Labels 0 to 3: 2 and 3 are positive; 3 is perfect."""
    y, scale = np.where(labels >= 2, 1, -1), np.select([labels == 3, labels == 2], [3.0, 2.0], 1.0)
    response = scale * y / (1 + np.exp(y * F))
    return float(response.sum() / np.abs(response * (2 - np.abs(response))).sum())


@pytest.mark.parametrize(
    ("model", "step"),
    [
        (MART(**SMALL), _mean_residual),
        (MART(**SMALL, objective="logistic"), _logistic_step),
        (LogistRank(**SMALL), _logistrank_step),
    ],
    ids=["least-squares", "logistic", "logistrank"],
)
def test_leaves_are_the_papers_steps(model, step) -> None:
    data = ranking_data(4, n_queries=20)
    model.fit(data)
    F = np.full(data.n_rows, model.constant_)
    if step is _logistic_step:
        share = (data.labels > 0).mean()
        assert model.constant_ == pytest.approx(0.5 * np.log(share / (1 - share)))
    elif step is _logistrank_step:
        assert model.constant_ == pytest.approx(np.where(data.labels >= 2, 1, -1).mean())
    else:
        assert model.constant_ == pytest.approx(data.labels.mean())
    for leaf, value in leaves(model.forest_, data.X):
        for number in np.unique(leaf):
            rows = leaf == number
            assert value[rows] == pytest.approx(0.3 * step(data.labels[rows], F[rows]), rel=1e-9)
        F += value
    np.testing.assert_allclose(model.predict(data), F, rtol=1e-12)


@pytest.mark.parametrize("name", ["ranknet", "logistic", "balanced-logistic"])
def test_sigma_makes_no_difference_to_a_cold_model(name) -> None:
    """Burges 2010, section 7: the scores of the same trees are in units of 1 / sigma."""
    data = ranking_data(4, n_queries=20)
    train = TrainingSet.of(data, np.zeros(data.n_rows))
    results = []
    for sigma in (0.5, 1.0, 4.0):
        objective = objective_class(name)(train.query_ptr, train.weights, train.labels, sigma=sigma)
        start = np.full(data.n_rows, objective.constant() or 0.0)
        limits = TreeLimits(8, min_child_samples=5, min_child_weight=0.0)
        rows = bin_rows(train.X, train.order, 255, 1)
        booster = Booster(objective.gradients, 1, rows, train.query_ptr, start, limits)
        for _ in range(10):
            booster.add_tree()
        results.append(booster.scores * sigma)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(results[2], results[1], rtol=1e-6, atol=1e-9)


def test_warm_start_puts_the_mean_of_the_base_at_the_objectives_constant() -> None:
    data = ranking_data(4, n_queries=20)
    data = replace(data, base_scores=data.base_scores + 100.0)
    model = MART(**{**SMALL, "n_estimators": 1, "learning_rate": 1e-9}, base="run", start="base").fit(data)
    unit = model._unit(TrainingSet.of(data, data.base_scores))
    assert model.predict(data).mean() / unit == pytest.approx(data.labels.mean(), abs=1e-6)


ROUNDS, ETA, TAU = 5, 0.7, 0.1


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("base", [None, "run"])
def test_each_tree_is_the_mean_of_the_targets_in_its_leaves(keep, base) -> None:
    data = ranking_data(4, n_queries=8, n_features=4)
    data = replace(data, base_scores=None if base is None else data.base_scores / data.base_scores.std())
    model = GBRank(
        n_estimators=ROUNDS,
        num_leaves=4,
        min_child_samples=1,
        learning_rate=ETA,
        tau=TAU,
        keep_pairs=keep,
        base=base,
        start="base",
    ).fit(data)
    start = np.zeros(data.n_rows) if base is None else data.base_scores
    train = TrainingSet.of(data, start)
    unit = model._unit(train)
    h, kept = start_in_units(train, unit, by_query=True)[0], []
    for k, (leaf, value) in enumerate(leaves(model.forest_, data.X[train.order]), 1):
        targets = gbrank_targets(train.query_ptr, train.labels, h, TAU)
        kept = kept + targets if keep else targets
        rows, wanted = np.array([row for row, _ in kept]), np.array([target for _, target in kept])
        for number in np.unique(leaf):
            inside = wanted[leaf[rows] == number]
            expected = ETA * inside.mean() if len(inside) else 0.0
            assert value[leaf == number] / unit == pytest.approx(expected, rel=1e-9)
        h = (k * h + value / unit) / (k + 1)
    centre = train.start_scores / unit - start_in_units(train, unit, by_query=True)[0]
    np.testing.assert_allclose(
        model.predict(data)[train.order] / unit - centre, (ROUNDS + 1) * h, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("name", ["least-squares", "logistic", "balanced-logistic", "logistrank"])
def test_a_row_of_weight_two_costs_what_two_equal_rows_do(name: str) -> None:
    data = ranking_data(4, n_queries=20)
    counts = np.random.default_rng(0).integers(0, 3, data.n_rows)
    repeated, sizes = np.repeat(np.arange(data.n_rows), counts), np.add.reduceat(counts, data.query_ptr[:-1])
    weighted = objective_class(name)(data.query_ptr, np.full(20, 0.5), data.labels, documents=counts.astype(np.float64))
    twice = objective_class(name)(pointers(sizes), np.full(20, 0.5), data.labels[repeated])
    scores, grad, hess = data.base_scores, np.empty((2, data.n_rows)), np.empty((2, data.n_rows))
    weighted.gradients(scores, grad[0], hess[0])
    twice.gradients(scores[repeated], of_rows := np.empty(len(repeated)), of_hess := np.empty(len(repeated)))
    grad[1] = np.bincount(repeated, of_rows, data.n_rows)
    hess[1] = np.bincount(repeated, of_hess, data.n_rows)
    assert weighted.constant() == pytest.approx(twice.constant())
    np.testing.assert_allclose(grad[0], grad[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(hess[0], hess[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [MART(**SMALL), LambdaMART(**SMALL)], ids=["mart", "lambdamart"])
def test_rows_of_weight_zero_have_no_effect_on_leaves(model) -> None:
    data = ranking_data(4, n_queries=20)
    noise = np.random.default_rng(0).random(data.n_rows) < 0.2
    wrong = replace(data, labels=np.where(noise, 3 - data.labels, data.labels), row_weights=np.where(noise, 0.0, 1.0))
    other = replace(wrong, labels=np.where(noise, data.labels, wrong.labels))
    one, two = (clone(model).fit(rows).predict(data) for rows in (wrong, other))
    if isinstance(model, MART):  # LambdaMART's ideal ranking has the labels of all documents
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, clone(model).fit(replace(wrong, row_weights=None)).predict(data))


def test_weights_of_rows_are_refused_in_one_line_where_a_ranker_takes_none() -> None:
    data = ranking_data(4, n_queries=20)
    data = replace(data, row_weights=np.linspace(0.0, 1.0, data.n_rows))
    with pytest.raises(
        InvalidInputError, match="sample_weight: expected a ranker that weighs rows, or one weight a query, got GBRank"
    ):
        GBRank(**SMALL).fit(data)
    with pytest.raises(InvalidInputError, match=r"objective: expected .*least-squares.* got 'ranknet'"):
        MART(**SMALL, objective="ranknet").fit(data)

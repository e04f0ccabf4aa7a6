from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad

from rerank.errors import InvalidInputError
from rerank.rankers.linear import TOLERANCE, Cost, _drawn
from rerank.rankers.logistic_regression import LogisticRegression
from rerank.rankers.plackett_luce import PlackettLuce
from rerank.rankers.ranksvm import HINGE_TOLERANCE, RankSVM
from rerank.rankers.standardizer import Standardizer
from rerank.rankers.training_context import TrainingContext
from rerank.rankers.training_set import TrainingSet
from tests.oracles import linear as oracle
from tests.rankers.conftest import ranking_data

LINEAR = pytest.mark.parametrize("ranker", [RankSVM, PlackettLuce, LogisticRegression])


@pytest.fixture(scope="module")
def small():
    data = ranking_data(4, n_queries=6, n_features=4, missing=0.1)
    return replace(data, weights=np.array([1.0, 2.0, 1.0, 0.5, 1.0, 0.0]))


def _inputs(data, start):
    train = TrainingSet.of(data, start)
    return train, Standardizer.learn(train.X, train.order).inputs(train.X, train.order, np.float32).astype(float)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_ranksvm_costs_what_a_slow_solver_costs(small, C) -> None:
    train, inputs = _inputs(small, np.zeros(small.n_rows))
    pairs = oracle.listed_pairs(train.labels, train.query_ptr, train.weights)
    least = oracle.least_hinge_cost(C, train.start_scores, inputs, pairs)
    result = oracle.hinge_cost(RankSVM(C=C).fit(small).weights(), C, train.start_scores, inputs, pairs)
    assert result == pytest.approx(least, rel=2e-3)


def test_ranksvm_from_a_base_leaves_alone_what_the_base_gets_right(small) -> None:
    perfect = replace(small, base_scores=small.labels * 100.0)
    assert np.abs(RankSVM(base="run").fit(perfect).weights()).max() < 25.0  # of a base whose grades lie 100 apart


@LINEAR
def test_gradient_is_finite_differences_of_the_cost(ranker, small) -> None:
    train, inputs = _inputs(small, small.base_scores)
    model, random = ranker(C=0.7), np.random.default_rng(0)
    objective = model._objective(train)
    zero = np.zeros(inputs.shape[1] + model.has_intercept)
    cost = Cost(inputs.astype(np.float32), train.start_scores, objective, model.C, zero)
    for _ in range(3):
        weights = random.normal(0, 0.3, cost.n_weights)
        gap = check_grad(lambda w: cost.value_and_gradient(w)[0], lambda w: cost.value_and_gradient(w)[1], weights)
        assert gap < 1e-3 * max(1.0, np.linalg.norm(cost.value_and_gradient(weights)[1]))


@pytest.mark.parametrize("ranker", [PlackettLuce, LogisticRegression])
def test_smooth_costs_are_left_with_no_slope(ranker, small) -> None:
    train, inputs = _inputs(small, np.zeros(small.n_rows))
    model = ranker().fit(small)
    objective = model._objective(train)
    zero = np.zeros(inputs.shape[1] + model.has_intercept)
    cost = Cost(inputs.astype(np.float32), train.start_scores, objective, model.C, zero)
    result = np.append(model.weights_, [model.intercept_] * model.has_intercept)
    start = np.linalg.norm(cost.value_and_gradient(zero)[1])
    assert np.linalg.norm(cost.value_and_gradient(result)[1]) < 1e-3 * start


def test_logistic_regression_is_that_of_scikit_learn(small) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    train, inputs = _inputs(small, np.zeros(small.n_rows))
    weights = np.repeat(train.weights, np.diff(train.query_ptr))
    theirs = linear_model.LogisticRegression(C=1.0, tol=1e-8).fit(inputs, train.labels > 0, sample_weight=weights)
    ours = LogisticRegression(C=1.0).fit(small)
    np.testing.assert_allclose(ours.weights(), theirs.coef_[0], atol=2e-3)
    np.testing.assert_allclose(ours.predict(small)[train.order], theirs.decision_function(inputs), atol=1e-2)


def test_a_minimum_of_features_that_say_nearly_the_same_takes_few_iterations() -> None:
    data = ranking_data(6, n_queries=20, n_features=3)
    noise = np.random.default_rng(0).standard_normal((data.n_rows, 30))
    X = (np.repeat(data.X, 10, axis=1) + 0.05 * noise).astype(np.float32)
    similar = replace(data, X=X, feature_names=tuple(f"f{number}" for number in range(30)))
    assert PlackettLuce(C=10.0, max_iter=40).fit(similar).best_iteration_ < 40


def test_drawn_rows_have_the_curvature_of_all_rows() -> None:
    curvatures = np.random.default_rng(0).random(1000) ** 8
    rows, drawn = _drawn(curvatures, 200)
    assert drawn.sum() == pytest.approx(curvatures.sum())
    assert (np.diff(rows) > 0).all()
    assert set(np.flatnonzero(curvatures > curvatures.sum() / 200)) <= set(rows.tolist())
    np.testing.assert_array_equal(_drawn(curvatures, 1000)[1], curvatures)


@LINEAR
def test_weights_come_out_and_go_in(ranker, small) -> None:
    model = ranker().fit(small)
    weights = model.weights()
    assert weights.shape == (model.standardizer_.n_inputs,)
    moved = model.with_weights(2.0 * weights)
    expected = 2.0 * (model.predict(small) - model.intercept_) + model.intercept_
    np.testing.assert_allclose(moved.predict(small), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.weights(), weights)
    with pytest.raises(InvalidInputError, match=r"weights: expected \d+ numbers, got shape \(2,\)"):
        model.with_weights([1.0, 2.0])


@LINEAR
def test_missing_values_are_learned_not_read_as_zero(ranker) -> None:
    data = ranking_data(5, missing=0.0)
    informative = np.where(data.labels >= 2, np.nan, np.random.default_rng(0).standard_normal(data.n_rows))
    result = replace(data, X=informative.astype(np.float32)[:, None], feature_names=("a",))
    scores = ranker().fit(result).predict(result)
    missing = np.isnan(informative)
    assert np.median(scores[missing]) > np.quantile(scores[~missing], 0.95)


@LINEAR
def test_stronger_regularisation_makes_smaller_weights(ranker, small) -> None:
    norms = [np.linalg.norm(ranker(C=C).fit(small).weights()) for C in (0.001, 0.1, 10.0)]
    assert norms == sorted(norms)


@LINEAR
def test_parameters_and_data_that_cannot_be_are_refused(ranker, small) -> None:
    with pytest.raises(InvalidInputError, match=r"C: expected 1e-12 to .*, got 0"):
        ranker(C=0).fit(small)
    with pytest.raises(InvalidInputError, match="expected a query with documents of different labels, got none"):
        ranker().fit(replace(small, labels=np.ones(small.n_rows)))
    with pytest.raises(InvalidInputError, match="got only constant ones"):
        ranker().fit(replace(small, X=np.ones_like(small.X)))


@LINEAR
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("base", [None, "run"])
def test_noise_in_the_data_moves_weights_by_no_more_than_the_tolerance(ranker, C, base, small) -> None:
    """The minimum is unique, and weights lie within the tolerance of it, whatever the way there."""
    tolerance = HINGE_TOLERANCE if ranker is RankSVM else TOLERANCE
    random = np.random.default_rng(7)
    X = (small.X * (1.0 + 1e-7 * random.standard_normal(small.X.shape))).astype(np.float32)
    moved = replace(small, base_scores=small.base_scores * (1.0 + 1e-10 * random.standard_normal(small.n_rows)))
    models = [ranker(C=C, base=base).fit(data) for data in (small, moved, replace(small, X=X))]
    inputs = (np.lexsort([model.standardizer_.of_missing, model.standardizer_.features]) for model in models)
    weights, *others = (model.weights_[order] for model, order in zip(models, inputs, strict=True))
    for other in others:
        assert np.linalg.norm(other - weights) <= 3.0 * tolerance * np.linalg.norm(weights)


def test_constant_of_the_contributions_is_the_intercept(small) -> None:
    model = LogisticRegression().fit(small)
    assert model.intercept_ != 0.0
    np.testing.assert_array_equal(model.contributions(small)[:, -1], model.intercept_)


@pytest.mark.parametrize("ranker", [PlackettLuce, LogisticRegression])
def test_search_begins_at_the_weights_of_a_ranker_of_much_the_same_queries(ranker, small) -> None:
    train = TrainingSet.of(small, np.zeros(small.n_rows))
    cold = ranker().fit(small)
    for near, most in ((cold, 2), (ranker().fit(small.select(np.arange(4))), 200)):
        warm = ranker().fit(small)
        warm._learn(train, None, TrainingContext(near=near))
        assert warm.best_iteration_ <= most
        np.testing.assert_allclose(warm.weights_, cold.weights_, rtol=0, atol=1e-5 * np.abs(cold.weights_).max())

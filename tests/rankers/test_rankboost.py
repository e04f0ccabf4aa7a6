from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.objectives.pairs import PairwiseExponential
from rerank.rankers.rankboost import LARGEST_ALPHA, RankBoost
from rerank.rankers.training_set import TrainingSet
from rerank.runtime.codec import plain, restored
from rerank.trees.forest import Forest
from rerank.trees.score import score_rows
from tests.oracles import rankboost as oracle
from tests.rankers.conftest import ranking_data


@pytest.fixture(scope="module")
def small():
    data = ranking_data(4, n_queries=5, n_features=3, missing=0.1)
    return replace(data, weights=np.array([1.0, 2.0, 1.0, 0.5, 1.0]))


def _trees(model):
    """Feature and threshold, side of the missing, and leaf values of each weak ranker."""
    forest = model.forest_
    leaves = forest.leaf_value.reshape(-1, 2)
    return zip(forest.feature, forest.threshold, forest.missing_left, leaves, strict=True)


def _h(X, feature, threshold, missing_left):
    column = X[:, feature]
    return np.where(np.isnan(column), ~missing_left, column > threshold)


@pytest.mark.parametrize("alpha", ["binary", "bisection", "bound"])
def test_rankboost_is_boosting_over_listed_pairs(small, alpha) -> None:
    train = TrainingSet.of(small, np.zeros(small.n_rows))
    X, pairs = small.X[train.order], oracle.pairs(train.labels, train.query_ptr, train.weights)
    model = RankBoost(n_estimators=6, alpha=alpha).fit(small)
    scores = np.zeros(small.n_rows)
    for feature, threshold, missing_left, (none, step) in _trees(model):
        D, _ = oracle.distribution(pairs, scores)
        h = _h(X, feature, threshold, missing_left)
        r = oracle.agreement(pairs, D, h)
        best = max(abs(oracle.agreement(pairs, D, other)) for other in oracle.thresholds(X))
        assert abs(r) == pytest.approx(best, rel=1e-9)
        right, wrong = oracle.right_and_wrong(pairs, D, h)
        expected = 0.5 * np.log((1 + r) / (1 - r) if alpha == "bound" else right / wrong)
        assert none == 0.0
        assert step == pytest.approx(expected, rel=1e-6)
        scores += step * h
    np.testing.assert_allclose(model.predict(small)[train.order], scores, rtol=1e-12)


@pytest.mark.parametrize("alpha", ["binary", "bisection"])
def test_alpha_is_the_minimum_of_z(small, alpha) -> None:
    train = TrainingSet.of(small, np.zeros(small.n_rows))
    X, pairs = small.X[train.order], oracle.pairs(train.labels, train.query_ptr, train.weights)
    model = RankBoost(n_estimators=1, alpha=alpha).fit(small)
    ((feature, threshold, missing_left, (_, step)),) = _trees(model)
    D, _ = oracle.distribution(pairs, np.zeros(small.n_rows))
    h = _h(X, feature, threshold, missing_left)
    least = oracle.normaliser(pairs, D, h, step)
    assert all(least <= oracle.normaliser(pairs, D, h, other) for other in step + np.linspace(-1, 1, 41))


def test_pairs_that_are_ordered_wrongly_gain_weight(small) -> None:
    train = TrainingSet.of(small, np.zeros(small.n_rows))
    pairs = oracle.pairs(train.labels, train.query_ptr, train.weights)
    before, _ = oracle.distribution(pairs, np.zeros(small.n_rows))
    model = RankBoost(n_estimators=1).fit(small)
    scores = model.predict(small)[train.order]
    after, _ = oracle.distribution(pairs, scores)
    wrong, right = oracle.gaps(pairs, scores) < 0, oracle.gaps(pairs, scores) > 0
    assert wrong.any()
    assert (after[wrong] > before[wrong]).all()
    assert (after[right] < before[right]).all()


def test_base_is_the_first_weak_ranker(small) -> None:
    train = TrainingSet.of(small, small.base_scores)
    model = RankBoost(n_estimators=1, base="run", alpha="binary").fit(small)
    pairs = oracle.pairs(train.labels, train.query_ptr, train.weights)
    even, _ = oracle.distribution(pairs, np.zeros(small.n_rows))
    grid = np.linspace(0.01, 2.0, 400)
    alpha = grid[np.argmin([oracle.normaliser(pairs, even, train.start_scores, value) for value in grid])]
    D, _ = oracle.distribution(pairs, alpha * train.start_scores)
    ((feature, threshold, missing_left, (_, step)),) = _trees(model)
    right, wrong = oracle.right_and_wrong(pairs, D, _h(small.X[train.order], feature, threshold, missing_left))
    assert step * alpha == pytest.approx(0.5 * np.log(right / wrong), rel=0.05)


def test_every_round_lowers_the_cost(small) -> None:
    train = TrainingSet.of(small, np.zeros(small.n_rows))
    weights = train.weights / [len(oracle.pairs(train.labels, [a, b], [1.0])) for a, b in _bounds(train)]
    objective = PairwiseExponential(train.query_ptr, weights, train.labels)
    for alpha in ("binary", "bisection", "bound"):
        model = RankBoost(n_estimators=20, alpha=alpha).fit(small)
        forest = model.forest_
        costs = [objective.cost(score_rows(_head(forest, n), small.X)[train.order]) for n in range(21)]
        assert (np.diff(costs) < 0).all()
        np.testing.assert_allclose(forest.gain, -np.diff(np.log(costs)), rtol=1e-6)


def _bounds(train):
    return zip(train.query_ptr[:-1], train.query_ptr[1:], strict=True)


def _head(forest, n):
    stored = plain(forest)
    two = {"node_ptr": n + 1, "leaf_ptr": n + 1, "leaf_value": 2 * n, "leaf_count": 2 * n}
    stored = {name: values[: two.get(name, n)] for name, values in stored.items() if values is not None}
    return restored(Forest, stored)


def test_alpha_is_bounded_where_a_feature_is_perfect() -> None:
    data = ranking_data(6, n_queries=4, n_features=3, missing=0.0)
    X = np.column_stack([data.labels, data.X[:, 0]]).astype(np.float32)
    result = replace(data, X=X, feature_names=("label", "other"), labels=(data.labels > 0).astype(float))
    for alpha in ("binary", "bisection", "bound"):
        model = RankBoost(n_estimators=1, alpha=alpha).fit(result)
        assert model.forest_.leaf_value[1] == pytest.approx(LARGEST_ALPHA)


def test_what_is_only_missing_or_there_is_a_weak_ranker(small) -> None:
    X = np.where(small.labels[:, None] > 0, np.nan, 1.0).astype(np.float32)
    model = RankBoost(n_estimators=1).fit(replace(small, X=X, feature_names=("a",)))
    scores = model.predict(replace(small, X=X, feature_names=("a",)))
    assert scores[small.labels > 0].min() > scores[small.labels == 0].max()


def test_parameters_that_cannot_be_are_refused(small) -> None:
    with pytest.raises(InvalidInputError, match=r"alpha: expected a known name, got 'bisect'\. Did you mean 'bisecti"):
        RankBoost(alpha="bisect").fit(small)
    with pytest.raises(InvalidInputError, match="max_bin: expected 2 to 255, got 300"):
        RankBoost(max_bin=300).fit(small)
    with pytest.raises(InvalidInputError, match="got only constant ones"):
        RankBoost().fit(replace(small, X=np.ones_like(small.X)))
    with pytest.raises(InvalidInputError, match="expected a query with documents of different labels"):
        RankBoost().fit(replace(small, labels=np.ones(small.n_rows)))

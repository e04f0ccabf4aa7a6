"""Random directions in weight space."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import evaluate
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.lambdarank import LambdaRank
from rerank.rankers.local_optimality import local_optimality
from rerank.rankers.logistic_regression import LogisticRegression
from rerank.rankers.plackett_luce import PlackettLuce
from rerank.rankers.ranknet import RankNet
from rerank.rankers.ranksvm import RankSVM

SMALL = {"n_estimators": 20, "num_leaves": 6, "min_child_samples": 5, "n_jobs": 1}


class Linear:
    """One weight a feature."""

    def __init__(self, weights) -> None:
        self._weights = np.asarray(weights, dtype=np.float64)

    def weights(self):
        return self._weights.copy()

    def with_weights(self, weights):
        return Linear(weights)

    def predict(self, X, *, init_score=None, base=None):
        return np.nan_to_num(X.X) @ self._weights


def test_shares_that_are_none_are_refused(train) -> None:
    with pytest.raises(InvalidInputError, match=r"p0 below 1, n whole, got 459, 0\.01 and 1\.0"):
        local_optimality(Linear([1.0]), train, "nDCG@10", p0=1.0)


def _with_label(data, n_noise: int = 3):
    """The label as a feature, and noise beside it."""
    noise = np.random.default_rng(0).standard_normal((data.n_rows, n_noise))
    X = np.column_stack([data.labels, noise]).astype(np.float32)
    return replace(data, X=X, feature_names=("label", *(f"noise{number}" for number in range(n_noise))))


def test_a_perfect_model_is_at_an_optimum(train) -> None:
    result = local_optimality(Linear([1.0, 0, 0, 0]), _with_label(train), "nDCG@10", n=459, step=1.0)
    assert result.rises == 0
    assert result.falls + result.unchanged == 459
    assert result.falls > 440
    assert result.best <= result.value
    assert result.confidence == pytest.approx(1 - 0.99**result.falls)
    assert result.confidence > 0.98


def test_directions_that_change_nothing_are_no_evidence(train) -> None:
    """Burges 2010, section 4.2, asks for a fall in every direction."""
    perfect = replace(train, X=train.labels[:, None].astype(np.float32), feature_names=("label",))
    still = local_optimality(Linear([1.0]), perfect, "nDCG@10", n=459)
    assert (still.rises, still.falls, still.unchanged, still.confidence) == (0, 0, 459, 0.0)
    worst = local_optimality(Linear([-1.0]), perfect, "RR@1", n=459)
    assert (worst.value, worst.confidence) == (0.0, 0.0)
    some = local_optimality(Linear([1.0, 0, 0, 0]), _with_label(train), "nDCG@10", n=60, step=0.3)
    assert some.rises == 0
    assert some.falls > 0
    assert some.unchanged > 0
    assert some.confidence == pytest.approx(1 - 0.99**some.falls)


@pytest.mark.parametrize("ranker", [LambdaMART, LambdaRank, RankSVM])
def test_confidence_counts_falls_alone(train, ranker) -> None:
    given = {LambdaMART: SMALL, LambdaRank: {"n_epochs": 2}, RankSVM: {}}[ranker]
    model = ranker(**given).fit(train)
    for weights in (model.weights(), -model.weights()):
        result = local_optimality(model.with_weights(weights), train, "RR@1", n=40, step=0.02)
        assert result.rises + result.falls + result.unchanged == 40
        assert result.confidence == (0.0 if result.rises else pytest.approx(1 - 0.99**result.falls))


def test_a_direction_that_helps_is_found(train) -> None:
    result = local_optimality(Linear([0.0, 0.0, 1.0, 0, 0, 0, 0, 0]), train, "nDCG@10", n=50, step=0.2)
    assert result.rises > 10
    assert result.falls > 0
    assert result.best > result.value
    assert result.confidence == 0.0
    assert result.rises + result.falls <= 50


@pytest.mark.parametrize("base", [None, "run"])
def test_leaf_values_of_a_forest_are_its_weights(train, base) -> None:
    model = LambdaMART(**SMALL, base=base).fit(train)
    same = model.with_weights(model.weights())
    np.testing.assert_array_equal(same.predict(train), model.predict(train))
    start = train.base_scores if base else 0.0
    doubled = model.with_weights(2 * model.weights()).predict(train)
    np.testing.assert_allclose(doubled - start, 2 * (model.predict(train) - start), atol=1e-9)
    result = local_optimality(model, train, "nDCG@10", n=40, step=0.2)
    assert result.falls > 0
    assert result == local_optimality(model, train, "nDCG@10", n=40, step=0.2)
    assert model.weights().shape == (model.forest_.leaf_ptr[-1],)


def test_what_cannot_be_moved_is_refused(train) -> None:
    model = LambdaMART(**SMALL).fit(train)
    with pytest.raises(InvalidInputError, match=r"expected one with weights\(\)/with_weights\(\), got str"):
        local_optimality("model", train, "AP")
    for n in (0, True, 2.5):
        with pytest.raises(InvalidInputError, match=f"n, step, p0: expected finite numbers .*, n whole, got {n},"):
            local_optimality(model, train, "AP", n=n)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="weights other than 0"):
        local_optimality(Linear(np.zeros(8)), train, "AP")
    with pytest.raises(InvalidInputError, match=r"weights: expected \d+ numbers, got shape \(2,\)"):
        model.with_weights([1.0, 2.0])
    with pytest.raises(InvalidInputError, match="expected labels, got none"):
        local_optimality(model, replace(train, labels=None), "AP")


@pytest.mark.parametrize("ranker", [RankNet, LambdaRank, RankSVM, PlackettLuce, LogisticRegression])
def test_weights_of_nets_and_linear_rankers_are_moved(train, ranker) -> None:
    model = ranker(**({"n_epochs": 2} if ranker in (RankNet, LambdaRank) else {})).fit(train)
    kept = model.weights().copy()
    result = local_optimality(model, train, "nDCG@10", n=30, step=0.1)
    assert result.rises + result.falls > 20
    assert result.value == pytest.approx(evaluate(_judgements(train), model.rank(train), ["nDCG@10"])["nDCG@10"])
    np.testing.assert_array_equal(model.weights(), kept)
    same = model.with_weights(kept)
    np.testing.assert_array_equal(same.predict(train), model.predict(train))


def _judgements(data) -> dict[str, dict[str, int]]:
    rows = {query_id: data.rows(query_id) for query_id in data}
    return {
        query_id: dict(zip(data.doc_ids[here].tolist(), data.labels[here].astype(int).tolist(), strict=True))
        for query_id, here in rows.items()
    }

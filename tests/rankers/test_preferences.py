"""What holds for every ranker that learns from preference pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.rankers.ensemble import Ensemble
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.mart import MART
from rerank.rankers.rankboost import RankBoost
from rerank.rankers.ranker import Ranker, read_model
from rerank.rankers.ranknet import RankNet
from rerank.rankers.registry import known_rankers
from rerank.types import RankingData
from tests.rankers.conftest import ranking_data
from tests.rankers.test_lambdamart import ndcg

TREES: dict[str, Any] = {"n_estimators": 10, "num_leaves": 6, "min_child_samples": 5, "n_jobs": 1}
RANKERS = {
    "ranknet": lambda: RankNet(n_epochs=8, hidden_units=8, learning_rate=0.01),
    "lambdamart": lambda: LambdaMART(**TREES),
    "mart": lambda: MART(**TREES, objective="ranknet"),
    "mart-exponential": lambda: MART(**TREES, objective="exponential"),
    "rankboost": lambda: RankBoost(n_estimators=20),
    "rankboost-bisection": lambda: RankBoost(n_estimators=20, alpha="bisection"),
}
ALL = pytest.mark.parametrize("name", RANKERS)
FROM_LABELS = pytest.mark.parametrize("name", sorted(set(RANKERS) - {"lambdamart"}))
Pairs = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def data() -> RankingData:
    return ranking_data(9, n_queries=30)


def _pairs(data: RankingData, wrong_share: float = 0.0) -> Pairs:
    """All pairs of documents with different labels, some of them the wrong way round."""
    random, pairs = np.random.default_rng(0), []
    for query_id in data:
        rows = data.rows(query_id)
        labels, ids = data.labels[rows], data.doc_ids[rows].tolist()
        for i, j in zip(*np.nonzero(labels[:, None] > labels), strict=True):
            x, y = (ids[j], ids[i]) if random.random() < wrong_share else (ids[i], ids[j])
            pairs.append((query_id, x, y))
    return pairs


def _learned(name: str, data: RankingData, pairs: Pairs, **given: Any) -> Ranker:
    return RANKERS[name]().set_params(**given).fit(data, preferences=pairs)


def test_every_ranker_that_takes_preferences_is_held_to_these_laws() -> None:
    able = {name for name, known in known_rankers().items() if known.learns_from_pairs}
    assert able == {name.partition("-")[0] for name in RANKERS}


@pytest.mark.slow("5 s: ten trainings")
@FROM_LABELS
def test_pairs_of_all_labels_teach_what_the_labels_teach(name, data, test) -> None:
    expected = RANKERS[name]().fit(data).predict(test)
    actual = _learned(name, replace(data, labels=None), _pairs(data)).predict(test)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-9)


def test_lambdamart_from_pairs_is_boosted_trees_on_ranknets_cost(data, test) -> None:
    pairs = _pairs(data, 0.2)
    one, other = (_learned(name, data, pairs).predict(test) for name in ("lambdamart", "mart"))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@ALL
def test_ranker_learns_from_pairs_that_contradict_each_other(name, data, test) -> None:
    model = _learned(name, replace(data, labels=None), _pairs(data, 0.25))
    assert ndcg(test, model.predict(test)) > ndcg(test, test.base_scores) + 0.005
    undecided = [pair for query_id, x, y in _pairs(data) for pair in ((query_id, x, y), (query_id, y, x))]
    assert np.ptp(_learned(name, data, undecided).predict(test)) == pytest.approx(0.0, abs=1e-9)


@ALL
def test_ranker_starts_from_a_base_and_stops_on_labels(name, data, valid, test, tmp_path) -> None:
    model = RANKERS[name]().set_params(base="run").fit(data, preferences=_pairs(data), eval_set=valid)
    assert max(model.evals_result_["valid"]["nDCG@10"]) > model.evals_result_["valid"]["nDCG@10"][0]
    assert ndcg(test, model.predict(test)) > ndcg(test, test.base_scores)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(read_model(tmp_path / "model.json").predict(test), model.predict(test))


@ALL
def test_a_probability_is_a_share_of_repeated_pairs(name, data, test) -> None:
    pairs = _pairs(data)
    four = [pair for query_id, x, y in pairs for pair in [(query_id, x, y)] * 3 + [(query_id, y, x)]]
    measured = [(*pair, 0.75) for pair in pairs for _ in range(4)]
    actual, expected = (_learned(name, data, some).predict(test) for some in (measured, four))
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-9)


@ALL
def test_orders_of_pairs_and_queries_make_no_difference(name, data) -> None:
    pairs = _pairs(data, 0.2)
    random = np.random.default_rng(0)
    mixed = [pairs[position] for position in random.permutation(len(pairs))]
    queries = random.permutation(len(data))
    expected = _learned(name, data, pairs).predict(data)
    for other, some in ((data, mixed), (data.select(queries), pairs)):
        actual = _learned(name, other, some, n_jobs=2).predict(data)
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


@ALL
def test_labels_and_queries_of_weight_zero_are_not_looked_at(name, data) -> None:
    pairs, half = _pairs(data), np.arange(len(data)) < 15
    plain = _learned(name, data, pairs).predict(data)
    np.testing.assert_array_equal(_learned(name, replace(data, labels=data.labels[::-1]), pairs).predict(data), plain)
    coarse = replace(data, X=np.round(data.X), weights=half.astype(float))
    kept = [pair for pair in pairs if half[data.query_ids.tolist().index(pair[0])]]
    actual, expected = (_learned(name, coarse, some).predict(data) for some in (pairs, kept))
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-9)


def test_a_ranker_of_pairs_learns_from_labels_inside_an_ensemble(data) -> None:
    members = "ranknet(n_epochs=2), lambdamart(n_estimators=3), rankboost(n_estimators=3)"
    model = Ensemble(members, n_folds=2, n_estimators=3, n_jobs=1).fit(data)
    assert [member.kind for member in model.members_] == ["ranknet", "lambdamart", "rankboost"]


@ALL
def test_preferences_that_cannot_be_learned_from_are_refused(name, data) -> None:
    with pytest.raises(InvalidInputError, match="preferences: expected pairs of documents that the training data hold"):
        _learned(name, data, [("q0", "none", "nothing")])
    qid = np.repeat(np.arange(len(data)), np.diff(data.query_ptr))
    with pytest.raises(InvalidInputError, match="preferences: expected the data as RankingData"):
        RANKERS[name]().fit(data.X, data.labels, qid=qid, preferences=[("q0", "a", "b")])
    with pytest.raises(InvalidInputError, match=r"expected .*, got none"):
        _learned(name, replace(data, weights=np.zeros(len(data))), _pairs(data))


def test_parameters_that_ask_for_labels_are_refused(data) -> None:
    with pytest.raises(InvalidInputError, match="objective: expected ranknet or exponential beside preferences"):
        MART(**TREES).fit(data, preferences=_pairs(data))
    with pytest.raises(InvalidInputError, match="step: expected 'fixed' with preferences, got 'line-search'"):
        LambdaMART(**TREES, step="line-search").fit(data, preferences=_pairs(data))

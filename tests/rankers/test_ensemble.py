"""Rankers joined by a second stage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import evaluate
from rerank.metrics.registry import parse_measure
from rerank.objectives.lambdarank import lambdarank_for
from rerank.rankers.combination import read_members, spell_members
from rerank.rankers.ensemble import Ensemble, newton_step
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import read_model
from rerank.rankers.training_context import ALONE
from rerank.rankers.training_set import TrainingSet
from rerank.types import Qrels, query_rows

TREES = "2*lambdamart(n_estimators=15, num_leaves=6, subsample=0.5), lambdamart(n_estimators=5, num_leaves=3)"
SMALL = {"members": TREES, "n_estimators": 15, "n_jobs": 1}


def ndcg(data, model) -> float:
    qrels = Qrels.from_rows(data.query_ids[query_rows(data.query_ptr)], data.doc_ids, data.labels)
    return evaluate(qrels, model.rank(data), ["nDCG@10"])["nDCG@10"]


@pytest.mark.parametrize("second", ["linear", "boosted"])
@pytest.mark.parametrize("base", [None, "run"])
def test_ensemble_learns_and_comes_back_whole(train, valid, test, tmp_path, second, base) -> None:
    model = Ensemble(**SMALL, second=second, base=base).fit(train, eval_set=valid)
    alone = [LambdaMART(n_estimators=5, num_leaves=3, base=base, n_jobs=1).fit(train)]
    assert ndcg(test, model) > max(ndcg(test, each) for each in alone) - 0.01
    assert model.best_iteration_ <= 15
    assert max(model.evals_result_["valid"]["nDCG@10"]) == pytest.approx(ndcg(valid, model), abs=2e-3)
    model.save(tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(test), model.predict(test))
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_ensemble_is_the_same_for_any_order_of_queries_and_threads(train) -> None:
    order = np.random.default_rng(0).permutation(len(train))
    one = Ensemble(**SMALL).fit(train)
    two = Ensemble(**{**SMALL, "n_jobs": 2}).fit(train.select(order))
    np.testing.assert_allclose(one.weights_, two.weights_, rtol=1e-9)
    assert one.members_[0].to_dict()["learned"] == two.members_[0].to_dict()["learned"]


def test_second_stage_learns_from_held_out_scores(train) -> None:
    """A member that memorises the training labels is no better on other queries, and gets little weight."""
    random = np.random.default_rng(0)
    noise = random.standard_normal(train.n_rows).astype(np.float32)
    data = replace(train, X=np.column_stack([train.X[:, :2], noise]), feature_names=("a", "b", "noise"))
    by_heart = LambdaMART(n_estimators=150, num_leaves=60, min_child_samples=1, learning_rate=0.3)
    sober = LambdaMART(n_estimators=20, num_leaves=4)
    model = Ensemble([by_heart, sober], n_jobs=1).fit(data)
    shares = model._shares(data.X).std(axis=0) * np.abs(model.weights_)
    assert shares[1] > shares[0]


def _stage(train, factor=1.0, shift=0.0, warm=False, columns=3):
    """The linear stage on some features as members' scores, each times a factor, plus a constant."""
    start = train.base_scores if warm else np.zeros(train.n_rows)
    rows = TrainingSet.of(train, start)
    scores = np.nan_to_num(rows.X[:, :columns]) * np.asarray(factor) + np.asarray(shift)
    scores = scores.astype(np.float32)
    stage = Ensemble(n_estimators=30, learning_rate=0.3)
    stage._learn_weights(replace(rows, X=scores), None, ALONE, np.empty(0, np.int64))
    return stage


@pytest.mark.parametrize("warm", [False, True])
def test_linear_stage_does_not_depend_on_constants_added_to_members(train, warm) -> None:
    plain, shifted = _stage(train, warm=warm), _stage(train, shift=[64.0, 0.0, -8.0], warm=warm)
    np.testing.assert_allclose(shifted.weights_, plain.weights_, rtol=1e-4)
    assert plain.best_iteration_ > 0


@pytest.mark.parametrize("warm", [False, True])
def test_linear_stage_does_not_depend_on_scales_of_members(train, warm) -> None:
    factors = np.array([8.0, 1.0, 1 / 32])
    plain, scaled = _stage(train, warm=warm), _stage(train, factor=factors, warm=warm)
    np.testing.assert_allclose(scaled.weights_ * factors, plain.weights_, rtol=1e-9)


def test_newton_step_does_not_depend_on_scales(train) -> None:
    rows = TrainingSet.of(train, train.base_scores)
    inputs = np.nan_to_num(rows.X[rows.order, :3]).astype(np.float64)
    objective = lambdarank_for(parse_measure("nDCG@10"), rows.lists, rows.weights)
    weights, factors = np.array([0.3, 0.1, -0.2]), np.array([8.0, 1.0, 1 / 32])
    plain = newton_step(objective, inputs, weights)
    other = newton_step(objective, inputs * factors, weights / factors)
    np.testing.assert_allclose(other * factors, plain, rtol=1e-9)


def test_a_member_with_one_score_for_all_is_without_effect(train) -> None:
    plain, more = _stage(train, columns=2), _stage(train, factor=[1.0, 1.0, 0.0], shift=[0.0, 0.0, 1000.1])
    assert np.isfinite(more.weights_).all()
    rows = np.nan_to_num(train.X[:, :2]).astype(np.float64)
    ratio = more.weights_[1] / more.weights_[0]
    assert ratio == pytest.approx(plain.weights_[1] / plain.weights_[0], rel=0.2)
    assert (rows @ more.weights_[:2]).std() > 0.0


def test_members_are_read_from_text_and_spelled_again() -> None:
    members = read_members("3*lambdamart(num_leaves=7), lambdamart", {"metric": "AP", "random_state": 5, "no": 1})
    assert [member.random_state for member in members] == [5, 6, 7, 5]
    assert [member.num_leaves for member in members] == [7, 7, 7, None]
    assert {member.metric for member in members} == {"AP"}
    again = read_members(spell_members(members), {})
    assert [member.get_params() for member in again] == [member.get_params() for member in members]


def test_members_with_a_new_seed_each_are_read_from_text() -> None:
    members = read_members("2*lambdamart(random_state=None)", {"random_state": 5})
    assert [member.random_state for member in members] == [None, None]


def test_copy_of_an_ensemble_has_members_of_its_own() -> None:
    ensemble = Ensemble([LambdaMART(num_leaves=5)], second="boosted")
    copy = ensemble.unfitted_copy()
    assert copy.second == "boosted"
    assert copy.members[0].num_leaves == 5
    assert copy.members[0] is not ensemble.members[0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"members": "lambdamrat"}, "Did you mean 'lambdamart'"),
        ({"members": "2*"}, "members: expected rankers such as"),
        ({"members": "0*lambdamart"}, "members: expected rankers such as"),
        ({"members": "lambdamart(7)"}, "members: expected rankers such as"),
        ({"members": "lambdamart(subsample=0.5, subsample=0.7)"}, "members: expected rankers such as"),
        ({"members": "lambdamart(random_state=x)"}, "members.random_state: expected a whole number .*got 'x'"),
        ({"members": "lambdamart(num_leaves=x)"}, "members.num_leaves: expected a whole number .*got 'x'"),
        ({"members": "lambdamart(start=bas)"}, "members.start: expected weighted or base, got 'bas'"),
        ({"members": "lambdamart(num_leaves=)"}, "members: expected rankers such as"),
        (
            {"members": "lambdamart(leaves=3)"},
            "members: lambdamart: expected a known parameter, got 'leaves'. Did you mean 'num_leaves'?",
        ),
        ({"members": "lambdamart(base='run')"}, "members: lambdamart: expected a known parameter, got 'base'"),
        ({"members": [LambdaMART(base="run")]}, "all without a base of their own"),
        ({"members": []}, "members: expected at least one ranker"),
        ({"second": "deep"}, "second: expected linear or boosted, got 'deep'"),
        ({"n_folds": 1}, "n_folds: expected 2 folds or more and a query for each, got 1 for 60"),
    ],
)
def test_parameters_that_cannot_be_are_refused(train, parameters, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Ensemble(**{**SMALL, **parameters}).fit(train)


def test_members_of_a_warm_started_ensemble_are_those_of_a_cold_one(train) -> None:
    warm, cold = (Ensemble("lambdamart(n_estimators=2)", base=base, n_jobs=1).fit(train) for base in ("run", None))
    assert warm.members_[0].to_dict()["learned"] == cold.members_[0].to_dict()["learned"]


def test_the_winner_of_the_yahoo_challenge_can_be_expressed(train, valid, test, tmp_path) -> None:
    """8 LambdaMART ensembles, 2 LambdaRank nets and 2 logistic regressions."""
    text = (
        "8*lambdamart(n_estimators=4, num_leaves=4, subsample=0.5), 2*lambdarank(n_epochs=2, hidden_units=4), "
        "2*logisticregression"
    )
    model = Ensemble(text, base="run", n_folds=2, n_estimators=10, n_jobs=1).fit(train, eval_set=valid)
    assert [member.kind for member in model.members_].count("lambdamart") == 8
    assert [member.kind for member in model.members_].count("lambdarank") == 2
    assert [member.kind for member in model.members_].count("logisticregression") == 2
    assert model.weights_.shape == (12,)
    assert (
        len({str(member.to_dict()["learned"]) for member in model.members_}) >= 11
    )  # the logistic regressions are one
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(read_model(tmp_path / "model.json").predict(test), model.predict(test))

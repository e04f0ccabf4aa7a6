"""Rankers joined by a second stage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.evaluation.evaluate import evaluate
from rerank.rankers.ensemble import Ensemble
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.members import read_members, spell_members
from rerank.rankers.store import load_model
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
    again = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(test), model.predict(test))
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_ensemble_is_the_same_for_any_order_of_queries_and_threads(train) -> None:
    order = np.random.default_rng(0).permutation(len(train))
    one = Ensemble(**SMALL).fit(train)
    two = Ensemble(**{**SMALL, "n_jobs": 2}).fit(train.select(order))
    np.testing.assert_allclose(one.stage_.weights_, two.stage_.weights_, rtol=1e-9)
    assert one.members_[0]._learned() == two.members_[0]._learned()


def test_second_stage_learns_from_held_out_scores(train) -> None:
    """A member that learns the labels by heart says nothing about other queries, and gets little weight."""
    random = np.random.default_rng(0)
    noise = random.standard_normal(train.n_rows).astype(np.float32)
    data = replace(train, X=np.column_stack([train.X[:, :2], noise]), feature_names=("a", "b", "noise"))
    by_heart = LambdaMART(n_estimators=150, num_leaves=60, min_child_samples=1, learning_rate=0.3)
    sober = LambdaMART(n_estimators=20, num_leaves=4)
    model = Ensemble([by_heart, sober], n_jobs=1).fit(data)
    shares = model._shares(data.X).std(axis=0) * np.abs(model.stage_.weights_)
    assert shares[1] > shares[0]


def test_members_are_read_from_text_and_spelled_again() -> None:
    members = read_members("3*lambdamart(num_leaves=7), lambdamart", {"metric": "AP", "random_state": 5, "no": 1})
    assert [member.random_state for member in members] == [5, 6, 7, 5]
    assert [member.num_leaves for member in members] == [7, 7, 7, 31]
    assert {member.metric for member in members} == {"AP"}
    again = read_members(spell_members(members), {})
    assert [member.get_params() for member in again] == [member.get_params() for member in members]


def test_ensemble_is_an_estimator_of_scikit_learn() -> None:
    copy = clone(Ensemble([LambdaMART(num_leaves=5)], second="boosted"))
    assert copy.second == "boosted"
    assert copy.members[0].num_leaves == 5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"members": "lambdamrat"}, "did you mean 'lambdamart'"),
        ({"members": "2*"}, "members: expected rankers such as"),
        ({"members": "0*lambdamart"}, "members: expected rankers such as"),
        ({"members": "lambdamart(7)"}, "members: expected rankers such as"),
        ({"members": "lambdamart(num_leaves=x)"}, "members: expected rankers such as"),
        ({"members": "lambdamart(leaves=3)"}, "members: expected parameters of lambdamart, found 'leaves'"),
        ({"members": "lambdamart(base='run')"}, "members: expected parameters of lambdamart, found 'base'"),
        ({"members": [LambdaMART(base="run")]}, "all without a base of their own"),
        ({"members": []}, "members: expected at least one ranker"),
        ({"second": "deep"}, "second: expected linear or boosted, found 'deep'"),
        ({"n_folds": 1}, "n_folds: expected 2 to 60"),
    ],
)
def test_parameters_that_cannot_be_are_refused(train, parameters, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Ensemble(**{**SMALL, **parameters}).fit(train)


def test_a_member_of_a_warm_started_ensemble_asks_for_its_base(train) -> None:
    model = Ensemble("lambdamart(n_estimators=2)", base="run", n_jobs=1).fit(train)
    with pytest.raises(ModelMismatchError, match="pass init_score="):
        model.members_[0].predict(train)


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
    assert model.stage_.weights_.shape == (12,)
    assert len({str(member._learned()) for member in model.members_}) >= 11  # the logistic regressions are one
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(test), model.predict(test))

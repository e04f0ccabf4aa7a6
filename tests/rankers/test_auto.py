"""The ranker that held-out queries choose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.rankers.auto import Auto
from rerank.rankers.combination import binned_for
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.training_set import TrainingSet
from tests.rankers.conftest import ranking_data
from tests.rankers.test_laws import ndcg

MEMBERS = "logisticregression, lambdamart(n_estimators=10, num_leaves=4, min_child_weight=0.1)"


def test_auto_is_the_base_ranker_where_no_feature_tells_more(train, test) -> None:
    noise = np.random.default_rng(0).standard_normal(train.X.shape).astype(np.float32)
    model = Auto(members=MEMBERS, base="run").fit(replace(train, X=noise))
    assert (model.chosen_, model.members_) == ("base", [])
    np.testing.assert_array_equal(model.predict(test), test.base_scores)
    assert model.features_read() == set()


def test_auto_takes_all_members_together_unless_one_is_clearly_better(train) -> None:
    together = Auto(members=MEMBERS).fit(train)
    assert together.chosen_ == "member 1 + member 2"
    constant = "lambdamart(n_estimators=1, min_child_samples=1000000)"
    alone = Auto(members=f"{MEMBERS.split(',')[0]}, {constant}").fit(train)
    assert alone.choices_["member 1"] >= alone.choices_["member 2"]


def test_auto_without_eval_set_learns_from_all_queries(train) -> None:
    """Each member that is taken is the one that learns from all queries, in the unit of the base."""
    model = Auto(members=MEMBERS).fit(train)
    alone = LambdaMART(n_estimators=10, num_leaves=4, min_child_weight=0.1).fit(train)
    np.testing.assert_array_equal(model.members_[1]._scores(train.X), alone.predict(train))


def test_auto_weighs_members_by_their_deviation_inside_queries(train) -> None:
    model = Auto(members=MEMBERS).fit(train)
    members = model._new_members(len(train))
    data = binned_for(members, TrainingSet.of(train, np.zeros(train.n_rows)))
    held_out, _ = model._cross_validated(data, members)
    deviations = []
    for scores in held_out.T:
        parts = np.split(scores, data.query_ptr[1:-1])
        deviations.append(np.sqrt(np.concatenate([(part - part.mean()) ** 2 for part in parts]).mean()))
    np.testing.assert_allclose(model.weights_[0] / model.weights_[1], deviations[1] / deviations[0], rtol=1e-9)
    assert model.weights_.sum() == pytest.approx(1.0)


def test_auto_bins_rows_once_where_its_trees_have_the_same_number_of_bins(train) -> None:
    data = TrainingSet.of(train, np.zeros(train.n_rows))
    members = [LambdaMART(max_bin=7), LambdaMART(max_bin=7, num_leaves=4)]
    queries = np.array([0, 2])
    part, alone = binned_for(members, data).select(queries), data.select(queries)
    assert part.binned.max_bin == 7
    assert part.binned.n_rows == len(part.order)
    np.testing.assert_array_equal(part.X, alone.X)
    assert binned_for([*members, LambdaMART()], data).binned is None


def test_trees_are_stopped_alike_by_rows_that_were_binned_with_theirs_and_by_others(train) -> None:
    binned = binned_for([LambdaMART()], TrainingSet.of(train, np.zeros(train.n_rows)))
    rest, part = binned.select(np.arange(2, len(train))), binned.select(np.arange(2))
    curves = []
    for valid in (part, replace(part, binned=None)):
        model = LambdaMART(n_estimators=20, num_leaves=4, min_child_weight=0.1)
        model._learn(rest, valid)
        curves.append(model.evals_result_)
    assert curves[0] == curves[1]
    assert len(np.unique(curves[0]["valid"]["nDCG@10"])) > 1


def test_auto_finds_the_number_of_trees_in_the_folds(train) -> None:
    model = Auto(members="lambdamart(num_leaves=4)", early_stopping_rounds=5).fit(train)
    assert 1 <= len(model.members_[0].forest_.node_ptr) - 1 < 500


def test_auto_is_no_worse_than_its_members_on_average(test) -> None:
    gains = []
    for seed in range(3):
        data = ranking_data(10 + seed, n_queries=40)
        model = Auto(members=MEMBERS, base="run").fit(data)
        gains.append(ndcg(test, model.predict(test)) - ndcg(test, test.base_scores))
    assert np.mean(gains) > 0.05


def test_auto_refuses_fewer_queries_than_folds(train) -> None:
    with pytest.raises(InvalidInputError, match=r"n_folds: expected 2 folds or more and a query for each, got 5 for 3"):
        Auto(members=MEMBERS, n_folds=5).fit(train.select(range(3)))

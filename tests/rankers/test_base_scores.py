"""The weight with which a base's scores are added to what was learned without them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.metrics.registry import parse_measure
from rerank.rankers.base_weight import NAMES, RATIOS, BaseWeight, WeightedBase
from rerank.rankers.boosted import sizes_of
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import read_model
from rerank.rankers.registry import ranker_class
from rerank.rankers.training_set import TrainingSet, without_start
from rerank.trees.content import bin_rows
from tests.rankers.test_laws import ndcg

SMALL = {"n_estimators": 20, "num_leaves": 8, "min_child_samples": 5, "n_jobs": 1}
TREES = ("lambdamart", "mart", "gbrank", "logistrank")


@pytest.mark.parametrize("name", TREES)
def test_trees_of_a_warm_start_are_those_of_a_cold_one_times_a_factor(name, train) -> None:
    warm, cold = (ranker_class(name)(**SMALL, base=base).fit(train) for base in ("run", None))
    np.testing.assert_array_equal(warm.forest_.threshold, cold.forest_.threshold)
    np.testing.assert_array_equal(warm.forest_.leaf_value, warm.base_weight_.factor * cold.forest_.leaf_value)


@pytest.mark.parametrize("name", TREES)
def test_held_out_scores_of_queries_do_not_depend_on_their_labels(name, train) -> None:
    rows = without_start(TrainingSet.of(train, np.zeros(train.n_rows)))
    data = bin_rows(rows.X, rows.order, 255, 1)
    model = ranker_class(name)(**SMALL)
    model._sizes, half = sizes_of(model, len(rows.weights), len(rows.order)), model._halves(rows)
    before = model._held_out_scores(rows, half, data)
    for query in (0, 7):
        labels = rows.labels.copy()
        own = slice(rows.query_ptr[query], rows.query_ptr[query + 1])
        labels[own] = labels.max() - labels[own]
        after = model._held_out_scores(replace(rows, labels=labels), half, data)
        np.testing.assert_array_equal(after[own], before[own])
        assert (after != before).any()


def test_measures_of_the_choice_are_those_of_the_sums(train) -> None:
    rows, learned = TrainingSet.of(train, train.base_scores), np.random.default_rng(0).standard_normal(train.n_rows)
    spread = np.sqrt(np.mean([np.sort(part)[-30:].var() for part in np.split(learned, rows.query_ptr[1:-1])]))
    of_base = np.sqrt(
        np.mean([np.sort(part)[-30:].var() for part in np.split(rows.start_scores, rows.query_ptr[1:-1])])
    )
    chosen = WeightedBase(rows, parse_measure("nDCG@10")).averaged(learned)
    for name, ratio in zip(NAMES, RATIOS, strict=True):
        scores = np.empty(train.n_rows)
        scores[rows.order] = rows.start_scores / of_base + learned / (ratio * spread)
        assert chosen.measures[name] == pytest.approx(ndcg(train, scores), abs=1e-12)
    assert chosen.factor == pytest.approx(of_base / (chosen.ratio * spread), rel=1e-6)


def test_ratios_that_are_equally_good_are_averaged(train) -> None:
    rows = TrainingSet.of(train, train.base_scores)
    same = WeightedBase(rows, parse_measure("nDCG@10")).averaged(rows.start_scores.copy())
    assert len(set(same.measures.values())) == 1
    assert same.ratio == pytest.approx(np.exp(np.log(RATIOS).mean()))


def test_ratios_are_weighed_where_all_queries_differ_by_the_same_amount() -> None:
    labels = np.array([1.0, 0.0, 0.0] * 2)
    pointers = np.array([0, 3, 6])
    rows = TrainingSet(
        np.zeros((6, 1), dtype=np.float32),
        np.arange(6),
        labels,
        pointers,
        np.ones(2),
        np.ones(2),
        np.array([0, 1, 2]),
        np.array([3.0, 1.0, 0.0] * 2),
        np.arange(2),
        ("f0",),
    )
    chosen = WeightedBase(rows, parse_measure("RR")).averaged(np.array([0.0, 2.0, 1.0] * 2))
    assert chosen.measures["10"] == 1.0
    assert 1.0 < chosen.ratio <= 10.0


def test_a_base_that_knows_the_labels_keeps_its_order(train, test) -> None:
    random = np.random.default_rng(0)
    perfect = [
        replace(each, X=random.standard_normal(each.X.shape).astype(np.float32), base_scores=each.labels)
        for each in (train, test)
    ]
    model = LambdaMART(**SMALL, base="run").fit(perfect[0])
    assert model.base_weight_.ratio >= 2.0
    assert ndcg(test, model.predict(perfect[1])) >= ndcg(test, test.labels) - 0.02


def test_a_base_that_knows_nothing_is_nearly_without_effect(train, test) -> None:
    noise = [replace(each, base_scores=np.random.default_rng(1).random(each.n_rows)) for each in (train, test)]
    model, cold = LambdaMART(**SMALL, base="run").fit(noise[0]), LambdaMART(**SMALL).fit(train)
    assert model.base_weight_.ratio <= 0.4
    assert ndcg(test, model.predict(noise[1])) >= ndcg(test, cold.predict(test)) - 0.02


def test_the_weight_of_validation_data_is_their_best(train, valid) -> None:
    model = LambdaMART(**SMALL, base="run").fit(train, eval_set=valid)
    history = model.evals_result_["valid"]["nDCG@10"]
    assert ndcg(valid, model.predict(valid)) == pytest.approx(max(history), abs=1e-12)
    assert max(model.base_weight_.measures.values()) == pytest.approx(max(history), abs=1e-12)


def test_the_choice_is_stored_with_its_evidence(train, tmp_path) -> None:
    model = LambdaMART(**SMALL, base="run").fit(train)
    model.save(tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    assert again.base_weight_ == model.base_weight_
    assert set(model.base_weight_.measures) == set(NAMES)


def test_one_query_is_learned_from_with_equal_spreads(train) -> None:
    assert LambdaMART(**SMALL, base="run").fit(train.select([0])).base_weight_.ratio == 1.0


def test_halves_of_few_queries_both_have_labels_that_differ(train) -> None:
    for seed in range(8):
        few = train.select(np.arange(6))
        labels = np.where(np.arange(few.n_rows) < few.query_ptr[2], few.labels, 0.0)  # two queries with labels
        few = replace(few, labels=labels, ideal_labels=None, ideal_ptr=None)
        model = LambdaMART(**SMALL, base="run", random_state=seed).fit(few)
        assert model.base_weight_.measures
    one = replace(few, labels=np.where(np.arange(few.n_rows) < few.query_ptr[1], few.labels, 0.0))
    for of_one_query in (one, replace(few, query_groups=np.array([0, 0, 1, 2, 3, 4]))):
        assert not LambdaMART(**SMALL, base="run").fit(of_one_query).base_weight_.measures


def test_halves_of_few_queries_divide_no_near_duplicates(train) -> None:
    few = train.select(np.arange(6))
    labels = np.where(np.arange(few.n_rows) < few.query_ptr[2], few.labels, 0.0)
    few = replace(few, labels=labels, ideal_labels=None, ideal_ptr=None, query_groups=np.array([0, 1, 1, 2, 2, 0]))
    rows = TrainingSet.of(few, np.zeros(few.n_rows))
    for seed in range(8):
        half = LambdaMART(**SMALL, random_state=seed)._halves(rows)
        assert all(len(np.unique(half[rows.groups == group])) == 1 for group in range(3))
        assert half[rows.groups == 0][0] != half[rows.groups == 1][0]  # both have labels that differ


def test_a_base_that_is_worth_queries_weighs_more_with_fewer_of_them(train) -> None:
    rows, learned = TrainingSet.of(train, train.base_scores), np.random.default_rng(0).standard_normal(train.n_rows)
    plain = WeightedBase(rows, parse_measure("nDCG@10")).averaged(learned)
    strong = replace(rows, base_worth=float(len(train)))
    twice = WeightedBase(strong, parse_measure("nDCG@10")).averaged(learned)
    assert twice.ratio == pytest.approx(2.0 * plain.ratio)
    assert twice.factor == pytest.approx(plain.factor / 2.0)
    assert twice.measures == plain.measures


@pytest.mark.parametrize(
    ("measures", "text"),
    [
        ({"0.5": 0.2, "1": 0.3, "2": 0.4}, "on held-out queries 0.4000 at 2, 0.3000 at 1"),
        ({"0.5": 0.2, "1": 0.3}, "on held-out queries 0.3000 at 1"),
        ({}, "no queries held out"),
    ],
)
def test_weight_of_a_base_is_described_with_its_measure(measures: dict[str, float], text: str) -> None:
    assert str(BaseWeight(0.25, 1.0, measures)) == f"weight of the base 0.25 ({text})"

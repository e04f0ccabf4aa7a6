from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from rerank.metrics.registry import parse_measure
from rerank.rankers.coordinate_ascent import Ascent, CoordinateAscent
from rerank.rankers.training_set import TrainingSet
from rerank.rankers.validation import Validation
from rerank.types import pointers
from tests.oracles import coordinate_ascent as oracle
from tests.rankers.conftest import ranking_data


def _few_values(seed):
    """A training set of few values, so that many lines cross in one point, and a direction."""
    random = np.random.default_rng(seed)
    data = ranking_data(seed, n_queries=6, missing=0.0)
    sizes = random.integers(1, 6, len(data))
    rows = np.concatenate([np.arange(first, first + n) for first, n in zip(data.query_ptr, sizes, strict=False)])
    labels = random.integers(0, 3, len(rows)).astype(float)
    small = replace(
        data, X=data.X[rows], labels=labels, doc_ids=data.doc_ids[rows], query_ptr=pointers(sizes), base_scores=None
    )
    train = TrainingSet.of(replace(small, weights=random.integers(0, 3, 6) + 0.5), np.zeros(len(rows)))
    start = random.integers(-3, 4, len(rows)) * random.choice([0.0, 0.5, 1.0])
    return train, start, random.integers(-3, 4, len(rows)).astype(np.float32)


@pytest.mark.parametrize("measure", ["nDCG@3", "AP", "RR@2", "ERR@4", "P@2", "nDCG"])
@given(seed=st.integers(0, 10_000))
@example(seed=1856)  # a step beside 0, where scores are equal
@example(seed=1399)  # a step to a crossing, where scores are equal
def test_ascent_of_one_weight_has_the_largest_gain_between_all_crossings(measure, seed) -> None:
    train, start, slope = _few_values(seed)
    ascent = Ascent(Validation(train, parse_measure(measure)), start, slope[None], np.arange(1))
    least, greatest = oracle.largest_gains(train, parse_measure(measure), start, slope)
    assert least - 1e-9 <= ascent.advance() <= greatest + 1e-9


def test_ascent_gains_in_each_pass_what_it_says(train) -> None:
    rows = TrainingSet.of(train, np.zeros(train.n_rows))
    inputs = np.ascontiguousarray(np.nan_to_num(rows.X[rows.order]).T)
    measure = parse_measure("AP")
    ascent = Ascent(Validation(rows, measure), np.zeros(train.n_rows), inputs, np.arange(len(inputs)))
    before = Validation(rows, measure).value(np.zeros(train.n_rows))
    for _ in range(3):
        gain = ascent.advance()
        after = Validation(rows, measure).value(inputs.T.astype(float) @ ascent.weights)
        assert gain >= 0.0
        assert after - before == pytest.approx(gain, abs=1e-9)
        before = after


@pytest.mark.parametrize("seed", [0, 3, 4, 9])  # where both directions of a weight gain
def test_ascent_keeps_the_weights_of_its_scores(seed) -> None:
    data = ranking_data(seed, n_queries=3, missing=0.0)
    rows = TrainingSet.of(replace(data, base_scores=None), np.zeros(data.n_rows))
    inputs = np.ascontiguousarray(rows.X[rows.order].T)
    training = Validation(rows, parse_measure("nDCG@10"))
    ascent = Ascent(training, np.zeros(data.n_rows), inputs, np.arange(len(inputs)))
    value = training.value(np.zeros(data.n_rows))
    for _ in range(4):
        value += ascent.advance()
        assert training.value(inputs.T.astype(float) @ ascent.weights) == pytest.approx(value, abs=1e-9)


def test_coordinateascent_is_the_mean_of_ascents_in_the_orders_that_are_drawn(train) -> None:
    rows = TrainingSet.of(train, np.zeros(train.n_rows), seed=5)
    model = CoordinateAscent(n_restarts=3, max_iter=1, random_state=5).fit(train)
    inputs = np.ascontiguousarray(model.standardizer_.inputs(rows.X, rows.order, np.float32).T)
    random = np.random.default_rng(5)
    shares = []
    for _ in range(3):
        training = Validation(rows, parse_measure("nDCG@10"))
        ascent = Ascent(training, np.zeros(train.n_rows), inputs, random.permutation(len(inputs)))
        ascent.advance()
        shares.append(ascent.weights / np.linalg.norm(ascent.weights))
    np.testing.assert_allclose(model.weights_, np.mean(shares, axis=0), rtol=1e-12)


@pytest.mark.parametrize("base", [None, "feature:f0"])
def test_coordinateascent_learns_more_than_its_base(train, test, base) -> None:
    model = CoordinateAscent(base=base).fit(train)
    rows = TrainingSet.of(test, np.zeros(test.n_rows))
    value = Validation(rows, parse_measure("nDCG@10")).value
    assert value(model.predict(test)[rows.order]) > value(test.X[rows.order, 0].astype(float)) + 0.02


def test_coordinateascent_keeps_the_best_pass_of_validation_data(train, valid) -> None:
    model = CoordinateAscent(max_iter=4).fit(train, eval_set=valid)
    history = model.evals_result_["valid"]["nDCG@10"]
    assert model.best_iteration_ == int(np.argmax(history))
    rows = TrainingSet.of(valid, np.zeros(valid.n_rows))
    value = Validation(rows, parse_measure("nDCG@10")).value(model.predict(valid)[rows.order])
    assert value == pytest.approx(max(history), abs=1e-12)

"""The exact best alpha of two runs: against a grid, against recomputation, and where scores tie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.combination.line_search import Lines, best_alpha, best_share, order_at
from rerank.combination.mixture import combine
from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import evaluate
from rerank.metrics.base import Measure
from rerank.metrics.registry import parse_measure
from rerank.metrics.structures import RankedLists
from rerank.types import ideal_of_rows, pointers
from tests.oracles.combinations import grid_values, share_values, value_at_share

NAMES = ("nDCG@5", "nDCG(dcg='exp-log2')", "P@3", "R@10", "AP", "AP(rel=2)@8", "RR", "RR@3", "ERR@5", "nERR", "AUC")
GRID = np.linspace(0, 1, 100_001)


@dataclass(frozen=True)
class HitAtThree(Measure):
    """A user's measure, known only by its values."""

    name: ClassVar[str] = "HitAtThree"

    def scores(self, lists: RankedLists) -> np.ndarray:
        parts = np.split(lists.labels, lists.query_ptr[1:-1])
        return np.array([float((part[:3] > 0).any()) + 0.01 * float(part[0] == 2) for part in parts])


def case(seed: int):
    """Three queries whose scores tie often (few whole numbers) or never; weights of the mean."""
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 14, 3)
    if seed % 2:
        a, b = ([random.integers(0, 4, size).astype(float) for size in sizes] for _ in range(2))
    else:
        a, b = ([random.normal(size=size) for size in sizes] for _ in range(2))
    labels = [random.integers(0, 3, size).astype(float) for size in sizes]
    return a, b, labels, random.integers(1, 3, 3).astype(float)


def lines(a, b, labels, weights) -> Lines:
    query_ptr, flat = pointers([len(part) for part in a]), np.concatenate(labels)
    return Lines(query_ptr, np.concatenate(a), np.concatenate(b), flat, weights, *ideal_of_rows(flat, query_ptr))


@pytest.mark.parametrize("seed", range(100))
def test_best_alpha_equals_a_grid_of_100_001_alphas(seed) -> None:
    measure = parse_measure(NAMES[seed % 12]) if seed % 12 < len(NAMES) else HitAtThree()
    a, b, labels, weights = case(seed)
    best = best_alpha(lines(a, b, labels, weights), measure)
    values = grid_values(a, b, labels, weights, measure, GRID)
    inside = np.array([best.low, best.alpha, best.high])
    assert best.low <= best.alpha <= best.high
    result = _at_exactly(lines(a, b, labels, weights), measure, inside)
    np.testing.assert_allclose(result, result[1], atol=1e-12)
    assert result[1] >= values.max() - 1e-12
    if best.high - best.low > 1e-5:  # a grid point lies inside
        assert result[1] == pytest.approx(values.max(), abs=1e-12)
        np.testing.assert_allclose(values[(best.low <= GRID) & (best.high >= GRID)], result[1], atol=1e-12)


def _at_exactly(these: Lines, measure: Measure, alphas) -> np.ndarray:
    results = []
    for alpha in alphas:
        ranked = these.labels[order_at(these, alpha)]
        values = measure.scores(RankedLists(ranked, these.query_ptr, these.ideal_labels, these.ideal_ptr))
        results.append(np.average(values, weights=these.weights))
    return np.array(results)


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_the_measure_is_worse_just_outside_the_interval(seed) -> None:
    these, measure = lines(*case(seed)), parse_measure(NAMES[seed % len(NAMES)])
    best = best_alpha(these, measure)
    inside = _at_exactly(these, measure, [best.alpha])[0]
    outside = [alpha for alpha in (np.nextafter(best.low, -1), np.nextafter(best.high, 2)) if 0 <= alpha <= 1]
    assert (_at_exactly(these, measure, outside) < inside - 1e-12).all()


@pytest.mark.parametrize("seed", range(60))
def test_best_share_is_the_best_of_every_order_that_a_share_makes(seed) -> None:
    measure = parse_measure(NAMES[seed % 12]) if seed % 12 < len(NAMES) else HitAtThree()
    a, b, labels, weights = case(seed)
    if seed % 4 == 0:
        a = [np.round(part) for part in a]  # a tree has few values, and rows of a leaf never cross
    (_, between), (_, at) = share_values(a, b, labels, weights, measure)
    best = best_alpha(lines(a, b, labels, weights), measure, inside=True)
    share = best_share(lines(a, b, labels, weights), measure)
    assert 0.0 < best.low <= best.alpha <= best.high < 1.0
    assert share == pytest.approx(best.alpha / (1.0 - best.alpha))
    assert _at_exactly(lines(a, b, labels, weights), measure, [best.alpha])[0] == pytest.approx(max(between + at))
    if best.low < best.high:
        assert value_at_share(a, b, labels, weights, measure, share) == pytest.approx(max(between + at))


def test_best_share_has_no_upper_bound() -> None:
    """Document 1 passes document 0 at share 4 and stays above it: the share is 1 + 2 * 4."""
    these = lines([np.array([0.0, 1.0])], [np.array([4.0, 0.0])], [np.array([0.0, 1.0])], np.ones(1))
    assert best_share(these, parse_measure("RR")) == pytest.approx(9.0)
    still = lines([np.array([0.0, 0.0])], [np.array([4.0, 0.0])], [np.array([0.0, 1.0])], np.ones(1))
    assert best_share(still, parse_measure("RR")) == pytest.approx(1.0)


@pytest.mark.parametrize("name", NAMES)
def test_best_share_does_not_depend_on_the_unit_of_both_scores(name) -> None:
    a, b, labels, weights = case(2)
    share = best_share(lines(a, b, labels, weights), parse_measure(name))
    scaled = lines([64 * part for part in a], [64 * part for part in b], labels, weights)
    assert best_share(scaled, parse_measure(name)) == share


@pytest.mark.parametrize("alpha", [0.0, 0.25, 1 / 3, 0.5, 0.6180339887, 1.0])
def test_order_at_an_alpha_is_by_score_then_row(alpha) -> None:
    for seed in range(20):
        a, b, labels, weights = case(seed)
        scores = [np.round(alpha * part_a + (1 - alpha) * part_b, 12) for part_a, part_b in zip(a, b, strict=True)]
        starts = pointers([len(part) for part in a])
        slow = [start + np.argsort(-part, kind="stable") for start, part in zip(starts, scores, strict=False)]
        np.testing.assert_array_equal(order_at(lines(a, b, labels, weights), alpha), np.concatenate(slow))


def runs(seed: int):
    """Two runs and judgements with documents and queries that only one of them holds."""
    random = np.random.default_rng(seed)
    queries = [f"q{number}" for number in range(6)]
    docs = [f"d{number}" for number in range(15)]

    def run(left_out: str) -> dict[str, dict[str, float]]:
        drawn = {query: random.permutation(docs)[:10].tolist() for query in queries if query != left_out}
        return {query: {doc: float(random.integers(0, 6)) / 2 for doc in some} for query, some in drawn.items()}

    qrels = {query: {doc: int(random.integers(0, 3)) for doc in docs} for query in queries[:-1]}
    return run("q0"), run("q1"), qrels


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(NAMES))
def test_value_is_what_evaluate_says_of_the_combined_run(seed, name) -> None:
    first, second, qrels = runs(seed)
    result = combine(first, second, qrels, name, n_jobs=1)
    assert result.metric == parse_measure(name).name
    assert result.value == pytest.approx(evaluate(qrels, result.run, [name])[name], abs=1e-12)
    np.testing.assert_array_equal(result.run.trec_order(), np.arange(result.run.n_rows))


@pytest.mark.parametrize("name", ["AP", "nDCG@5"])
def test_combination_is_at_least_as_good_as_either_run(name) -> None:
    for seed in range(20):
        first, second, qrels = runs(seed)
        del first["q1"], second["q0"]  # both hold the same queries
        filled = [
            {query: {**dict.fromkeys(other[query], min(run[query].values())), **run[query]} for query in run}
            for run, other in ((first, second), (second, first))
        ]
        ends = [evaluate(qrels, run, [name])[name] for run in filled]
        assert combine(first, second, qrels, name).value >= max(ends) - 1e-12


def test_scores_are_the_mixture_and_missing_documents_have_the_lowest_score() -> None:
    first = {"q": {"a": 4.0, "b": 2.0}}
    second = {"q": {"b": 3.0, "c": 1.0}, "other": {"x": 2.0}}
    result = combine(first, second, {"q": {"b": 1}}, "RR")
    assert (result.low, result.high, result.value) == (0.0, 0.5, 1.0)  # at 0.5 a and b tie, and b has the larger id
    assert result.alpha == 0.25
    assert result.run["q"] == {"b": 2.75, "a": 1.75, "c": 1.25}
    assert result.run["other"] == {"x": 1.5}


def test_scores_that_float32_would_tie_keep_their_order() -> None:
    first, second = {"q": {"a": 1.0, "b": 1.0 + 2.0**-20}}, {"q": {"a": 1.0 + 2.0**-19, "b": 1.0}}
    result = combine(first, second, {"q": {"a": 1}}, "RR")
    assert result.value == 1.0
    assert result.low == 0.0
    assert result.high == np.nextafter(2 / 3, 0) or result.high == pytest.approx(2 / 3, abs=1e-15)
    narrow = combine(first, second, {"q": {"b": 1}}, "RR")
    assert narrow.low == pytest.approx(2 / 3, abs=1e-15)


def test_interval_is_everything_where_nothing_can_be_won() -> None:
    run = {"q": {"a": 2.0, "b": 1.0}}
    result = combine(run, run, {"q": {"a": 1}}, "nDCG@10")
    assert (result.alpha, result.low, result.high, result.value) == (0.5, 0.0, 1.0, 1.0)
    nothing = combine(run, run, {"q": {"z": 1}}, "nDCG@10")
    assert (nothing.low, nothing.high, nothing.value) == (0.0, 1.0, 0.0)


def test_number_of_threads_makes_no_difference() -> None:
    first, second, qrels = runs(1)
    one, two = (combine(first, second, qrels, "AP", n_jobs=n) for n in (1, 2))
    assert (one.alpha, one.low, one.high, one.value) == (two.alpha, two.low, two.high, two.value)


def test_runs_that_cannot_be_combined_are_refused() -> None:
    run = {"q": {"a": 2.0, "b": 1.0}}
    with pytest.raises(InvalidInputError, match="expected judgements of a query of the runs, got none"):
        combine(run, run, {"p": {"a": 1}}, "AP")
    with pytest.raises(InvalidInputError, match="expected finite numbers in column score, got nan at document 'a'"):
        combine({"q": {"a": float("nan")}}, run, {"q": {"a": 1}}, "AP")
    with pytest.raises(InvalidInputError, match="expected ranked documents, got none"):
        combine({}, {}, {"q": {"a": 1}}, "AP")
    with pytest.raises(InvalidInputError, match="Did you mean"):
        combine(run, run, {"q": {"a": 1}}, "ndgc")

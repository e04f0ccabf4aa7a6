"""The exact best alpha of two runs: against fractions, and where scores tie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import evaluate
from rerank.metrics.base import Measure
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.retrieval.best_alpha import ScoreLines, best_alpha, best_share, order_at
from rerank.retrieval.fusion import combine
from rerank.types import ideal_of_rows, pointers
from tests.oracles.combinations import share_values, value_at_share

NAMES = ("nDCG@5", "nDCG(dcg='exp-log2')", "P@3", "R@10", "AP", "AP(rel=2)@8", "RR", "RR@3", "ERR@5", "nERR", "AUC")


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


def lines(a, b, labels, weights) -> ScoreLines:
    query_ptr, flat = pointers([len(part) for part in a]), np.concatenate(labels)
    return ScoreLines(query_ptr, np.concatenate(a), np.concatenate(b), flat, weights, *ideal_of_rows(flat, query_ptr))


@pytest.mark.parametrize("seed", range(100))
def test_best_alpha_is_the_middle_of_the_widest_best_interval_in_exact_arithmetic(seed) -> None:
    measure = parse_measure(NAMES[seed % 12]) if seed % 12 < len(NAMES) else HitAtThree()
    a, b, labels, weights = case(seed)
    if seed % 4 == 0:
        a = [np.round(part) for part in a]  # a tree has few values, and rows of a leaf never cross
    crossings, at, between = share_values(a, b, labels, weights, measure)
    edges = [0.0, *(float(share / (1 + share)) for share in crossings), 1.0]
    spans: list[list[float]] = []
    for number, value in enumerate(between):
        if value < max(between) - 1e-12:
            continue
        if spans and spans[-1][1] == edges[number] and at[number - 1] >= max(between) - 1e-12:
            spans[-1][1] = edges[number + 1]
        else:
            spans.append([edges[number], edges[number + 1]])
    low, high = max(spans, key=lambda span: (round(span[1] - span[0], 12), -span[0]))
    best = best_alpha(lines(a, b, labels, weights), measure)
    assert (best.low, best.alpha, best.high) == pytest.approx((low, (low + high) / 2, high), abs=1e-12)
    share = best_share(lines(a, b, labels, weights), measure)
    assert share == pytest.approx(best.alpha / (1.0 - best.alpha))
    assert value_at_share(a, b, labels, weights, measure, share) == pytest.approx(max(between))


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
        scores = [alpha * part_a + (1 - alpha) * part_b for part_a, part_b in zip(a, b, strict=True)]
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


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from(NAMES))
def test_value_is_what_evaluate_says_of_the_combined_run(seed, name) -> None:
    first, second, qrels = runs(seed)
    result = combine(first, second, qrels, name)
    assert result.metric == parse_measure(name).name
    assert result.value == pytest.approx(evaluate(qrels, result.run, [name])[name], abs=1e-12)
    np.testing.assert_array_equal(result.run.trec_order(), np.arange(result.run.n_rows))


def test_scores_are_the_mixture_and_missing_documents_have_the_lowest_score() -> None:
    first = {"q": {"a": 4.0, "b": 2.0}}
    second = {"q": {"b": 3.0, "c": 1.0}, "other": {"x": 2.0}}
    result = combine(first, second, {"q": {"b": 1}}, "RR")
    assert (result.low, result.high, result.value) == (0.0, 0.5, 1.0)
    assert result.alpha == 0.25
    assert result.run["q"] == {"b": 2.75, "a": 1.75, "c": 1.25}
    assert result.run["other"] == {"x": 1.5}


def test_scores_that_float32_would_tie_keep_their_order() -> None:
    first, second = {"q": {"a": 1.0, "b": 1.0 + 2.0**-20}}, {"q": {"a": 1.0 + 2.0**-19, "b": 1.0}}
    result = combine(first, second, {"q": {"a": 1}}, "RR")
    assert result.value == 1.0
    assert result.low == 0.0
    assert result.high == pytest.approx(2 / 3, abs=1e-15)
    narrow = combine(first, second, {"q": {"b": 1}}, "RR")
    assert narrow.low == pytest.approx(2 / 3, abs=1e-15)


def test_interval_is_everything_where_nothing_can_be_won() -> None:
    run = {"q": {"a": 2.0, "b": 1.0}}
    result = combine(run, run, {"q": {"a": 1}}, "nDCG@10")
    assert (result.alpha, result.low, result.high, result.value) == (0.5, 0.0, 1.0, 1.0)
    nothing = combine(run, run, {"q": {"z": 1}}, "nDCG@10")
    assert (nothing.low, nothing.high, nothing.value) == (0.0, 1.0, 0.0)


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

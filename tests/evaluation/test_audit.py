"""A machine's judgements against people's: agreement, and intervals that contain the true mean as often as they say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.evaluation.significance import mean_and_half_width
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.types import Floats, Ints, pointers
from rerank.types.intervals import LEVEL

BM25 = 24  # column of MQ2008: BM25 of the whole document
FLIPS = np.array([[0.85, 0.12, 0.03], [0.30, 0.55, 0.15], [0.10, 0.40, 0.50]])  # P(machine's label | people's label)


def kappa(pairs: list[tuple[int, int]]) -> float:
    """1 - the mean squared difference of the pairs / that of all pairs of a people's and a machine's label."""
    observed = sum((one - other) ** 2 for one, other in pairs) / len(pairs)
    by_chance = sum((one - other) ** 2 for one, _ in pairs for _, other in pairs) / len(pairs) ** 2
    return 1 - observed / by_chance


def judged(labels: list[int]) -> dict[str, dict[str, int]]:
    return {"q1": {f"d{number}": label for number, label in enumerate(labels)}}


@pytest.mark.parametrize("labels", [(0, 1), (0, 1, 2, 3), (0, 1, 4)])
def test_agreement_counts_pairs_and_equals_the_definition_of_kappa(labels: tuple[int, ...]) -> None:
    draw = np.random.default_rng(0)
    people = draw.choice(labels, 200).tolist()
    machine = [label if draw.random() < 0.6 else int(draw.choice(labels)) for label in people]
    found = rerank.agreement(judged(people), judged([*machine, 1, 1]))  # the last two are judged by one only
    pairs = list(zip(people, machine, strict=True))
    assert found.labels.tolist() == list(labels)
    assert found.counts.tolist() == [[pairs.count((row, column)) for column in labels] for row in labels]
    assert found.kappa == pytest.approx(kappa(pairs), abs=1e-12)
    assert found.summary().startswith(f"Agreement: 200 documents, {sum(a == b for a, b in pairs)} with the same label")


def test_kappa_equals_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    draw = np.random.default_rng(1)
    people, machine = draw.integers(0, 4, (2, 300)).tolist()
    expected = metrics.cohen_kappa_score(people, machine, weights="quadratic")
    assert rerank.agreement(judged(people), judged(machine)).kappa == pytest.approx(expected, abs=1e-12)


def test_kappa_is_not_defined_where_all_labels_are_equal() -> None:
    assert math.isnan(rerank.agreement(judged([1, 1]), judged([1, 1])).kappa)


def test_queries_of_people_and_machine_that_are_written_in_two_ways_are_named(caplog: pytest.LogCaptureFixture) -> None:
    people = {query_id: {"a": 1} for query_id in ("07", "12", "13")}
    machine = {query_id: {"a": 1} for query_id in ("7", "12", "13")}
    rerank.agreement(people, machine)
    rerank.prediction_powered(people, machine, {"12": {"a": 1.0}})
    assert caplog.text.count("people: '07' and '7' differ in zeros") == 2


def test_agreement_is_refused_without_a_document_of_both() -> None:
    with pytest.raises(InvalidInputError, match=r"expected documents that people and the machine judged, got none\."):
        rerank.agreement({"q1": {"d1": 1}}, {"q1": {"d2": 1}, "q2": {"d1": 1}})


def test_estimate_is_the_machines_mean_with_the_mean_change_by_people() -> None:
    run = {f"q{query}": {f"d{doc}": -float(doc) for doc in range(5)} for query in range(6)}
    draw = np.random.default_rng(2)
    machine = {query: dict(zip(run[query], draw.integers(0, 3, 5).tolist(), strict=True)) for query in run}
    people = {
        query: dict(zip(run[query], draw.integers(0, 3, 5).tolist(), strict=True)) for query in ("q1", "q4", "q5")
    }
    machine["q9"] = {"d1": 1}  # not in the run: 0
    found = rerank.prediction_powered({**people, "other": {"d1": 1}}, machine, run, "nDCG@3")
    by_machine = rerank.evaluate(machine, run, ["nDCG@3"], complete=True)
    by_people = rerank.evaluate(people, run, ["nDCG@3"])
    before, after = by_machine.per_query["nDCG@3"], by_people.per_query["nDCG@3"]
    changes = [after[query] - before[query] for query in people]
    assert found.value == pytest.approx(sum(before.values()) / 7 + sum(changes) / 3)
    assert (found.machine, found.people) == pytest.approx((sum(before.values()) / 7, sum(after.values()) / 3))
    assert (found.n_machine, found.n_people) == (7, 3)
    assert found.low < found.value < found.high


def test_estimate_is_the_ordinary_mean_and_interval_when_people_judged_all_queries() -> None:
    draw = np.random.default_rng(3)
    machine, people = draw.random((2, 50))
    value, half = mean_and_half_width(machine, np.arange(50), people, LEVEL)
    assert value == pytest.approx(people.mean())
    assert half == pytest.approx(2.009575 * people.std(ddof=1) / math.sqrt(50), rel=1e-6)  # Student's of 49 degrees


@pytest.mark.parametrize(
    ("people", "measure", "message"),
    [
        ({"q1": {"d1": 1}}, "nDCG@10", "at least 2 queries that the machine judged, got 1"),
        ({"q1": {"d1": 1}, "q2": {"d1": 0}}, "gm_map", "expected a mean over queries, got the geometric mean"),
    ],
)
def test_estimates_that_cannot_be_are_refused(people: dict[str, dict[str, int]], measure: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        rerank.prediction_powered(people, {"q1": {"d1": 1}, "q2": {"d1": 1}}, {"q1": {"d1": 1.0}}, measure)


@pytest.mark.slow("3 s: trials")
def test_intervals_contain_the_true_mean_in_19_of_20_trials(shared_data: Path) -> None:
    """People's labels are those of MQ2008, the machine's are the same flipped; queries are drawn with replacement."""
    parts = [rerank.read_data(shared_data / "letor" / "mq2008" / f"S{number}.txt") for number in range(1, 6)]
    ptr = pointers(np.concatenate([np.diff(part.query_ptr) for part in parts]))
    scores = np.concatenate([part.X[:, BM25] for part in parts])
    n_queries, query = len(ptr) - 1, np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    labels = np.concatenate([part.labels for part in parts])[np.lexsort((-scores, query))].astype(np.int64)
    measure, draw = parse_measure("nDCG@10"), np.random.default_rng(0)

    def values(ranked: Ints) -> Floats:
        positive = np.flatnonzero(ranked > 0)
        ideal = positive[np.lexsort((-ranked[positive], query[positive]))]
        ideal_ptr = pointers(np.bincount(query[positive], minlength=n_queries))
        return measure.scores(RankedLists(ranked.astype(float), ptr, ranked[ideal].astype(float), ideal_ptr))

    people, trials, sizes = values(labels), 1000, (60, 200)
    covered, lengths = np.zeros(2), np.zeros((2, 2))
    for _ in range(trials):
        flipped = (draw.random(len(labels))[:, None] > FLIPS.cumsum(axis=1)[labels]).sum(axis=1).clip(0, 2)
        machine, drawn = values(flipped), draw.integers(0, n_queries, n_queries)
        for row, n_people in enumerate(sizes):  # those drawn first are judged by people, too
            judged_by_people = people[drawn[:n_people]]
            value, half = mean_and_half_width(machine[drawn], np.arange(n_people), judged_by_people, LEVEL)
            covered[row] += abs(value - people.mean()) <= half
            lengths[row] += half, 1.96 * judged_by_people.std(ddof=1) / math.sqrt(n_people)
    assert ((covered / trials >= 0.93) & (covered / trials <= 0.97)).all(), covered / trials
    assert (lengths[:, 0] < 0.9 * lengths[:, 1]).all(), lengths / trials  # than by people's judgements alone

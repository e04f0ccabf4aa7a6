"""Interleaving: the laws of team draft, credits, and the size of the test."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind

from benchmarks.users import Users, simulate_interleaving
from rerank.clicks.interleaving import AssignmentResult, InterleavingResult, experiment_result, interleave
from rerank.clicks.reading import read_clicks, write_clicks
from rerank.clicks.record import Clicks
from rerank.errors import InvalidInputError
from rerank.types import Qrels, Run

Judged = tuple[Run, Qrels]
FIRST, SECOND = list("abcdefgh"), list("hcbxyzaw")


@pytest.mark.parametrize("seed", range(20))
def test_each_side_adds_its_best_document_that_is_not_there(seed: int) -> None:
    documents, sides, credits = interleave(FIRST, SECOND, 6, random=seed)
    assert len(documents) == len(set(documents)) == 6
    for place, (document, side) in enumerate(zip(documents, sides, strict=True)):
        ranking = (FIRST, SECOND)[side]
        assert document == next(each for each in ranking if each not in documents[:place])
    assert all(sides[place] != sides[place + 1] for place in range(0, 6, 2))
    assert credits == [1.0] * 6


def test_documents_with_scores_are_interleaved_best_first() -> None:
    scores = {"b": 1.0, "a": 3.0, "c": 1.0}
    listed = interleave(["a", "c", "b"], ["c", "a", "b"], random=3)
    assert interleave(scores, Run.of({"q": {"c": 9.0, "a": 8.0, "b": 7.0}})["q"], random=3) == listed


def test_coins_are_fair() -> None:
    random = np.random.default_rng(0)
    drafts = Counter(tuple(interleave(FIRST, SECOND, 4, random=random).sides) for _ in range(4000))
    assert set(drafts) == {(0, 1, 0, 1), (0, 1, 1, 0), (1, 0, 0, 1), (1, 0, 1, 0)}
    assert all(abs(count - 1000) < 120 for count in drafts.values())


def test_what_both_rankings_begin_with_is_shown_first_and_counts_for_neither() -> None:
    documents, _, credits = interleave(["x", "y", *FIRST], ["x", "y", *SECOND], 5)
    assert documents[:2] == ["x", "y"]
    assert credits == [0.0, 0.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["c"], ["e", "a"]),
        (["e"], ["e", "a", "b"]),
        (["a"], ["a", "b"]),
        ([], ["a"]),
        ([], []),
        (FIRST[:7], ["x", "y"]),
    ],
)
def test_list_goes_on_with_the_other_ranking_where_one_ends(first: list[str], second: list[str]) -> None:
    for k in range(1, 9):
        for seed in range(20):
            for one, other in ((first, second), (second, first)):
                documents, sides, credits = interleave(one, other, k, seed)
                assert len(documents) == len(sides) == len(credits) == min(k, len({*one, *other}))
                assert len(set(documents)) == len(documents)


def test_credits_of_equal_rankings_are_zero() -> None:
    equal = interleave(FIRST, FIRST, 6, 1)
    assert len(equal.documents) == 6
    assert not any(equal.credits)


@pytest.mark.parametrize(
    ("first", "second"),
    [(FIRST, SECOND), (["c"], ["e", "a"]), (["e"], ["x", "e", "b"]), (["a", "b", "c"], ["b", "a"]), (["x"], SECOND)],
)
def test_credits_are_fair_to_who_clicks_at_any_position(first: list[str], second: list[str]) -> None:
    """At every position, the expected credit of a click is 0: of all documents, a user prefers none."""
    random, total = np.random.default_rng(1), np.zeros(min(6, len({*first, *second})))
    for _ in range(4000):
        _, sides, credits = interleave(first, second, 6, random)
        total += np.where(np.array(sides) == 0, 1.0, -1.0) * credits
    assert (np.abs(total / 4000) < 0.07).all()


def test_credits_are_counted_by_session() -> None:
    rows = [
        ("s1", "A", 1),
        ("s1", "B", 1),
        ("s1", "A", 1),
        ("s2", "B", 1),
        ("s3", "A", 0),
        ("s4", "B", 1),
        ("s4", "A", 0),
    ]
    sessions, rankers, clicked = zip(*rows, strict=True)
    n = len(rows)
    clicks = Clicks.from_rows(["q"] * n, [f"d{k}" for k in range(n)], range(1, n + 1), clicked, sessions, rankers)
    result = experiment_result(clicks)
    assert (result.first, result.second, result.wins, result.losses, result.ties) == ("A", "B", 1, 2, 1)
    assert result.difference == -0.25
    assert result.low <= result.difference <= result.high
    assert result.p_value == 1.0


def test_credits_of_a_log_are_what_clicks_count() -> None:
    clicks = Clicks.from_rows(
        ["q"] * 4, list("abcd"), [1, 2, 1, 2], [1, 1, 1, 0], list("sstt"), list("ABAB"), [0.25, 0.5, 0.5, 1.0]
    )
    result = experiment_result(clicks)
    assert (result.wins, result.losses, result.ties) == (1, 1, 0)
    assert result.difference == pytest.approx(0.125)
    assert -0.25 <= result.low <= result.high <= 0.5


@pytest.mark.slow("3 s: thousands of trials")
def test_better_ranker_wins_and_the_log_can_be_written(judged: Judged, tmp_path: Path) -> None:
    run, qrels = judged
    best = Run.of({query: {doc: float(qrels[query][doc]) for doc in run[query]} for query in run})
    clicks = simulate_interleaving(best, run, qrels, sessions=400)
    result = experiment_result(clicks)
    assert result.low > 0.1
    assert result.p_value < 1e-6
    other = experiment_result(simulate_interleaving(run, best, qrels, Users("cascade"), sessions=400))
    assert other.high < -0.1
    write_clicks(clicks, tmp_path / "log.csv")
    assert experiment_result(read_clicks(tmp_path / "log.csv")) == result


@pytest.mark.slow("4 s: thousands of trials")
def test_rankers_that_are_equally_good_are_seldom_told_apart(judged: Judged) -> None:
    """Each of the two has, for each session, one of two rankings by chance."""
    run, qrels = judged
    other = Run.of({query: {doc: -abs(place - 3.5) for place, doc in enumerate(run[query])} for query in run})
    clicks = simulate_interleaving(run, other, qrels, sessions=10_000)
    random, rejected = np.random.default_rng(0), 0
    for first in range(0, 10_000, 100):
        rows = np.flatnonzero((clicks.session >= first) & (clicks.session < first + 100))
        part = clicks.select(rows)
        swapped = random.integers(2, size=10_000)[part.session]
        rejected += experiment_result(replace(part, ranker=part.ranker ^ swapped), samples=10).p_value < 0.05
    assert rejected <= 12  # of 100; benchmarks interleaving-equal makes 1,000 trials


def test_sessions_of_one_ranker_each_are_compared_by_their_first_clicks() -> None:
    random, rows = np.random.default_rng(0), []
    for session in range(400):
        side = "AB"[random.integers(2)]
        for _ in range(1 + session % 2):
            clicked = random.random(5) < (0.5 if side == "A" else 0.2)
            rows += [(f"s{session}", side, place, hit) for place, hit in enumerate(clicked, 1)]
    sessions, sides, places, clicked = zip(*rows, strict=True)
    n = len(rows)
    result = experiment_result(Clicks.from_rows(["q"] * n, [f"d{k}" for k in places], places, clicked, sessions, sides))
    values: dict[str, dict[str, list[float]]] = {"A": {}, "B": {}}
    for first in range(0, n, 5):
        own = [1.0 / place for place, hit in zip(places[first:], clicked[first : first + 5], strict=False) if hit]
        values[sides[first]].setdefault(sessions[first], []).append(max(own, default=0.0))
    means = [[np.mean(lists) for lists in values[side].values()] for side in "AB"]
    assert isinstance(result, AssignmentResult)
    assert result.sessions == (len(means[0]), len(means[1]))
    assert result.means == pytest.approx([np.mean(each) for each in means], rel=1e-12)
    assert result.p_value == pytest.approx(ttest_ind(*means, equal_var=False).pvalue, rel=1e-9)
    assert 0.0 < result.low < result.difference < result.high


def test_lists_outside_the_experiment_do_not_count() -> None:
    shared = (["q"] * 2, ["a", "b"], [1, 2], [1, 0], ["s", "s"], ["A", "B"], [1.0, 1.0])
    alone = (["q"] * 2, ["a", "b"], [1, 2], [1, 1], ["t", "t"], ["B", "B"], [0.0, 0.0])
    third = (["q"], ["a"], [1], [1], ["u"], ["C"], [0.0])
    clicks = Clicks.from_rows(*([*one, *two, *last] for one, two, last in zip(shared, alone, third, strict=True)))
    result = experiment_result(clicks, ("B", "A"))
    assert isinstance(result, InterleavingResult)
    assert (result.first, result.wins, result.losses, result.ties) == ("A", 1, 0, 0)
    assert experiment_result(clicks) == result  # no click counts for C
    with pytest.raises(InvalidInputError, match=r"expected a log with two rankers, got 3 \(A, B, C\)"):
        experiment_result(replace(clicks, credit=np.ones(clicks.n_rows)))


def test_wrong_logs_are_refused(judged: Judged) -> None:
    clicks = Clicks.from_rows(["q"], ["d"], [1], [1])
    with pytest.raises(InvalidInputError, match=r"interleaving: expected a log with two rankers, got 0"):
        experiment_result(clicks)
    with pytest.raises(InvalidInputError, match=r"interleaving: expected runs of the same queries, got none in common"):
        simulate_interleaving(judged[0], Run.of({"x": {"d": 1.0}}), judged[1])


@pytest.fixture
def sessions() -> Clicks:
    ranker = ["A", "A", "B", "B"]
    sides = {"session": ["1", "1", "2", "2"], "ranker": ranker}
    return Clicks.from_rows(["q", "q", "p", "p"], list("abcd"), [1, 2, 1, 2], [1, 0, 0, 1], **sides)


def test_rankers_named_twice_are_two(sessions: Clicks) -> None:
    assert str(experiment_result(sessions, ["A", "B", "A"])) == str(experiment_result(sessions))


def test_rankers_without_rows_are_refused(sessions: Clicks) -> None:
    with pytest.raises(InvalidInputError, match=r"two rankers of the names \['A', 'C'\], got 2 \(A, B\)\."):
        experiment_result(sessions, ["A", "C"])
    with pytest.raises(InvalidInputError, match=r"two rankers of the names \['A', 'B'\], got 1 \(A\)\."):
        experiment_result(sessions.select(np.arange(2)), ["A", "B"])


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"samples": True}, {"samples": 2.5}, {"seed": -1}, {"seed": "x"}])
def test_other_samples_and_seeds_than_whole_numbers_are_refused(sessions: Clicks, wrong: dict[str, int]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidInputError, match=f"^{name}: expected .*, got {value!r}"):
        experiment_result(sessions, **wrong)


@pytest.mark.parametrize("k", [0, -1, True, 2.5])
def test_lists_of_no_whole_number_of_documents_are_refused(k: int) -> None:
    with pytest.raises(InvalidInputError, match=f"^k: expected .*1 to 2147483647, got {k}"):
        interleave(FIRST, SECOND, k)


@pytest.mark.parametrize("random", [-1, "x", None])
def test_lists_of_no_source_of_chance_are_refused(random: int) -> None:
    with pytest.raises(InvalidInputError, match=f"^random: expected .*0 to 18446744073709551615, got {random!r}"):
        interleave(FIRST, SECOND, 3, random)


def test_documents_that_a_ranking_repeats_are_listed_once() -> None:
    assert sorted(interleave(["a", "a", "b"], ["c"]).documents) == ["a", "b", "c"]

"""Interleaving: the laws of team draft, credits, and the size of its test."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rerank.clicks.interleaving import interleaving_result, simulate_interleaving, team_draft
from rerank.clicks.reading import read_clicks, write_clicks
from rerank.clicks.record import Clicks
from rerank.clicks.simulation import Users
from rerank.errors import InvalidInputError
from rerank.types import Qrels, Run

Judged = tuple[Run, Qrels]
FIRST, SECOND = list("abcdefgh"), list("hcbxyzaw")


@pytest.mark.parametrize("seed", range(20))
def test_each_side_adds_its_best_document_that_is_not_there(seed: int) -> None:
    documents, sides = team_draft(FIRST, SECOND, 6, seed)
    assert len(documents) == len(set(documents)) == 6
    for place, (document, side) in enumerate(zip(documents, sides, strict=True)):
        ranking = (FIRST, SECOND)[side]
        assert document == next(each for each in ranking if each not in documents[:place])
    assert all(sides[place] != sides[place + 1] for place in range(0, 6, 2))


def test_coins_are_fair() -> None:
    random = np.random.default_rng(0)
    drafts = Counter(tuple(team_draft(FIRST, SECOND, 4, random)[1]) for _ in range(4000))
    assert set(drafts) == {(0, 1, 0, 1), (0, 1, 1, 0), (1, 0, 0, 1), (1, 0, 1, 0)}
    assert all(abs(count - 1000) < 120 for count in drafts.values())


def test_list_ends_where_a_side_has_no_more() -> None:
    assert len(team_draft(["a"], ["a", "b"], 5)[0]) == 1
    assert team_draft([], ["a"], 5) == ([], [])


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
    result = interleaving_result(clicks)
    assert (result.first, result.second, result.wins, result.losses, result.ties) == ("A", "B", 1, 2, 1)
    assert result.difference == -0.25
    assert result.low <= result.difference <= result.high
    assert result.p_value == 1.0


def test_better_ranker_wins_and_the_log_can_be_written(judged: Judged, tmp_path: Path) -> None:
    run, qrels = judged
    best = Run.of({query: {doc: float(qrels[query][doc]) for doc in run[query]} for query in run})
    clicks = simulate_interleaving(best, run, qrels, Users(), sessions=400)
    result = interleaving_result(clicks)
    assert result.low > 0.1
    assert result.p_value < 1e-6
    other = interleaving_result(simulate_interleaving(run, best, qrels, Users("cascade"), sessions=400))
    assert other.high < -0.1
    write_clicks(clicks, tmp_path / "log.csv")
    assert interleaving_result(read_clicks(tmp_path / "log.csv")) == result


@pytest.mark.parametrize("model", ["pbm", "cascade"])
def test_equal_rankers_are_seldom_told_apart(model: str, judged: Judged) -> None:
    run, qrels = judged
    p_values = [
        interleaving_result(simulate_interleaving(run, run, qrels, Users(model), sessions=100, seed=seed)).p_value
        for seed in range(100)
    ]
    assert np.mean(np.array(p_values) < 0.05) <= 0.12  # scripts/check_clicks.py makes 1,000 trials


def test_wrong_logs_are_refused(judged: Judged) -> None:
    clicks = Clicks.from_rows(["q"], ["d"], [1], [1])
    with pytest.raises(InvalidInputError, match=r"interleaving: expected a log with two rankers, got 0"):
        interleaving_result(clicks)
    with pytest.raises(InvalidInputError, match=r"interleaving: expected runs of the same queries, got none in common"):
        simulate_interleaving(judged[0], Run.of({"x": {"d": 1.0}}), judged[1])

"""Simulated users against the probabilities that they are to have."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.users import EXAMINATION, Users, simulate_clicks
from rerank.errors import InvalidInputError
from rerank.types import Qrels, Run

ATTRACTION = np.array([0.1, 0.5, 0.9])
LISTS = 40_000


def _rates(users: Users) -> np.ndarray:
    """Return click rates by position."""
    clicked = users.click(np.tile(ATTRACTION, (LISTS, 1)), np.random.default_rng(0))
    return clicked.mean(axis=0)


@pytest.mark.parametrize("eta", [0.0, 1.0, 2.0])
def test_position_based_users_click_with_theta_times_attraction(eta: float) -> None:
    expected = np.array(EXAMINATION[:3]) ** eta * ATTRACTION
    np.testing.assert_allclose(_rates(Users(eta=eta)), expected, atol=0.01)


def test_cascade_users_stop_at_the_first_click() -> None:
    np.testing.assert_allclose(_rates(Users("cascade")), [0.1, 0.9 * 0.5, 0.9 * 0.5 * 0.9], atol=0.01)


def test_dependent_users_go_on_after_a_click_with_their_probability() -> None:
    after_first = 0.9 + 0.1 * 0.3
    after_second = after_first * (0.5 + 0.5 * 0.3)
    expected = [0.1, after_first * 0.5, after_second * 0.9]
    np.testing.assert_allclose(_rates(Users("dependent", continuation=0.3)), expected, atol=0.01)


def test_lists_are_the_head_of_the_run_and_every_query_is_searched_in_every_pass(judged: tuple[Run, Qrels]) -> None:
    run, qrels = judged
    clicks = simulate_clicks(run, qrels, passes=3, depth=5)
    assert len(clicks.list_ptr) - 1 == 3 * len(run)
    for first, last in zip(clicks.list_ptr[:30], clicks.list_ptr[1:31], strict=True):
        query = str(clicks.query_ids[clicks.query[first]])
        assert clicks.doc_ids[clicks.document[first:last]].tolist() == list(run[query])[:5]
        assert clicks.position[first:last].tolist() == [1, 2, 3, 4, 5]
    assert np.bincount(clicks.query).tolist() == [15] * len(run)
    assert clicks.rankers == ("logging",)


def test_same_seed_makes_the_same_log(judged: tuple[Run, Qrels]) -> None:
    logs = [simulate_clicks(*judged, passes=2, spread=1.0, seed=seed).first_rows(10**6)[1] for seed in (1, 1, 2)]
    assert logs[0] == logs[1] != logs[2]


def test_spread_moves_documents(judged: tuple[Run, Qrels]) -> None:
    clicks = simulate_clicks(*judged, passes=200, depth=10, spread=1.0)
    run, _ = judged
    firsts = np.array([next(iter(run[str(query)])) for query in run.query_ids])
    top = clicks.select(clicks.position == 1)
    is_first = firsts[top.query] == clicks.doc_ids[top.document]
    assert 0.4 < np.mean(is_first) < 0.8


def test_wrong_users_are_refused(judged: tuple[Run, Qrels]) -> None:
    with pytest.raises(InvalidInputError, match=r"model of users: expected a known name, got 'cascad'. Did you mean"):
        Users("cascad")
    with pytest.raises(InvalidInputError, match=r"noise: expected a number from 0 to 1, got 1.5"):
        Users(noise=1.5)
    with pytest.raises(InvalidInputError, match=r"simulate: expected a run with rows, and passes and depth from 1"):
        simulate_clicks(*judged, passes=0)

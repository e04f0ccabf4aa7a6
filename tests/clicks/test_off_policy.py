"""Off-policy values against their definition, a log of the ranker itself, and what is refused."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from benchmarks.users import Users, simulate_clicks
from rerank.clicks.off_policy import ValueRules, off_policy_value
from rerank.clicks.record import Clicks
from rerank.errors import InvalidInputError
from rerank.types import Qrels, Run
from tests.oracles.clicks import impressions

Judged = tuple[Run, Qrels]
EVERYTHING = ValueRules(most_unseen=1.0, least_effective=0.0, samples=50)


def _reversed(run: Run) -> Run:
    return Run.of({query: {doc: -score for doc, score in run[query].items()} for query in run})


@pytest.mark.parametrize("depth", [3, 10])
def test_value_is_as_defined(depth: int, judged: Judged) -> None:
    run, qrels = judged
    clicks = simulate_clicks(run, qrels, passes=3, spread=2.0)
    theta = Users().examination(10)
    ranks = {query: {doc: rank for rank, doc in enumerate(run[query], 1)} for query in run}
    sums: dict[str, list[float]] = {}
    for query, doc, position, clicked in impressions(clicks):
        weight = clicked / max(theta[position - 1], 0.1)
        parts = sums.setdefault(query, [0.0, 0.0])
        parts[0] += weight / log2(1 + ranks[query][doc]) * (ranks[query][doc] <= depth)
        parts[1] += weight
    expected = np.mean([value / whole for value, whole in sums.values() if whole > 0])
    rules = ValueRules(depth, 0.1, 1.0, 0.0, 50)
    value = off_policy_value(clicks, run, rules, theta=theta)
    assert value.value == pytest.approx(expected)
    assert value.low < value.value < value.high
    assert value.n_clicks == clicks.clicked.sum()


def test_better_run_has_a_higher_value_whatever_ranker_made_the_log(judged: Judged) -> None:
    run, qrels = judged
    best = Run.of({query: {doc: float(qrels[query][doc]) for doc in run[query]} for query in run})
    clicks = simulate_clicks(run, qrels, Users(noise=0.0), passes=20, spread=3.0, depth=20)
    values = [off_policy_value(clicks, each, EVERYTHING).value for each in (best, run, _reversed(best))]
    assert values[0] > values[1] > values[2]


def test_wrong_examination_favours_the_ranker_of_the_log(judged: Judged) -> None:
    run, qrels = judged
    users = Users(noise=0.0)
    clicks = simulate_clicks(run, qrels, users, passes=30, spread=1.0, depth=20)
    right = off_policy_value(clicks, run, EVERYTHING, theta=users.examination(20)).value
    naive = off_policy_value(clicks, run, EVERYTHING, theta=np.ones(20)).value
    assert naive > right + 0.02


def test_effective_clicks_are_all_clicks_where_weights_are_equal(judged: Judged) -> None:
    clicks = simulate_clicks(*judged, passes=2)
    value = off_policy_value(clicks, judged[0], EVERYTHING, theta=np.ones(10))
    assert value.effective_clicks == pytest.approx(clicks.clicked.sum())
    assert off_policy_value(clicks, judged[0], EVERYTHING).effective_clicks < clicks.clicked.sum()


def test_values_that_would_mean_nothing_are_refused(judged: Judged) -> None:
    run, _ = judged
    clicks = simulate_clicks(*judged, passes=2)
    turned = off_policy_value(clicks, _reversed(run))
    assert turned.refusal == "expected at most 50% of the first documents never shown, got 100%"
    assert np.isnan([turned.value, turned.low, turned.high]).all()
    assert off_policy_value(clicks, run, ValueRules(least_effective=1e6)).refusal.startswith(
        "expected at least 1e+06 effective clicks, got "
    )
    other = Run.of({"none": {"d1": 1.0}})
    assert off_policy_value(clicks, other, EVERYTHING).refusal == (
        "expected queries of the run with clicks in the log, got none"
    )


def test_share_never_shown_is_that_of_the_first_documents() -> None:
    clicks = Clicks.from_rows(["a", "a", "b"], ["d1", "d2", "d1"], [1, 2, 1], [1, 0, 1])
    run = Run.of({"a": {"d2": 3.0, "d1": 2.0, "d3": 1.0}, "b": {"d4": 2.0, "d5": 1.0}, "c": {"d1": 1.0}})
    assert off_policy_value(clicks, run, EVERYTHING).unseen == pytest.approx(3 / 5)
    assert off_policy_value(clicks, run, ValueRules(2, 0.05, 1.0, 0.0)).unseen == pytest.approx(2 / 4)


def test_wrong_rules_are_refused(judged: Judged) -> None:
    clicks = simulate_clicks(*judged, passes=1)
    with pytest.raises(InvalidInputError, match=r"theta: expected 10 numbers from 0, one for each position"):
        off_policy_value(clicks, judged[0], theta=[1.0])
    with pytest.raises(InvalidInputError, match=r"value: expected depth and samples from 1 and clip above 0"):
        ValueRules(clip=0.0)

"""Off-policy values against their definition, a log of the ranker itself, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import log2
from statistics import mean

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


@pytest.mark.parametrize("seed", range(5))
def test_bounds_are_those_of_all_clicks_on_documents_never_shown(seed: int) -> None:
    random = np.random.default_rng(seed)
    shown = [f"d{number}" for number in range(6)]
    clicks = Clicks.from_rows(["a"] * 6, shown, list(range(1, 7)), [True, *(random.random(5) < 0.5).tolist()])
    ranking = [*random.permutation([*shown, "new1", "new2", "new3", "new4"]).tolist(), "new5"]
    value = off_policy_value(
        clicks, Run.of({"a": {doc: -float(rank) for rank, doc in enumerate(ranking)}}),
        replace(EVERYTHING, depth=8), theta=np.ones(6),
    )  # fmt: skip
    clicked = [doc for _, doc, _, click in impressions(clicks) if click]
    new = [doc for doc in ranking[:8] if doc.startswith("new")]
    discount = {doc: 1 / log2(1 + rank) for rank, doc in enumerate(ranking[:8], 1)}
    possible = [
        mean(discount.get(doc, 0.0) for doc in [*clicked, *more])
        for count in range(len(new) + 1)
        for more in combinations(new, count)
    ]
    assert (value.least, value.most) == pytest.approx((min(possible), max(possible)))
    assert value.value == pytest.approx(possible[0])


def test_interval_holds_the_bounds_of_documents_never_shown(judged: Judged) -> None:
    run, qrels = judged
    clicks = simulate_clicks(run, qrels, passes=3)
    new = Run.of({query: {**dict(list(run[query].items())[:8]), "new": -1e6} for query in run})
    value = off_policy_value(clicks, new, EVERYTHING)
    assert value.low < value.least < value.value < value.most < value.high
    value = off_policy_value(clicks, run, EVERYTHING)
    assert value.low < value.least == value.value == value.most < value.high


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


def test_documents_beyond_the_longest_list_take_no_memory(judged: Judged) -> None:
    clicks = simulate_clicks(*judged, passes=1)
    n_documents = int(np.diff(judged[0].query_ptr).max())
    deep = off_policy_value(clicks, judged[0], replace(EVERYTHING, depth=2**31 - 1))
    assert deep == off_policy_value(clicks, judged[0], replace(EVERYTHING, depth=n_documents))


def test_wrong_rules_are_refused(judged: Judged) -> None:
    clicks = simulate_clicks(*judged, passes=1)
    with pytest.raises(InvalidInputError, match=r"theta: expected 10 numbers from 0, one for each position"):
        off_policy_value(clicks, judged[0], theta=[1.0])
    for name, wrong in (
        ("clip", (0.0, "x")),
        ("depth", (0, 2.5)),
        ("samples", (2.5, True)),
        ("seed", (-1,)),
        ("most_unseen", (1.5,)),
    ):
        for value in wrong:
            with pytest.raises(InvalidInputError, match=f"^{name}: expected .*, got {value!r}"):
                ValueRules(**{name: value})

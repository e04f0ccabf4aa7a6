"""Which of two rankers searchers prefer, by their clicks on lists that both share, and simulated experiments.

A click is credited to the ranker that `rerank.clicks.drafts` says. The ranker with more credit wins the session; ties
are left out of the sign test.

References
----------
O. Chapelle, T. Joachims, F. Radlinski and Y. Yue, Large-Scale Validation and Analysis of Interleaved Search Evaluation,
ACM TOIS 30(1), 2012.

"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rerank.clicks.drafts import Interleaved, interleave
from rerank.clicks.record import Clicks
from rerank.clicks.simulation import Users, attraction_of
from rerank.errors import InvalidInputError
from rerank.files.records import QrelsLike, RunLike, qrels_of, run_of
from rerank.types import Qrels, query_rows
from rerank.types.ids import Ids

SIDES = ("A", "B")
LEVEL = 0.95
SAMPLES = 10_000
DIGITS = 3  # of a session's credit, so that few of them differ


@dataclass(frozen=True)
class InterleavingResult:
    """Which of two rankers searchers preferred.

    Parameters
    ----------
    first, second : str
        Names of the rankers, in alphabetical order.
    wins, losses, ties : int
        Sessions in which the first ranker has more credit than the second, less, or as much.
    difference, low, high : float
        Credit of the first ranker less that of the second, per session, and its 95 % bootstrap interval by session.
    p_value : float
        Two-sided sign test over the sessions that are no ties; 1 where all are.

    """

    first: str
    second: str
    wins: int
    losses: int
    ties: int
    difference: float
    low: float
    high: float
    p_value: float


def interleaving_result(clicks: Clicks, *, samples: int = SAMPLES, seed: int = 0) -> InterleavingResult:
    """Return which of two rankers won an interleaving experiment.

    Parameters
    ----------
    clicks : Clicks
        The log, whose `ranker` and `credit` say what a click on each document counts for which side; without sessions,
        each list is one.
    samples, seed : int
        Bootstrap samples of sessions, and the seed of their draw.

    Returns
    -------
    InterleavingResult
        Wins, losses, ties, their difference with its interval, and the sign test.

    Raises
    ------
    InvalidInputError
        If the log does not have two rankers.

    """
    if clicks.ranker is None or len(clicks.rankers) != 2:
        raise InvalidInputError(
            f"interleaving: expected a log with two rankers, got {len(clicks.rankers)}. Write the side that added each "
            "document as its ranker."
        )
    from scipy.stats import binomtest

    session = query_rows(clicks.list_ptr) if clicks.session is None else clicks.session
    _, number = np.unique(session, return_inverse=True)
    first, second = sorted(range(2), key=clicks.rankers.__getitem__)
    counts = clicks.clicked if clicks.credit is None else clicks.clicked * clicks.credit
    credit = np.round(np.bincount(number.reshape(-1), np.where(clicks.ranker == first, 1.0, -1.0) * counts), DIGITS)
    wins, losses = int((credit > 0).sum()), int((credit < 0).sum())
    values, times = np.unique(credit, return_counts=True)
    random, n = np.random.default_rng(seed), len(credit)
    means = random.multinomial(n, times / n, samples) @ values / n
    low, high = np.quantile(means, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    p_value = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    names = clicks.rankers[first], clicks.rankers[second]
    ties = n - wins - losses
    return InterleavingResult(*names, wins, losses, ties, float(credit.mean()), float(low), float(high), p_value)


def simulate_interleaving(
    first: RunLike,
    second: RunLike,
    qrels: QrelsLike,
    users: Users | None = None,
    *,
    method: str = "team-draft",
    sessions: int = 1000,
    depth: int = 10,
    seed: int = 0,
) -> Clicks:
    """Simulate users who search with random queries and see interleaved lists, to plan an experiment.

    Parameters
    ----------
    first, second : Run, mapping, DataFrame or path
        The rankers.
    qrels : Qrels, mapping, DataFrame or path
        Judgements, by which users click.
    users : Users, optional
        How they examine and click.
    method : {"team-draft", "optimised", "probabilistic"}
        How lists are made and clicks credited.
    sessions : int
        Number of searches; each is a session.
    depth : int
        Documents of a list.
    seed : int
        Seed of all chance.

    Returns
    -------
    Clicks
        The log, with the rankers A (first) and B (second).

    Raises
    ------
    InvalidInputError
        If the runs have no query in common, or for an unknown method.

    """
    first, second, qrels, users = run_of(first), run_of(second), qrels_of(qrels), users or Users()
    shared = [query for query in first if query in second]
    if not shared:
        raise InvalidInputError("interleaving: expected runs of the same queries, got none in common. Name others.")
    random = np.random.default_rng(seed)
    chosen = random.choice(len(shared), sessions)
    tops = [[run.doc_ids[run.rows(query)][: 2 * depth].tolist() for query in shared] for run in (first, second)]
    lists = [interleave(tops[0][query], tops[1][query], depth, method, random) for query in chosen]
    return _clicked(lists, np.array(shared)[chosen], qrels, users, depth, random)


def _clicked(
    lists: list[Interleaved],
    query_ids: Ids,
    qrels: Qrels,
    users: Users,
    depth: int,
    random: np.random.Generator,
) -> Clicks:
    """Return the log of users who see these lists, one a session."""
    sizes = np.array([len(each.documents) for each in lists])
    filled = np.arange(depth) < sizes[:, None]
    queries = np.repeat(query_ids, sizes)
    documents = np.concatenate([each.documents for each in lists])
    judged = {query: qrels[query] for query in set(queries.tolist()) if query in qrels}
    pairs = zip(queries.tolist(), documents.tolist(), strict=True)
    labels = [judged.get(query, {}).get(document, 0) for query, document in pairs]
    attraction = np.zeros(filled.shape)
    attraction[filled] = attraction_of(np.array(labels), qrels, users.noise)
    clicks = Clicks.from_rows(
        query_ids=queries,
        doc_ids=documents,
        positions=np.nonzero(filled)[1] + 1,
        clicked=users.click(attraction, random)[filled],
        session=np.repeat(np.arange(len(lists)), sizes).astype(str),
    )
    sides = np.concatenate([each.sides for each in lists]).astype(np.int32)
    return replace(clicks, ranker=sides, rankers=SIDES, credit=np.concatenate([each.credits for each in lists]))

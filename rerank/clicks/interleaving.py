"""Team-draft interleaving: two rankers share one result list, and clicks say which of them searchers prefer.

In each round a coin decides which side picks first; each side then adds its best document that is not in the list yet.
The list ends where it has k documents, or where one side has no more. A click is credited to the side that added the
document. The side with more clicks wins the session; ties are left out of the sign test.

References
----------
F. Radlinski, M. Kurup and T. Joachims, How Does Clickthrough Data Reflect Retrieval Quality?, CIKM 2008 (algorithm 2).
O. Chapelle, T. Joachims, F. Radlinski and Y. Yue, Large-Scale Validation and Analysis of Interleaved Search Evaluation,
ACM TOIS 30(1), 2012.

"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rerank.clicks.record import Clicks
from rerank.clicks.simulation import Users, attraction_of
from rerank.errors import InvalidInputError
from rerank.files.records import QrelsLike, RunLike, qrels_of, run_of
from rerank.types import Qrels, Run, query_rows
from rerank.types.ids import Ids

SIDES = ("A", "B")
LEVEL = 0.95
SAMPLES = 10_000


@dataclass(frozen=True)
class InterleavingResult:
    """Which of two rankers searchers preferred.

    Parameters
    ----------
    first, second : str
        Names of the rankers, in alphabetical order.
    wins, losses, ties : int
        Sessions in which the first ranker has more clicks than the second, fewer, or as many.
    difference, low, high : float
        (wins - losses) / sessions, and its 95 % bootstrap interval by session.
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


def team_draft(
    first: Sequence[str], second: Sequence[str], k: int = 10, random: np.random.Generator | int = 0
) -> tuple[list[str], list[int]]:
    """Return one list of two rankings' documents, and which ranking added each.

    Parameters
    ----------
    first, second : sequence of str
        Documents of the two rankings, best first.
    k : int
        Most documents of the list.
    random : numpy.random.Generator or int
        Source of chance, or its seed.

    Returns
    -------
    documents : list of str
        The list.
    sides : list of int
        0 or 1: the ranking that added each document.

    """
    random = np.random.default_rng(random)
    rankings, next_place = (first, second), [0, 0]
    documents: list[str] = []
    sides: list[int] = []
    shown: set[str] = set()
    turn = 0
    while len(documents) < k:
        if len(documents) % 2 == 0:
            turn = int(random.integers(2))
        for side in (0, 1):
            while next_place[side] < len(rankings[side]) and rankings[side][next_place[side]] in shown:
                next_place[side] += 1
        if any(next_place[side] == len(rankings[side]) for side in (0, 1)):
            break
        document = rankings[turn][next_place[turn]]
        documents.append(document)
        sides.append(turn)
        shown.add(document)
        turn = 1 - turn
    return documents, sides


def interleaving_result(clicks: Clicks, *, samples: int = SAMPLES, seed: int = 0) -> InterleavingResult:
    """Return which of two rankers won an interleaving experiment.

    Parameters
    ----------
    clicks : Clicks
        The log, whose `ranker` is the side that added each document; without sessions, each list is one.
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
    credit = np.bincount(number.reshape(-1), np.where(clicks.ranker == first, 1.0, -1.0) * clicks.clicked)
    wins, losses = int((credit > 0).sum()), int((credit < 0).sum())
    ties = len(credit) - wins - losses
    drawn = np.random.default_rng(seed).multinomial(len(credit), np.array([wins, losses, ties]) / len(credit), samples)
    low, high = np.quantile((drawn[:, 0] - drawn[:, 1]) / len(credit), [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    p_value = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    names = clicks.rankers[first], clicks.rankers[second]
    difference = (wins - losses) / len(credit)
    return InterleavingResult(*names, wins, losses, ties, difference, float(low), float(high), p_value)


def simulate_interleaving(
    first: RunLike,
    second: RunLike,
    qrels: QrelsLike,
    users: Users | None = None,
    *,
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
        If the runs have no query in common.

    """
    first, second, qrels, users = run_of(first), run_of(second), qrels_of(qrels), users or Users()
    shared = [query for query in first if query in second]
    if not shared:
        raise InvalidInputError("interleaving: expected runs of the same queries, got none in common. Name others.")
    random = np.random.default_rng(seed)
    chosen = random.choice(len(shared), sessions)
    lists = list(_drafts(first, second, [shared[query] for query in chosen], depth, random))
    return _clicked(lists, np.array(shared)[chosen], qrels, users, depth, random)


def _clicked(
    lists: list[tuple[list[str], list[int]]],
    query_ids: Ids,
    qrels: Qrels,
    users: Users,
    depth: int,
    random: np.random.Generator,
) -> Clicks:
    """Return the log of users who see these lists, one a session."""
    sizes = np.array([len(documents) for documents, _ in lists])
    filled = np.arange(depth) < sizes[:, None]
    queries = np.repeat(query_ids, sizes)
    documents = np.concatenate([documents for documents, _ in lists])
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
    sides = np.concatenate([sides for _, sides in lists]).astype(np.int32)
    return replace(clicks, ranker=sides, rankers=SIDES)


def _drafts(
    first: Run, second: Run, queries: Sequence[str], depth: int, random: np.random.Generator
) -> Iterator[tuple[list[str], list[int]]]:
    for query in queries:
        rankings = [run.doc_ids[run.rows(query)][: 2 * depth].tolist() for run in (first, second)]
        yield team_draft(rankings[0], rankings[1], depth, random)

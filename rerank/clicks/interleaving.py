"""Rankers compared by clicks: interleaving and A/B tests.

Interleaved lists: in each round a coin decides which side picks first; each side then adds its best document that is
not in the list yet, and a click on it counts 1. What both rankings begin with is shown first, and counts 0. Where one
ranking has no more documents, those of the other follow up to k, and a click on them counts 0. A click is credited to
the ranker that added the document. The ranker with more credit wins the session; ties are left out of the sign test.

References
----------
F. Radlinski, M. Kurup and T. Joachims, How Does Clickthrough Data Reflect Retrieval Quality?, CIKM 2008 (algorithm 2,
team draft).
O. Chapelle, T. Joachims, F. Radlinski and Y. Yue, Large-Scale Validation and Analysis of Interleaved Search Evaluation,
ACM TOIS 30(1), 2012 (credit, sign test, clicks on what both rankings begin with).

"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rerank.clicks.record import Clicks, Numbers
from rerank.errors import InvalidInputError, shown
from rerank.runtime.fields import COUNT, SEED, read_at
from rerank.runtime.sums import mean
from rerank.types import Floats, Ints, Run, query_rows
from rerank.types.intervals import percentile_shares

SAMPLES = 10_000  # of sessions
DIGITS = 3  # of a session's credit, and of what is drawn for intervals, so that few of them differ


@dataclass(frozen=True)
class InterleavingResult:
    """Which of two rankers searchers preferred.

    Parameters
    ----------
    first, second : str
        Names of the rankers, in alphabetical order.
    wins, losses, ties : int
        Number of sessions in which the first ranker has more credit than the second, less, or as much.
    difference, low, high : float
        Credit of the first ranker minus that of the second, per session, and its 95 % bootstrap interval by session.
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


@dataclass(frozen=True)
class AssignmentResult:
    """Which of two rankers, of which each session had one, searchers preferred.

    Parameters
    ----------
    first, second : str
        Names of the rankers, in alphabetical order.
    sessions : tuple of int
        Number of sessions of each ranker.
    means : tuple of float
        Mean of 1 / rank of the first click, over the sessions of each, 0 for a list without a click.
    difference, low, high : float
        First mean minus the second, and its 95 % bootstrap interval by session.
    p_value : float
        Welch's t-test, two-sided; NaN where a ranker has one session alone.

    """

    first: str
    second: str
    sessions: tuple[int, int]
    means: tuple[float, float]
    difference: float
    low: float
    high: float
    p_value: float


def experiment_result(
    clicks: Clicks, rankers: Sequence[str] | None = None, *, samples: int = SAMPLES, seed: int = 0
) -> InterleavingResult | AssignmentResult:
    """Return which of two rankers won: an interleaving experiment, or an A/B test where no list has documents of both.

    Parameters
    ----------
    clicks : Clicks
        The log, whose `ranker` and `credit` say what a click on each document counts for which side; without sessions,
        each list is one.
    rankers : sequence of str, optional
        Names of the two, where the log has more.
    samples, seed : int
        Bootstrap samples of sessions, and the seed of their draw.

    Returns
    -------
    InterleavingResult or AssignmentResult
        The result. Rows of other rankers do not count, nor, where the log has credits and interleaved lists, do lists
        of one ranker without credit.

    Raises
    ------
    InvalidInputError
        If the log does not have two such rankers, samples is no whole number from 1, or seed none from 0.

    """
    samples = read_at("samples", COUNT, samples)
    random = np.random.default_rng(read_at("seed", SEED, seed))
    own, sides, names = _of_two(clicks, rankers)
    session = query_rows(own.list_ptr) if own.session is None else own.session
    number = np.unique(session, return_inverse=True)[1]
    of_list = query_rows(own.list_ptr)
    shares = np.bincount(of_list, sides) / np.diff(own.list_ptr)
    is_shared = (shares > 0.0) & (shares < 1.0)
    if not is_shared.any():
        return _assigned(own, names, number, sides, samples, random)
    gains = np.where(sides == 0, 1.0, -1.0) * own.clicked
    if own.credit is not None:
        of_experiment = is_shared | (np.bincount(of_list, own.credit) > 0.0)
        gains = (gains * own.credit)[of_experiment[of_list]]
        number = np.unique(number[of_experiment[of_list]], return_inverse=True)[1]
    credit = np.asarray(np.round(np.bincount(number, gains), DIGITS), dtype=np.float64)
    return _interleaved(names, credit, samples, random)


def _of_two(clicks: Clicks, rankers: Sequence[str] | None) -> tuple[Clicks, Ints, tuple[str, str]]:
    """Return the rows of two rankers, the side of each, 0 or 1, and their names in alphabetical order."""
    known = [] if clicks.ranker is None else _rankers_compared(clicks, clicks.ranker)
    names = known if rankers is None else sorted(set(rankers))
    if clicks.ranker is None or len(names) != 2 or not set(names) <= set(_rankers_of(clicks, clicks.ranker)):
        of_names = "" if rankers is None else f" of the names {shown(names)}"
        raise InvalidInputError(
            f"interleaving: expected a log with two rankers{of_names}, got {len(known)} "
            f"({', '.join(known) or 'none'}). Write the side that added each document as its ranker, "
            "and name two where there are more: rerank.experiment_result(clicks, ['A', 'B'])."
        )
    first, second = (clicks.rankers.index(name) for name in names)
    own = np.flatnonzero((clicks.ranker == first) | (clicks.ranker == second))
    return clicks.select(own), (clicks.ranker[own] == second).astype(np.int64), (names[0], names[1])


def _rankers_compared(clicks: Clicks, ranker: Numbers) -> list[str]:
    """Return the names of the rankers whose documents have credit; of all rankers where no document has credit."""
    if clicks.credit is not None and clicks.credit.any():
        ranker = ranker[clicks.credit > 0.0]
    return _rankers_of(clicks, ranker)


def _rankers_of(clicks: Clicks, ranker: Numbers) -> list[str]:
    """Return the names of the rankers of some rows, in alphabetical order."""
    return sorted(clicks.rankers[number] for number in np.unique(ranker).tolist())


def _interleaved(
    names: tuple[str, str], credit: Floats, samples: int, random: np.random.Generator
) -> InterleavingResult:
    """Return the result of sessions; their credit (n_sessions,) is positive where the first ranker has more."""
    from scipy.stats import binomtest

    wins = int((credit > 0).sum())
    losses = int((credit < 0).sum())
    low, high = np.quantile(_bootstrap_means(credit, samples, random), percentile_shares(len(credit)))
    p_value = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    ties = len(credit) - wins - losses
    return InterleavingResult(*names, wins, losses, ties, mean(credit), float(low), float(high), p_value)


def _assigned(
    clicks: Clicks, names: tuple[str, str], session: Ints, sides: Ints, samples: int, random: np.random.Generator
) -> AssignmentResult:
    """Return the result of an A/B test; the session and the side of each row, (n_rows,), are numbers from 0."""
    from scipy.stats import ttest_ind

    starts = clicks.list_ptr[:-1]
    inverse = np.maximum.reduceat(np.where(clicks.clicked, 1.0 / clicks.position, 0.0), starts)
    of_session = session[starts]
    side = np.zeros(int(session.max()) + 1, dtype=np.int64)
    side[session] = sides
    means = np.bincount(of_session, inverse) / np.bincount(of_session)
    first, second = (means[side == number] for number in range(2))
    drawn = _bootstrap_means(first, samples, random) - _bootstrap_means(second, samples, random)
    sizes = len(first), len(second)
    low, high = np.quantile(drawn, percentile_shares(min(sizes)))
    with np.errstate(divide="ignore", invalid="ignore"):  # of a side of one session
        p_value = float(ttest_ind(first, second, equal_var=False).pvalue)
    both = mean(first), mean(second)
    return AssignmentResult(*names, sizes, both, both[0] - both[1], float(low), float(high), p_value)


def _bootstrap_means(values: Floats, samples: int, random: np.random.Generator) -> Floats:
    """Return the means, (samples,), of values drawn with replacement; values are rounded, so that few differ."""
    distinct, times = np.unique(np.round(values, DIGITS), return_counts=True)
    drawn = random.multinomial(len(values), times / len(values), samples)
    return np.asarray(drawn @ distinct / len(values), dtype=np.float64)


class Interleaved(NamedTuple):
    """One list of two rankings' documents.

    Parameters
    ----------
    documents : list of str
        The list.
    sides : list of int
        0 or 1: the ranking that a click on each document counts for.
    credits : list of float
        What the click counts, from 0 to 1.

    """

    documents: list[str]
    sides: list[int]
    credits: list[float]


def _best_first(ranking: Sequence[str] | Mapping[str, float]) -> list[str]:
    """Return the documents of a ranking, each once; documents with scores are in trec_eval's order."""
    return list(dict.fromkeys(Run.of({"query": ranking})["query"] if isinstance(ranking, Mapping) else ranking))


def interleave(
    first: Sequence[str] | Mapping[str, float],
    second: Sequence[str] | Mapping[str, float],
    k: int = 10,
    random: np.random.Generator | int = 0,
) -> Interleaved:
    """Return one list of two rankings' documents by team draft, and what clicks on them count.

    Parameters
    ----------
    first, second : sequence of str, or mapping of str to float
        Documents of the two rankings, best first, or with their scores, as `run[query_id]` has them.
    k : int
        Number of documents of the list, at most.
    random : numpy.random.Generator or int
        Source of chance, or its seed.

    Returns
    -------
    Interleaved
        The list with sides and credits.

    Raises
    ------
    InvalidInputError
        If k is no whole number from 1, or random no generator and no whole number from 0.

    """
    k = read_at("k", COUNT, k)
    if not isinstance(random, np.random.Generator):
        random = np.random.default_rng(read_at("random", SEED, random))
    first, second = _best_first(first), _best_first(second)
    shorter = min(len(first), len(second), k)
    n_common = next((place for place in range(shorter) if first[place] != second[place]), shorter)
    sides = random.integers(2, size=n_common).tolist()
    made = [(name, side, 0.0) for name, side in zip(first, sides, strict=False)]

    def rest(ranking: Sequence[str]) -> list[str]:
        listed = {name for name, _, _ in made}
        return [name for name in ranking if name not in listed]

    while len(made) < k and all(remaining := (rest(first), rest(second))):
        turn = int(random.integers(2))
        replies = [[name for name in remaining[1 - side] if name != remaining[side][0]] for side in range(2)]
        added = [(remaining[turn][0], turn, 1.0)]
        if all(replies):  # of both, whoever begins: otherwise only one side could have credit at the second place
            added.append((replies[turn][0], 1 - turn, 1.0))
        made += added[: k - len(made)]
    for side, ranking in enumerate((first, second)):  # one of them has no more
        made += [(name, side, 0.0) for name in rest(ranking)][: k - len(made)]
    return Interleaved([name for name, _, _ in made], [side for _, side, _ in made], [credit for *_, credit in made])

"""Rankers compared by clicks: interleaving and A/B tests, and off-policy values.

Interleaved lists: in each round a coin decides which side picks first; each side then adds its best document that is
not in the list yet, and a click on it counts 1. What both rankings begin with is shown first, and counts 0. Where one
ranking has no more documents, those of the other follow up to k, and a click on them counts 0. A click is credited to
the ranker that added the document. The ranker with more credit wins the session; ties are left out of the sign test.

Off-policy value: what a ranker would be worth to the searchers of a log that another ranker made. Each click counts
1 / max(theta of its position, clip), the inverse of the probability that it was examined. With the sum v_qd of these
for each pair, the value of a query is the discount that the ranker gives to what was clicked, and that of the log is
its mean over searches (N_q of query q):

    value = sum_q N_q V_q / sum_q N_q
    V_q   = sum_d v_qd w(rank of d) / sum_d v_qd,     w(r) = 1 / log2(1 + r) for r <= depth, else 0

V_q is self-normalised: it is between 0 and 1 whatever the clicks are. Queries without a click are left out.

References
----------
F. Radlinski, M. Kurup and T. Joachims, How Does Clickthrough Data Reflect Retrieval Quality?, CIKM 2008 (algorithm 2,
team draft).
O. Chapelle, T. Joachims, F. Radlinski and Y. Yue, Large-Scale Validation and Analysis of Interleaved Search Evaluation,
ACM TOIS 30(1), 2012 (credit, sign test, clicks on what both rankings begin with).
T. Joachims, A. Swaminathan and T. Schnabel, Unbiased Learning-to-Rank with Biased Feedback, WSDM 2017, section 4.
A. Swaminathan and T. Joachims, The Self-Normalized Estimator for Counterfactual Learning, NIPS 2015.
Effective sample size: A. Owen, Monte Carlo theory, methods and examples, chapter 9.3, (sum w)^2 / sum w^2.

"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rerank.clicks.estimates import Cells, checked_theta, examination
from rerank.clicks.record import Clicks
from rerank.errors import InvalidInputError, log
from rerank.files.inputs import RunLike, run_of
from rerank.types import Floats, Ints, Run, query_rows

ENDS = (0.025, 0.975)  # of a 95 % interval
SAMPLES = 10_000  # of sessions
QUERY_SAMPLES = 1000
NUMBERS_AT_ONCE = 1 << 22
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


@dataclass(frozen=True)
class AssignmentResult:
    """Which of two rankers, of which each session had one, searchers preferred.

    Parameters
    ----------
    first, second : str
        Names of the rankers, in alphabetical order.
    sessions : tuple of int
        Sessions of each.
    means : tuple of float
        Mean of 1 / rank of the first click, over the sessions of each, 0 for a list without a click.
    difference, low, high : float
        First mean less the second, and its 95 % bootstrap interval by session.
    p_value : float
        Welch's t-test, two-sided.

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
        The result. Lists that are not of the experiment do not count.

    Raises
    ------
    InvalidInputError
        If the log does not have two such rankers.

    """
    own, sides, names = _of_two(clicks, rankers)
    session = query_rows(own.list_ptr) if own.session is None else own.session
    number = np.unique(session, return_inverse=True)[1].reshape(-1)
    of_list = query_rows(own.list_ptr)
    shares = np.bincount(of_list, sides) / np.diff(own.list_ptr)
    is_shared = (shares > 0.0) & (shares < 1.0)
    random = np.random.default_rng(seed)
    if not is_shared.any():
        return _assigned(own, names, number, sides, samples, random)
    gains = np.where(sides == 0, 1.0, -1.0) * own.clicked
    if own.credit is not None:
        of_experiment = is_shared | (np.bincount(of_list, own.credit) > 0.0)
        gains = (gains * own.credit)[of_experiment[of_list]]
        number = np.unique(number[of_experiment[of_list]], return_inverse=True)[1].reshape(-1)
    credit = np.asarray(np.round(np.bincount(number, gains), DIGITS), dtype=np.float64)
    return _interleaved(names, credit, samples, random)


def _of_two(clicks: Clicks, rankers: Sequence[str] | None) -> tuple[Clicks, Ints, tuple[str, str]]:
    """Return the rows of two rankers, the side of each, 0 or 1, and their names in alphabetical order."""
    names = sorted(clicks.rankers if rankers is None else rankers)
    unknown = [name for name in names if name not in clicks.rankers]
    if clicks.ranker is None or len(set(names)) != 2 or unknown:
        known = ", ".join(sorted(clicks.rankers)) or "none"
        raise InvalidInputError(
            f"interleaving: expected a log with two rankers, got {len(clicks.rankers)} ({known}). Write the side that "
            "added each document as its ranker, and name two where there are more (`--rankers A,B`, rankers=)."
        )
    first, second = (clicks.rankers.index(name) for name in names)
    own = np.flatnonzero((clicks.ranker == first) | (clicks.ranker == second))
    return clicks.select(own), (clicks.ranker[own] == second).astype(np.int64), (names[0], names[1])


def _interleaved(
    names: tuple[str, str], credit: Floats, samples: int, random: np.random.Generator
) -> InterleavingResult:
    """Return the result of sessions, whose credit is positive where the first ranker has more."""
    from scipy.stats import binomtest

    wins = int((credit > 0).sum())
    losses = int((credit < 0).sum())
    low, high = np.quantile(_bootstrap_means(credit, samples, random), ENDS)
    p_value = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    ties = len(credit) - wins - losses
    return InterleavingResult(*names, wins, losses, ties, float(credit.mean()), float(low), float(high), p_value)


def _assigned(
    clicks: Clicks, names: tuple[str, str], session: Ints, sides: Ints, samples: int, random: np.random.Generator
) -> AssignmentResult:
    from scipy.stats import ttest_ind

    starts = clicks.list_ptr[:-1]
    inverse = np.maximum.reduceat(np.where(clicks.clicked, 1.0 / clicks.position, 0.0), starts)
    of_session = session[starts]
    side = np.zeros(int(session.max()) + 1, dtype=np.int64)
    side[session] = sides
    means = np.bincount(of_session, inverse) / np.bincount(of_session)
    first, second = (np.round(means[side == number], DIGITS) for number in range(2))
    drawn = _bootstrap_means(first, samples, random) - _bootstrap_means(second, samples, random)
    low, high = np.quantile(drawn, ENDS)
    p_value = float(ttest_ind(first, second, equal_var=False).pvalue)
    both = float(first.mean()), float(second.mean())
    sizes = len(first), len(second)
    return AssignmentResult(*names, sizes, both, both[0] - both[1], float(low), float(high), p_value)


def _bootstrap_means(values: Floats, samples: int, random: np.random.Generator) -> Floats:
    """Return means of values, of which few differ, drawn with replacement, (samples,)."""
    distinct, times = np.unique(values, return_counts=True)
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


def interleave(
    first: Sequence[str], second: Sequence[str], k: int = 10, random: np.random.Generator | int = 0
) -> Interleaved:
    """Return one list of two rankings' documents by team draft, and what clicks on them count.

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
    Interleaved
        The list with sides and credits.

    """
    random = np.random.default_rng(random)
    shorter = min(len(first), len(second), k)
    n_common = next((place for place in range(shorter) if first[place] != second[place]), shorter)
    made = Interleaved(list(first[:n_common]), random.integers(2, size=n_common).tolist(), [0.0] * n_common)
    while len(made.documents) < k:
        remaining = [[name for name in ranking if name not in made.documents] for ranking in (first, second)]
        if not all(remaining):
            break
        turn = int(random.integers(2))
        replies = [[name for name in remaining[1 - side] if name != remaining[side][0]] for side in range(2)]
        added = [remaining[turn][0]]
        if all(replies):  # whoever begins: otherwise one side alone could be credited at the second place
            added.append(replies[turn][0])
        added = added[: k - len(made.documents)]
        made.documents.extend(added)
        made.sides.extend([turn, 1 - turn][: len(added)])
        made.credits.extend([1.0] * len(added))
    for side, ranking in enumerate((first, second)):  # one of them has no more
        rest = [document for document in ranking if document not in made.documents][: k - len(made.documents)]
        made.documents.extend(rest)
        made.sides.extend([side] * len(rest))
        made.credits.extend([0.0] * len(rest))
    return made


@dataclass(frozen=True)
class ValueRules:
    """How values are estimated, and when they are refused.

    Parameters
    ----------
    depth : int
        Documents of the ranker that count.
    clip : float
        Least examination by which a click is divided: larger ones give less variance and more bias.
    most_unseen : float
        Largest share of the ranker's first documents that the log never showed.
    least_effective : float
        Least effective number of clicks.
    samples, seed : int
        Bootstrap samples of queries, and the seed of their draw.

    """

    depth: int = 10
    clip: float = 0.05
    most_unseen: float = 0.5
    least_effective: float = 100.0
    samples: int = QUERY_SAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        if self.depth < 1 or not 0.0 < self.clip <= 1.0 or self.samples < 1:
            raise InvalidInputError(
                f"value: expected depth and samples from 1 and clip above 0 up to 1, got {self.depth}, {self.samples} "
                f"and {self.clip}. Give others."
            )


@dataclass(frozen=True)
class OffPolicyValue:
    """The value of a run on a log.

    Parameters
    ----------
    name : str
        Name of the run.
    value, low, high : float
        The estimate and its 95 % bootstrap interval by query; NaN where it is refused.
    effective_clicks : float
        Effective number of clicks, (sum of weights)^2 / sum of squared weights.
    unseen : float
        Share of the run's first documents that the log never showed for the query; they count as not clicked.
    n_queries, n_clicks : int
        Queries of both the run and the log that have a click, and their clicks.
    refusal : str
        Why there is no value; empty where there is one.

    """

    name: str
    value: float
    low: float
    high: float
    effective_clicks: float
    unseen: float
    n_queries: int
    n_clicks: int
    refusal: str = ""


def off_policy_value(
    clicks: Clicks, run: RunLike, rules: ValueRules | None = None, *, theta: ArrayLike | None = None
) -> OffPolicyValue:
    """Estimate from clicks what a run would be worth to the searchers.

    Parameters
    ----------
    clicks : Clicks
        The log, with the query ids of the run.
    run : Run, mapping, DataFrame or path
        The ranking to evaluate.
    rules : ValueRules, optional
        How, and when the estimate is refused.
    theta : array of shape (n_positions,), optional
        Examination by position; estimated from the log if None.

    Returns
    -------
    OffPolicyValue
        The estimate, or the reason why there is none.

    """
    run = run_of(run)
    rules = rules or ValueRules()
    cells = Cells.of(clicks)
    if theta is None:
        seen = examination(cells)
        for note in seen.notes:
            log.warning("clicks: %s", note)
        theta = seen.theta
    of_place = checked_theta(theta, clicks)
    weights = 1.0 / np.maximum(of_place[cells.place], rules.clip)
    in_run = np.array([query in run for query in clicks.query_ids.tolist()], dtype=np.bool_)
    known = in_run[cells.query][cells.pair]
    counts = cells.clicks * known
    total = counts @ weights
    squares = counts @ weights**2
    effective = float(total**2 / squares) if squares > 0 else 0.0
    head = run.head(rules.depth)
    head = head.select(head.query_numbers(clicks.query_ids.tolist()))
    unseen = 1.0 - len(cells.matches(clicks, head)[0]) / max(head.n_rows, 1)
    ratios, searches = _by_query(clicks, cells, cells.by_pair(counts * weights), run, rules.depth)
    refusal = _refusal(rules, effective, unseen, len(ratios))
    value = low = high = float("nan")
    if not refusal:
        value = float(np.average(ratios, weights=searches))
        low, high = _interval(ratios, searches, rules.samples, rules.seed)
    return OffPolicyValue(run.name, value, low, high, effective, unseen, len(ratios), int(counts.sum()), refusal)


def _refusal(rules: ValueRules, effective: float, unseen: float, n_queries: int) -> str:
    """Return why a value would mean nothing, empty where it does."""
    if not n_queries:
        return "expected queries of the run with clicks in the log, got none"
    if unseen > rules.most_unseen:
        return f"expected at most {rules.most_unseen:.0%} of the first documents never shown, got {unseen:.0%}"
    if effective < rules.least_effective:
        return f"expected at least {rules.least_effective:g} effective clicks, got {effective:.0f}"
    return ""


def _by_query(clicks: Clicks, cells: Cells, sums: Floats, run: Run, depth: int) -> tuple[Floats, Floats]:
    """Return the value of each query that has a click, and its number of searches; `sums` are those of the pairs."""
    pairs, rows = cells.matches(clicks, run)
    rank = rows - run.query_ptr[query_rows(run.query_ptr)[rows]] + 1
    discounts = np.zeros(cells.n_pairs)
    discounts[pairs] = np.where(rank <= depth, 1.0 / np.log2(1.0 + rank), 0.0)
    n_queries = len(clicks.query_ids)
    whole = np.bincount(cells.query, sums, n_queries)
    found = np.flatnonzero(whole > 0)
    parts = np.asarray(np.bincount(cells.query, sums * discounts, n_queries), dtype=np.float64)
    searches = np.bincount(clicks.query[clicks.list_ptr[:-1]], minlength=n_queries)
    return parts[found] / whole[found], searches[found].astype(np.float64)


def _interval(values: Floats, weights: Floats, samples: int, seed: int) -> tuple[float, float]:
    """Return the ends of the 95 % percentile interval of the weighted mean; units (n_units,) are drawn at random."""
    random = np.random.default_rng(seed)
    n = len(values)
    size = max(1, NUMBERS_AT_ONCE // n)
    means = []
    for first in range(0, samples, size):
        drawn = random.integers(0, n, (min(size, samples - first), n))
        means.append((weights[drawn] * values[drawn]).sum(axis=1) / weights[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), ENDS)
    return float(low), float(high)

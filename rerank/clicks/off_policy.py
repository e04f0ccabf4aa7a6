"""Off-policy value: what a ranker would be worth to the searchers of a log that another ranker made.

A click counts 1 / max(theta of its position, clip), where theta is the probability that the position is examined. v_qd
is the sum over the clicks on document d of query q. The value V_q of a query is the mean discount of the clicked
documents in the ranker's order, weighted by v_qd. The value of the log is its mean over searches (N_q of query q):

    value = sum_q N_q V_q / sum_q N_q
    V_q   = sum_d v_qd w(rank of d) / sum_d v_qd,     w(r) = 1 / log2(1 + r) for r <= depth, else 0

V_q is self-normalised: it is between 0 and 1 whatever the clicks are. Queries without a click are left out.

A document that the log never showed counts as not clicked, but its v_qd may be anything from 0 to N_q, a click in every
search. Of the ranker's first documents that were never shown, V_q is greatest if the highest-ranked have v_qd = N_q and
the others 0, and least if the lowest-ranked have N_q. These two values are the bounds. The interval goes from the lower
end of the least value's interval to the upper end of the greatest value's.

References
----------
Bounds of what was not observed: C. F. Manski, Nonparametric Bounds on Treatment Effects, AER Papers and Proceedings
80 (1990).
T. Joachims, A. Swaminathan and T. Schnabel, Unbiased Learning-to-Rank with Biased Feedback, WSDM 2017, section 4.
A. Swaminathan and T. Joachims, The Self-Normalized Estimator for Counterfactual Learning, NIPS 2015.
Effective sample size: A. Owen, Monte Carlo theory, methods and examples, chapter 9.3, (sum w)^2 / sum w^2.

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.clicks.cells import Cells, matched_pairs
from rerank.clicks.estimates import checked_theta
from rerank.clicks.examination import examination
from rerank.clicks.record import Clicks
from rerank.errors import log
from rerank.files.inputs import RunLike, run_of
from rerank.runtime.arithmetic import log2_of
from rerank.runtime.fields import COUNT, SEED, Number, read_at
from rerank.runtime.products import array_dot
from rerank.runtime.sums import mean
from rerank.types import Floats, Ints, Run
from rerank.types.intervals import block_sizes, percentile_shares

QUERY_SAMPLES = 1000
NUMBERS_AT_ONCE = 1 << 22  # random numbers that are drawn at once


RULE_FIELDS = {
    "depth": COUNT,
    "clip": Number(1e-6, 1.0),
    "most_unseen": Number(0.0, 1.0),
    "least_effective": Number(0.0),
    "samples": COUNT,
    "seed": SEED,
}


@dataclass(frozen=True)
class ValueRules:
    """How values are estimated, and when they are refused.

    Parameters
    ----------
    depth : int
        Documents of the ranker that count.
    clip : float
        Smaller examination probabilities are raised to it: a larger clip gives less variance and more bias.
    most_unseen : float
        Largest accepted share of the ranker's first documents that the log never showed.
    least_effective : float
        Smallest accepted effective number of clicks.
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
        for name, field in RULE_FIELDS.items():
            read_at(name, field, getattr(self, name))


@dataclass(frozen=True)
class OffPolicyValue:
    """The value of a run on a log.

    Parameters
    ----------
    name : str
        Name of the run.
    value : float
        The estimate; NaN where it is refused, as are least, most, low and high.
    least, most : float
        Bounds of the value, whatever the clicks would be on the run's first documents that the log never showed.
    low, high : float
        Lower end of the 95 % bootstrap interval of `least`, and upper end of that of `most`; queries are drawn.
    effective_clicks : float
        Effective number of clicks, (sum of weights)^2 / sum of squared weights.
    unseen : float
        Share of the run's first documents that the log never showed for the query; they count as not clicked.
    n_queries, n_clicks : int
        Number of queries of both the run and the log that have a click, and number of their clicks.
    refusal : str
        Why there is no value; empty where there is one.

    """

    name: str
    value: float
    least: float
    most: float
    low: float
    high: float
    effective_clicks: float
    unseen: float
    n_queries: int
    n_clicks: int
    refusal: str = ""


def examination_of(clicks: Clicks) -> Floats:
    """Return a log's examination by position, (n_positions,) float64; warn of what could not be estimated."""
    seen = examination(Cells.of(clicks))
    for note in seen.notes:
        log.warning("clicks: %s", note)
    return seen.theta


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
        How the value is estimated, and when it is refused.
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
    of_place = checked_theta(examination_of(clicks) if theta is None else theta, clicks)
    weights = 1.0 / np.maximum(of_place[cells.place], rules.clip)
    n_first = _first_documents(clicks, run, rules.depth)
    counts = cells.clicks * (n_first > 0)[cells.query][cells.pair]
    total = array_dot(counts, weights)
    squares = array_dot(counts, weights**2)
    effective = float(total**2 / squares) if squares > 0 else 0.0
    rank = _ranks(clicks, cells, run)
    unseen = _unseen(cells, rank, n_first)
    share = float(unseen.sum()) / max(int(n_first.sum()), 1)
    values, searches = _by_query(clicks, cells, cells.by_pair(counts * weights), rank, unseen)
    refusal = _refusal(rules, effective, share, len(searches))
    value = least = most = low = high = float("nan")
    if not refusal:
        value, least, most = (mean(column, searches) for column in values)
        low, _ = _interval(values[1], searches, rules.samples, rules.seed)
        _, high = _interval(values[2], searches, rules.samples, rules.seed)
    return OffPolicyValue(
        run.name, value, least, most, low, high, effective, share, len(searches), int(counts.sum()), refusal
    )


def _first_documents(clicks: Clicks, run: Run, depth: int) -> Ints:
    """Return how many of the first `depth` documents the run has for each query of the log, (n_queries,)."""
    sizes = dict(zip(run, np.diff(run.query_ptr).tolist(), strict=True))
    return np.array([min(sizes.get(query_id, 0), depth) for query_id in clicks.query_ids.tolist()], dtype=np.int64)


def _ranks(clicks: Clicks, cells: Cells, run: Run) -> Ints:
    """Return the rank of each pair in the run, (n_pairs,), from 1; 0 where the run does not have the pair."""
    pairs, rows = matched_pairs(run, clicks.query_ids, clicks.doc_ids, cells.query, cells.document)
    rank = np.zeros(cells.n_pairs, dtype=np.int64)
    rank[pairs] = run.places()[rows]
    return rank


def _unseen(cells: Cells, rank: Ints, n_first: Ints) -> NDArray[np.bool_]:
    """Return which of the first documents were never shown, (n_queries, greatest of n_first, at least 1)."""
    n_ranks = max(int(n_first.max(initial=0)), 1)
    unseen = np.arange(n_ranks) < n_first[:, None]
    near = (rank > 0) & (rank <= n_ranks)
    unseen[cells.query[near], rank[near] - 1] = False
    return unseen


def _refusal(rules: ValueRules, effective: float, unseen: float, n_queries: int) -> str:
    """Return why there is no value; empty where there is one."""
    if not n_queries:
        return "expected queries of the run with clicks in the log, got none"
    if unseen > rules.most_unseen:
        return f"expected at most {rules.most_unseen:.0%} of the first documents never shown, got {unseen:.0%}"
    if effective < rules.least_effective:
        return f"expected at least {rules.least_effective:g} effective clicks, got {effective:.0f}"
    return ""


def _by_query(
    clicks: Clicks, cells: Cells, sums: Floats, rank: Ints, unseen: NDArray[np.bool_]
) -> tuple[list[Floats], Floats]:
    """Return the value, least value and greatest value of each query with a click, and its number of searches.

    sums    v_qd of each pair, (n_pairs,)
    rank    of each pair in the run, (n_pairs,), from 1; 0 for none
    unseen  (n_queries, n_ranks) whether the document at a rank was never shown
    """
    n_queries, n_ranks = unseen.shape
    of_rank = np.append(1.0 / log2_of(np.arange(2.0, n_ranks + 2.0)), 0.0)  # the last: without a rank, or below all
    discounts = of_rank[np.where(rank <= n_ranks, rank, 0) - 1]
    whole = np.asarray(np.bincount(cells.query, sums, n_queries), dtype=np.float64)
    found = np.flatnonzero(whole > 0)
    parts = np.asarray(np.bincount(cells.query, sums * discounts, n_queries), dtype=np.float64)
    searches = np.bincount(clicks.query[clicks.list_ptr[:-1]], minlength=n_queries)[found].astype(np.float64)
    parts, whole, unseen = parts[found], whole[found], unseen[found]
    value = parts / whole
    added = np.where(unseen, searches[:, None], 0.0)  # v_qd of each document never shown
    gained = added * of_rank[:-1]
    from_first, from_last = (
        (parts[:, None] + gained[:, order].cumsum(axis=1)) / (whole[:, None] + added[:, order].cumsum(axis=1))
        for order in (slice(None), slice(None, None, -1))
    )
    return [value, np.minimum(value, from_last.min(axis=1)), np.maximum(value, from_first.max(axis=1))], searches


def _interval(values: Floats, weights: Floats, samples: int, seed: int) -> tuple[float, float]:
    """Return the ends of the 95 % bootstrap interval of the weighted mean of values (n_queries,)."""
    random = np.random.default_rng(seed)
    n = len(values)
    means = []
    for size in block_sizes(samples, n, NUMBERS_AT_ONCE):
        drawn = random.integers(0, n, (size, n))
        means.append((weights[drawn] * values[drawn]).sum(axis=1) / weights[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), percentile_shares(n))
    return float(low), float(high)

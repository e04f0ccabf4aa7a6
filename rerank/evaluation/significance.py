"""Significance tests of paired differences, bootstrap intervals, and judgements of a machine against those of people.

Comparisons over the same number of queries share their random samples. One matrix product for each block of samples
replaces a call of `scipy.stats.permutation_test` or `bootstrap` for each comparison: 100 times as fast for twenty runs
and five measures. The unit tests compare the results with SciPy's. A result does not depend on the other comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, check_known
from rerank.evaluation.evaluate import evaluate
from rerank.files.inputs import QrelsLike, RunLike, qrels_of, run_of
from rerank.metrics.base import MEAN
from rerank.metrics.registry import parse_measure
from rerank.runtime.fields import Number, read_at
from rerank.runtime.sums import mean, total
from rerank.types import Floats, Ints, Shown, counted
from rerank.types.ids import warn_apart
from rerank.types.intervals import LEVEL, block_sizes, percentile_shares

SAMPLES = 10_000
BLOCK = 1 << 20  # random numbers that are drawn at once
MOST_RANKED = 50  # largest number of queries for which Wilcoxon's test is exact
DIGITS = 12  # to which differences are rounded: later digits of equal differences may not agree
EQUAL_SUMS = 1e-10  # relative tolerance for ties of sums that are computed in different orders


def randomisation_p_values(differences: Floats, samples: int = SAMPLES, seed: int = 0) -> Floats:
    """Return the two-sided p-value of each column in Fisher's randomisation test of the mean.

    Shapes: differences float64 (n_queries, n_columns).

    B. Phipson and G. Smyth, Permutation P-values Should Never Be Zero, Statistical Applications in Genetics and
    Molecular Biology 9(1), 2010.
    """
    n = len(differences)
    sizes = np.sort(np.abs(differences), axis=0)  # neither the order of queries nor signs have an effect
    observed = np.abs(differences.sum(axis=0)) * (1.0 - EQUAL_SUMS)
    exhaustive = n < 63 and 2**n <= samples
    extreme = np.zeros(differences.shape[1])
    for signs in _all_signs(n) if exhaustive else _drawn_signs(n, samples, seed):
        extreme += (np.abs(signs @ sizes) >= observed).sum(axis=0)
    return extreme / 2**n if exhaustive else (extreme + 1.0) / (samples + 1.0)


def bootstrap_intervals(
    differences: Floats, level: float = LEVEL, samples: int = SAMPLES, seed: int = 0
) -> tuple[Floats, Floats]:
    """Return the lower and upper end of the bootstrap interval of the mean of each column, see `percentile_shares`.

    Shapes: differences float64 (n_queries, n_columns); low, high float64 (n_columns,).
    """
    n = len(differences)
    random = np.random.default_rng(seed)
    in_order = np.sort(differences, axis=0)  # the order of queries has no effect
    means = []
    for size in block_sizes(samples, n, BLOCK):
        rows = random.integers(0, n, (size, n)) + np.arange(size)[:, None] * n
        times = np.bincount(rows.ravel(), minlength=size * n).reshape(size, n)
        means.append(times.astype(np.float64) @ in_order / n)
    low, high = np.quantile(np.concatenate(means), percentile_shares(n, level), axis=0)
    return low, high


def _all_signs(n: int) -> Iterator[Floats]:
    yield _signs((np.arange(2**n)[:, None] >> np.arange(n)) & 1)


def _drawn_signs(n: int, samples: int, seed: int) -> Iterator[Floats]:
    random = np.random.default_rng(seed)
    for size in block_sizes(samples, n, BLOCK):
        drawn = np.frombuffer(random.bytes(-(-size * n // 8)), dtype=np.uint8)
        yield _signs(np.unpackbits(drawn, count=size * n).reshape(size, n))


def _signs(bits: NDArray[Any]) -> Floats:
    return bits.astype(np.float64) * 2.0 - 1.0


TESTS = {
    "t": "two-sided paired t-test",
    "wilcoxon": "two-sided Wilcoxon signed-rank test (queries without a difference left out; exact up to 50 others)",
    "randomisation": "two-sided randomisation test of the mean difference",
}
CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini-Hochberg",
    "none": "no correction",
}


@dataclass(frozen=True)
class PairedDifference:
    """Difference of a system to the baseline over the same queries.

    Parameters
    ----------
    n_queries : int
        Number of queries of both runs.
    difference : float
        Mean difference, in units of the measure.
    low, high : float
        95 % bootstrap interval of the mean difference, of expanded percentiles.
    effect_size : float
        Cohen's d of paired differences (d_z): their mean divided by their standard deviation (n - 1); 0 if no query
        differs, infinite if all differ by the same amount.
    wins, ties, losses : int
        Number of queries in which the system is better, equal, worse.
    t : float
        Statistic of the paired t-test.
    p_values : mapping of str to float
        Uncorrected p-value of each test (`t`, `wilcoxon`, `randomisation`); 1 if no query differs, or for one query.

    """

    n_queries: int
    difference: float
    low: float
    high: float
    effect_size: float
    wins: int
    ties: int
    losses: int
    t: float
    p_values: Mapping[str, float]


def paired_differences(differences: Floats, samples: int = SAMPLES, seed: int = 0) -> list[PairedDifference]:
    """Return the statistics and tests of each column of differences.

    Shapes: differences float64 (n_queries, n_columns).
    """
    low, high = bootstrap_intervals(differences, LEVEL, samples, seed)
    randomised = randomisation_p_values(differences, samples, seed)
    return [
        _summarised(column, float(low[number]), float(high[number]), float(randomised[number]))
        for number, column in enumerate(differences.T)
    ]


def corrected(p_values: Sequence[float], correction: str) -> list[float]:
    """Return p-values corrected for multiple comparisons.

    S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6, 1979;
    Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical Society B 57,
    1995.
    """
    p = np.array(p_values, dtype=np.float64)
    n = len(p)
    check_known("correction", correction, CORRECTIONS)
    if correction == "bonferroni":
        return np.minimum(p * n, 1.0).tolist()  # type: ignore[no-any-return]
    if correction == "holm" and n:
        order = np.argsort(p, kind="stable")
        p[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(n, 0, -1)), 1.0)
    if correction == "bh" and n:
        from scipy.stats import false_discovery_control

        p = false_discovery_control(p)
    return p.tolist()  # type: ignore[no-any-return]


def _summarised(difference: Floats, low: float, high: float, randomised: float) -> PairedDifference:
    rounded = np.round(difference, DIGITS)
    wins = int((rounded > 0).sum())
    losses = int((rounded < 0).sum())
    t, t_p, wilcoxon_p = _tests(rounded)
    return PairedDifference(
        len(difference),
        mean(difference),
        low,
        high,
        t / float(np.sqrt(len(difference))),  # t = d_z * sqrt(n)
        wins,
        len(difference) - wins - losses,
        losses,
        t,
        {"t": t_p, "wilcoxon": wilcoxon_p, "randomisation": randomised},
    )


def _tests(difference: Floats) -> tuple[float, float, float]:
    """Return t, its p-value and Wilcoxon's; t from SciPy unless all differences are equal, where SciPy divides by 0."""
    if not difference.any():
        return 0.0, 1.0, 1.0
    from scipy.stats import ttest_1samp

    wilcoxon_p = _wilcoxon_p_value(difference)
    if np.ptp(difference) == 0.0:
        t_p = 1.0 if len(difference) == 1 else 0.0  # one query has no degree of freedom
        return float(np.copysign(np.inf, difference[0])), t_p, wilcoxon_p
    result = ttest_1samp(difference, 0.0)
    return float(result.statistic), float(result.pvalue), wilcoxon_p


def _wilcoxon_p_value(difference: Floats) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test, exact for few queries, also with ties.

    Where differences are tied, SciPy's p-value depends on its version: it is approximate, or exact without regard to
    ties.
    """
    from scipy.stats import rankdata, wilcoxon

    changed = difference[difference != 0.0]
    if len(changed) > MOST_RANKED:
        return float(wilcoxon(difference).pvalue)
    ranks = np.rint(2.0 * rankdata(np.abs(changed))).astype(np.int64)  # doubled: whole numbers, also for ties
    shares = np.ones(1)  # of all patterns of signs, by the doubled sum of the ranks of wins
    for rank in ranks.tolist():
        shares = 0.5 * (np.pad(shares, (0, rank)) + np.pad(shares, (rank, 0)))
    observed = ranks[changed > 0.0].sum()
    return min(2.0 * min(total(shares[: observed + 1]), total(shares[observed:])), 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Shown):
    """Labels that two judges gave to the same documents.

    Parameters
    ----------
    labels : ndarray of shape (n_labels,), dtype int64
        The labels that occur, ascending.
    counts : ndarray of shape (n_labels, n_labels), dtype int64
        Number of documents by the label of the people (row) and of the machine (column).

    """

    labels: Ints
    counts: Ints

    @property
    def kappa(self) -> float:
        """Cohen's kappa with quadratic weights: 1 is full agreement, 0 chance; NaN where all labels are equal.

        J. Cohen, Weighted Kappa: Nominal Scale Agreement with Provision for Scaled Disagreement or Partial Credit,
        Psychological Bulletin 70(4), 1968.
        """
        weights = np.square(np.subtract.outer(self.labels, self.labels).astype(np.float64))
        by_chance = np.outer(self.counts.sum(axis=1), self.counts.sum(axis=0)) / self.counts.sum()
        expected = (weights * by_chance).sum()
        return float(1.0 - (weights * self.counts).sum() / expected) if expected > 0 else float("nan")

    def summary(self) -> str:
        """Return the number of documents and kappa in one line."""
        equal = f"{int(self.counts.trace()):,} with the same label, quadratic-weighted kappa {self.kappa:.3f}"
        return f"Agreement: {counted(int(self.counts.sum()), 'document')}, {equal}"

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the first n rows of the confusion matrix."""
        rows = [[label, *row] for label, row in zip(self.labels.tolist(), self.counts.tolist(), strict=True)]
        return ["people", *(f"machine {label}" for label in self.labels.tolist())], rows[:n], len(rows)


@dataclass(frozen=True)
class PredictionPoweredMean:
    """A measure of a run, estimated from the judgements of a machine and of people.

    Parameters
    ----------
    measure : str
        Name of the measure.
    value : float
        The estimate.
    low, high : float
        Its confidence interval.
    machine : float
        The mean over the queries that the machine judged, by its judgements alone.
    people : float
        The mean over the queries that people judged, too, by their judgements alone.
    n_machine, n_people : int
        Number of queries that the machine judged, and of those that people judged, too.

    """

    measure: str
    value: float
    low: float
    high: float
    machine: float
    people: float
    n_machine: int
    n_people: int


def agreement(people: QrelsLike, machine: QrelsLike) -> Agreement:
    """Compare the labels of the documents that people and a machine judged.

    Parameters
    ----------
    people, machine : Qrels, mapping, DataFrame or path
        The judgements, or their files.

    Returns
    -------
    Agreement
        Confusion matrix and quadratic-weighted kappa.

    Raises
    ------
    InvalidInputError
        If no document is judged by both.

    """
    people = qrels_of(people)
    machine = qrels_of(machine)
    warn_apart("people", people, machine)
    rows, others = people.matches(machine.query_ids, machine.query_ptr, machine.doc_ids)
    if not len(rows):
        raise InvalidInputError(
            "agreement: expected documents that people and the machine judged, got none. Judge some documents twice."
        )
    labels, numbers = np.unique(np.concatenate([people.labels[others], machine.labels[rows]]), return_inverse=True)
    cells = numbers[: len(rows)] * len(labels) + numbers[len(rows) :]
    return Agreement(labels, np.bincount(cells, minlength=len(labels) ** 2).reshape(len(labels), len(labels)))


def prediction_powered(
    people: QrelsLike, machine: QrelsLike, run: RunLike, measure: Any = "nDCG@10", *, level: float = LEVEL
) -> PredictionPoweredMean:
    """Estimate a measure from a machine's judgements of all queries and people's judgements of some.

    The estimate is the mean over all N queries by the machine's judgements, plus a correction: the mean difference
    between people's and the machine's judgements over the n queries that people judged. It is unbiased, however wrong
    the machine is, if the n queries are a random sample of the N. The better the machine, the shorter the interval.

    Parameters
    ----------
    people : Qrels, mapping, DataFrame or path
        Judgements of people, for some of the queries that the machine judged.
    machine : Qrels, mapping, DataFrame or path
        Judgements of the machine.
    run : Run, mapping, DataFrame or path
        The run to evaluate. A query that is not in it counts as 0.
    measure : str, Measure or measure of ir_measures
        A measure that is averaged over queries.
    level : float
        Probability that the interval contains the mean over the queries' population.

    Returns
    -------
    PredictionPoweredMean
        The estimate with its interval, and the mean by the judgements of each side alone.

    Raises
    ------
    InvalidInputError
        If people judged fewer than two of the machine's queries, the measure is no mean over queries, or the level no
        number between 0 and 1.

    References
    ----------
    A. Angelopoulos, S. Bates, C. Fannjiang, M. Jordan and T. Zrnic, Prediction-powered inference, Science 382, 2023.
    There, the queries that people judged are not among the N; here they are, as in double sampling (W. Cochran,
    Sampling Techniques, 3rd edition, 1977, chapter 12), which adds the covariance of the two means to the variance. The
    interval has Student's quantile of n - 1 degrees of freedom in place of the normal one, which is too short for few
    queries.

    """
    people = qrels_of(people)
    machine = qrels_of(machine)
    warn_apart("people", people, machine)
    run = run_of(run)
    parsed = parse_measure(measure)
    if parsed.averaging != MEAN:
        raise InvalidInputError(
            f"measure {parsed.name}: expected a mean over queries, got the {parsed.averaging}. Name another measure."
        )
    level = read_at("level", Number(1e-6, 1.0 - 1e-6), level)
    shared = [query_id for query_id in machine if query_id in people]
    if len(shared) < 2:
        raise InvalidInputError(
            f"people: expected judgements of at least 2 queries that the machine judged, got {len(shared)}. Judge more."
        )
    by_machine = evaluate(machine, run, [parsed], complete=True)
    by_people = evaluate(people.select(people.query_numbers(shared)), run, [parsed], complete=True)
    both = np.flatnonzero(np.isin(by_machine.query_ids, by_people.query_ids))  # results are in the order of the ids
    name = parsed.name
    means = (by_machine[parsed], by_people[parsed])
    value, half = mean_and_half_width(by_machine.vector(name), both, by_people.vector(name), level)
    return PredictionPoweredMean(name, value, value - half, value + half, *means, len(by_machine.query_ids), len(both))


def mean_and_half_width(machine: Floats, both: Ints, people: Floats, level: float) -> tuple[float, float]:
    """Return the estimated mean and half the length of its confidence interval.

    Shapes: machine (n_machine,); both (n_people,), the rows of `machine` that people judged; people (n_people,).
    """
    from scipy.special import stdtrit

    change = people - machine[both]
    covariance = np.cov(machine[both], change)
    variance = (machine.var(ddof=1) + 2.0 * covariance[0, 1]) / len(machine) + covariance[1, 1] / len(both)
    half = stdtrit(len(both) - 1, (1.0 + level) / 2.0) * np.sqrt(max(variance, 0.0))
    return float(machine.mean() + change.mean()), float(half)

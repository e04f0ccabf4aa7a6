"""Paired significance tests of differences to a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rerank.errors import unknown_name
from rerank.evaluation.resampling import SAMPLES, bootstrap_intervals, randomisation_p_values
from rerank.types import Floats

TESTS = {
    "t": "two-sided paired t-test",
    "wilcoxon": "two-sided Wilcoxon signed-rank test (queries without a difference left out)",
    "randomisation": "two-sided randomisation test of the mean difference",
}
CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini-Hochberg",
    "none": "no correction",
}
LEVEL = 0.95  # level of the bootstrap interval; a p-value below 1 - LEVEL is significant


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
        Its 95 % percentile bootstrap interval.
    effect_size : float
        Cohen's d of paired differences (d_z): their mean divided by their standard deviation (n - 1); 0 if no query
        differs, infinite if all differ by the same amount.
    wins, ties, losses : int
        Number of queries in which the system is better, equal, worse.
    t : float
        Statistic of the paired t-test.
    p_values : mapping of str to float
        Uncorrected p-value of each test (`t`, `wilcoxon`, `randomisation`); 1 if no query differs.

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
    p, n = np.asarray(p_values, dtype=np.float64), len(p_values)
    if correction not in CORRECTIONS:
        raise unknown_name("correction", correction, CORRECTIONS)
    if correction == "bonferroni":
        return np.minimum(p * n, 1.0).tolist()  # type: ignore[no-any-return]
    if correction == "holm" and n:
        order = np.argsort(p, kind="stable")
        raised = np.maximum.accumulate(p[order] * np.arange(n, 0, -1))
        p[order] = np.minimum(raised, 1.0)
    if correction == "bh" and n:
        from scipy.stats import false_discovery_control

        p = false_discovery_control(p)
    return p.tolist()  # type: ignore[no-any-return]


def _summarised(difference: Floats, low: float, high: float, randomised: float) -> PairedDifference:
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    t, t_p, wilcoxon_p = _tests(difference)
    return PairedDifference(
        len(difference),
        float(difference.mean()),
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
    """Return t, its p-value and Wilcoxon's, from SciPy unless all differences are equal, where SciPy divides by 0."""
    if not difference.any():
        return 0.0, 1.0, 1.0
    from scipy.stats import ttest_1samp, wilcoxon

    wilcoxon_p = float(wilcoxon(difference).pvalue)
    if np.ptp(difference) == 0.0:
        return float(np.copysign(np.inf, difference[0])), 0.0, wilcoxon_p
    result = ttest_1samp(difference, 0.0)
    return float(result.statistic), float(result.pvalue), wilcoxon_p

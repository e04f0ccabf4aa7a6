"""Whether systems differ from a baseline on the same queries."""

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
LEVEL = 0.95  # of the bootstrap interval; a p below 1 - LEVEL is called significant


@dataclass(frozen=True)
class PairedDifference:
    """System minus baseline over the same queries.

    n_queries          queries that both answer
    difference         mean difference, in units of the measure
    low, high          its bootstrap interval (percentiles, 95 %)
    effect_size        Cohen's d of paired differences (d_z): their mean over their standard deviation (n - 1);
                       0 where no query differs, infinite where all differ by the same amount
    wins, ties, losses queries in which the system is better, equal, worse
    t                  statistic of the paired t-test
    p_values           p by test (`t`, `wilcoxon`, `randomisation`), uncorrected; 1 where no query differs
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
    """Describe and test each column of differences.

    differences    (n_queries, n_columns) float64, system minus baseline, at least two queries; a column is one run
                   under one measure
    samples, seed  of the randomisation test and the bootstrap
    """
    low, high = bootstrap_intervals(differences, LEVEL, samples, seed)
    randomised = randomisation_p_values(differences, samples, seed)
    return [
        _described(column, float(low[number]), float(high[number]), float(randomised[number]))
        for number, column in enumerate(differences.T)
    ]


def corrected(p_values: Sequence[float], correction: str) -> list[float]:
    """Return p-values adjusted for being looked at together, in the order given.

    correction  `holm` (Holm 1979), `bonferroni`, `bh` (Benjamini and Hochberg 1995, a false discovery rate) or `none`
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


def _described(difference: Floats, low: float, high: float, randomised: float) -> PairedDifference:
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
    """Return t, its p and Wilcoxon's p; SciPy's, but for differences that are all alike, where it divides by 0."""
    if not difference.any():
        return 0.0, 1.0, 1.0
    from scipy.stats import ttest_1samp, wilcoxon

    wilcoxon_p = float(wilcoxon(difference).pvalue)
    if np.ptp(difference) == 0.0:
        return float(np.copysign(np.inf, difference[0])), 0.0, wilcoxon_p
    found = ttest_1samp(difference, 0.0)
    return float(found.statistic), float(found.pvalue), wilcoxon_p

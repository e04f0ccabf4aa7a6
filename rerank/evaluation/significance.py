"""Whether two systems differ on the same queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.errors import InvalidInputError
from rerank.types import Floats


@dataclass(frozen=True)
class PairedDifference:
    """System minus baseline over the same queries.

    difference  mean difference, in units of the measure
    t, p_value  two-sided paired t-test; p is 1 where no query differs
    """

    difference: float
    t: float
    p_value: float
    wins: int
    ties: int
    losses: int


def paired_difference(system: Floats, baseline: Floats) -> PairedDifference:
    """Compare two systems' values (n_queries,) float64 of the same queries in the same order.

    Raises InvalidInputError where the queries differ in number or are fewer than two.
    """
    if system.shape != baseline.shape or len(system) < 2:
        raise InvalidInputError(
            "paired t-test: expected the same queries, at least two, in both systems, "
            f"found {len(system)} and {len(baseline)}; evaluate both on the same queries."
        )
    difference = system - baseline
    t, p_value = _t_test(difference)
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    return PairedDifference(float(difference.mean()), t, p_value, wins, len(difference) - wins - losses, losses)


def _t_test(difference: Floats) -> tuple[float, float]:
    """Return t and its two-sided p, as `scipy.stats.ttest_rel` (whose import takes longer than all the rest)."""
    if not difference.any():
        return 0.0, 1.0
    if np.ptp(difference) == 0.0:  # every query moved by the same amount: no variance to test against
        return float(np.copysign(np.inf, difference[0])), 0.0
    from scipy.special import stdtr

    n = len(difference)
    t = float(difference.mean() / (difference.std(ddof=1) / np.sqrt(n)))
    return t, float(2.0 * stdtr(n - 1, -abs(t)))

"""Intervals hold the mean as often as they say, also of few values."""

import numpy as np
import pytest
from scipy import stats

from rerank.types.intervals import LEVEL, percentile_shares


@pytest.mark.parametrize("n", [2, 5, 10, 50, 1000])
def test_shares_are_those_of_students_distribution(n: int) -> None:
    below, above = percentile_shares(n)
    assert below == pytest.approx(stats.norm.cdf(np.sqrt(n / (n - 1)) * stats.t.ppf(0.025, n - 1)), rel=1e-9)
    assert above == 1.0 - below


def test_shares_of_one_value_are_all() -> None:
    assert percentile_shares(1) == (0.0, 1.0)


def test_mean_lies_in_95_of_100_intervals_of_ten_values() -> None:
    """Between the percentiles 2.5 and 97.5 it lies in 90."""
    random = np.random.default_rng(0)
    values = random.normal(size=(4000, 10))
    means = np.stack([sample[random.integers(0, 10, (1000, 10))].mean(axis=1) for sample in values])
    held = {}
    for name, shares in (("plain", (0.025, 0.975)), ("expanded", percentile_shares(10))):
        low, high = np.quantile(means, shares, axis=1)
        held[name] = np.mean((low <= 0.0) & (high >= 0.0))
    assert held["plain"] == pytest.approx(0.904, abs=0.012)
    assert held["expanded"] == pytest.approx(LEVEL, abs=0.012)

"""Sums that are the same with every version of NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rerank.runtime.sums import BUFFER, mean, total

LENGTHS = (0, 1, 7, BUFFER, BUFFER + 1, BUFFER + 16, 2 * BUFFER + 3, 5 * BUFFER + 8)


def shares(n: int) -> np.ndarray:
    """Return 1, 1/2, 1/3, ...: numbers of which no sum is exact."""
    return 1.0 / np.arange(1.0, n + 1.0)


def in_halves(numbers: list[float]) -> float:
    """Return the sum in NumPy's order: eight sums of every eighth of 128 numbers, halves of multiples of eight."""
    if len(numbers) > 128:
        half = len(numbers) // 2 - len(numbers) // 2 % 8
        return in_halves(numbers[:half]) + in_halves(numbers[half:])
    whole = len(numbers) - len(numbers) % 8
    sums = list(numbers[:8]) if whole else [-0.0]
    for first in range(8, whole, 8):
        sums = [one + other for one, other in zip(sums, numbers[first : first + 8], strict=True)]
    while len(sums) > 1:
        sums = [sums[i] + sums[i + 1] for i in range(0, len(sums), 2)]
    for number in numbers[whole:]:
        sums[0] += number
    return sums[0]


@pytest.mark.parametrize("n", LENGTHS)
def test_total_adds_in_one_order(n: int) -> None:
    assert total(shares(n)) == in_halves(shares(n).tolist())
    assert total(shares(n)[:, None]) == total(shares(n))
    assert total(np.arange(n)) == math.fsum(range(n))


@pytest.mark.parametrize("n", LENGTHS[1:])
def test_mean_is_that_of_the_totals(n: int) -> None:
    weights = shares(n)[::-1]
    assert mean(shares(n)) == total(shares(n)) / n
    assert mean(shares(n), weights) == total(shares(n) * weights) / total(weights)
    assert mean(shares(n), weights) == pytest.approx(np.average(shares(n), weights=weights), rel=1e-12)

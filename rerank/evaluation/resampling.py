"""Resampling of paired differences: randomisation tests and bootstrap intervals of many comparisons at once.

Comparisons over the same number of queries share their samples. One matrix product for each block replaces
`scipy.stats.permutation_test` and `bootstrap` for each comparison, which is 100 times as fast for twenty runs and five
measures. The tests compare both with SciPy. A result does not depend on the other comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types import Floats

SAMPLES = 10_000
BLOCK = 1 << 20  # random numbers of a block
ROUNDING = 1e-10  # relative tolerance for ties of sums that are computed in different orders


def randomisation_p_values(differences: Floats, samples: int = SAMPLES, seed: int = 0) -> Floats:
    """Return the two-sided p-value of each column in Fisher's randomisation test of the mean.

    Shapes: differences float64 (n_queries, n_columns).

    B. Phipson and G. Smyth, Permutation P-values Should Never Be Zero, Statistical Applications in Genetics and
    Molecular Biology 9(1), 2010.
    """
    observed = np.abs(differences.sum(axis=0)) * (1.0 - ROUNDING)
    exhaustive = len(differences) < 63 and 2 ** len(differences) <= samples
    blocks = _all_signs(len(differences)) if exhaustive else _drawn_signs(len(differences), samples, seed)
    extreme = np.zeros(differences.shape[1])
    for signs in blocks:
        extreme += (np.abs(signs @ differences) >= observed).sum(axis=0)
    return extreme / 2 ** len(differences) if exhaustive else (extreme + 1.0) / (samples + 1.0)


def bootstrap_intervals(
    differences: Floats, level: float = 0.95, samples: int = SAMPLES, seed: int = 0
) -> tuple[Floats, Floats]:
    """Return the lower and upper end of the percentile bootstrap interval of the mean of each column.

    Shapes: differences float64 (n_queries, n_columns); low, high float64 (n_columns,).
    """
    n, random = len(differences), np.random.default_rng(seed)
    means = []
    for size in _block_sizes(samples, n):
        rows = random.integers(0, n, (size, n)) + np.arange(size)[:, None] * n
        times = np.bincount(rows.ravel(), minlength=size * n).reshape(size, n)
        means.append(times.astype(np.float64) @ differences / n)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(np.concatenate(means), [tail, 1.0 - tail], axis=0)
    return low, high


def _all_signs(n: int) -> Iterator[Floats]:
    patterns = np.arange(2**n)
    yield _signs((patterns[:, None] >> np.arange(n)) & 1)


def _drawn_signs(n: int, samples: int, seed: int) -> Iterator[Floats]:
    random = np.random.default_rng(seed)
    for size in _block_sizes(samples, n):
        drawn = np.frombuffer(random.bytes(-(-size * n // 8)), dtype=np.uint8)
        yield _signs(np.unpackbits(drawn, count=size * n).reshape(size, n))


def _signs(bits: NDArray[Any]) -> Floats:
    return bits.astype(np.float64) * 2.0 - 1.0


def _block_sizes(samples: int, n: int) -> list[int]:
    size = max(1, BLOCK // n)
    return [min(size, samples - start) for start in range(0, samples, size)]

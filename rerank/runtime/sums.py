"""Sums and means of arrays, the same bits with every version of NumPy.

NumPy adds the numbers of an array in pairs of halves: all of them from version 2.3 on, before only those of each 8,192,
the size of its buffer. Sums of more numbers differ in their last digits between these versions.
"""

import numpy as np
from numpy.typing import ArrayLike

from rerank.runtime.arithmetic import Floats

BUFFER = 1 << 13  # numbers that every version adds in the same order


def total(values: ArrayLike) -> float:
    """Return the sum of the numbers of an array, in the order of NumPy from version 2.3 on."""
    numbers = np.ravel(values)
    if len(numbers) <= BUFFER:
        return float(numbers.sum())
    half = len(numbers) // 16 * 8
    return total(numbers[:half]) + total(numbers[half:])


def mean(values: ArrayLike, weights: Floats | None = None) -> float:
    """Return the mean of the numbers of an array, weighted by others of its shape."""
    if weights is None:
        return total(values) / np.size(values)
    return total(np.asarray(values, np.float64) * weights) / total(weights)

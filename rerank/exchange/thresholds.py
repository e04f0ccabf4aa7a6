"""Thresholds between systems: float32 or float64, `<` or `<=`, moved to the next float32 where these differ.

Values are float32 here, and `x <= threshold` goes left. A test of float32 values against a float64 threshold has the
same outcome as the test `<=` against the largest float32 that passes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types import Floats

LARGEST = np.finfo(np.float32).max
Floats32 = NDArray[np.float32]


def at_most(threshold: Floats) -> Floats32:
    """Return the largest float32 that is <= each threshold (n,) float64; -inf where no finite one is."""
    return _largest(threshold, np.greater)


def less_than(threshold: Floats) -> Floats32:
    """Return the largest float32 that is < each threshold (n,) float64; -inf where no finite one is."""
    return _largest(threshold, np.greater_equal)


def _largest(threshold: Floats, too_large: Any) -> Floats32:
    with np.errstate(over="ignore"):  # beyond float32 is infinite
        nearest = np.asarray(threshold, dtype=np.float64).astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(too_large(nearest.astype(np.float64), threshold), below, nearest)


def next_above(threshold: Floats32) -> Floats32:
    """Return the next float32 above each threshold: `x < next` goes left where `x <= threshold` does."""
    with np.errstate(over="ignore"):
        return np.nextafter(threshold, np.float32(np.inf))

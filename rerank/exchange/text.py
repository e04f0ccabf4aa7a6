"""Numbers as text that every reader takes for the same number: all digits of the float64 that the number is."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def decimal(value: float) -> str:
    """Return the shortest text that is this float64."""
    return repr(float(value))


def decimals(values: NDArray[Any]) -> str:
    """Return numbers (n,) with a space between."""
    return " ".join(map(repr, values.astype(float).tolist()))

"""Checks of arrays that were read from a history file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class HistoryFault(ValueError):
    """An error in a history file; the message is a short description of what was found."""


def check_pointers(name: str, ptr: NDArray[Any], n: int, end: int) -> None:
    """Raise unless `ptr` has n + 1 numbers that rise from 0 to `end`."""
    if ptr.shape != (n + 1,) or ptr[0] != 0 or ptr[-1] != end or (ptr[1:] < ptr[:-1]).any():
        raise HistoryFault(f"{name} that are no {n + 1} numbers from 0 to {end}")


def check_numbers(name: str, values: NDArray[Any], least: float, most: float) -> None:
    """Raise unless all values are from `least` to `most`, and none is NaN."""
    if not ((values >= least) & (values <= most)).all():
        raise HistoryFault(f"{name} beyond {least:g} to {most:g}")


def check_ascending(name: str, ptr: NDArray[Any], values: NDArray[Any]) -> None:
    """Raise unless the values of each group ascend strictly."""
    starts = np.zeros(len(values) + 1, dtype=np.bool_)
    starts[ptr] = True
    if ((np.diff(values) <= 0) & ~starts[1:-1]).any():
        raise HistoryFault(f"{name} that do not ascend")

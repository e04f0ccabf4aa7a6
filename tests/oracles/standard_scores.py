"""Standardised scores, one document at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence


def standard_scores(values: Sequence[float], ranks: Sequence[Sequence[float]]) -> list[float]:
    """Return the standardised values of the documents of one query.

    values  one for each document, NaN where it is missing
    ranks   of each document, its ranks in the sources, NaN where a source lacks it
    """
    known = [value for value in values if not math.isnan(value)]
    values = [min(known, default=0.0) if math.isnan(value) else value for value in values]
    first = [
        value for value, of in zip(values, ranks, strict=True) if any(rank <= 100 for rank in of) or all_empty(ranks)
    ]
    if len(set(first)) < 2:
        return [0.0] * len(values)
    mean = math.fsum(first) / len(first)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in first) / len(first))
    return [max(-5.0, min(5.0, (value - mean) / deviation)) for value in values]


def all_empty(ranks: Sequence[Sequence[float]]) -> bool:
    """Return whether there are no sources."""
    return all(len(of) == 0 for of in ranks)

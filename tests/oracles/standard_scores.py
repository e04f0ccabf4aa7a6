"""Standardised scores, one document at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence


def standard_scores(values: Sequence[float], ranks: Sequence[float]) -> list[float]:
    """Return the standardised values of the documents of one query.

    values  one for each document, NaN where it is missing
    ranks   of the documents among the candidates
    """
    known = [value for value in values if not math.isnan(value)]
    values = [min(known, default=0.0) if math.isnan(value) else value for value in values]
    first = [value for value, rank in zip(values, ranks, strict=True) if rank <= 100]
    if len(set(first)) < 2:
        return [0.0] * len(values)
    mean = math.fsum(first) / len(first)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in first) / len(first))
    return [max(-5.0, min(5.0, (value - mean) / deviation)) for value in values]

"""Slow, obvious line search: the measure between all crossings of two lines of a query."""

from __future__ import annotations

import numpy as np

from rerank.rankers.validation import Validation


def crossings(train, start, slope):
    """Every t at which two lines start + t * slope of one query cross."""
    results = set()
    for q in range(len(train.query_ptr) - 1):
        rows = range(train.query_ptr[q], train.query_ptr[q + 1])
        pairs = [(x, y) for x in rows for y in rows if slope[x] < slope[y]]
        results |= {(start[x] - start[y]) / (float(slope[y]) - float(slope[x])) for x, y in pairs}
    return np.array(sorted(results))


def largest_gains(train, measure, start, slope):
    """What the best step between two crossings gains, at least 0; and the best of these and of the crossings."""
    at = crossings(train, start, slope)
    validation = Validation(train, measure)
    now = validation.value(start)
    between = [] if not len(at) else [at[0] - 1.0, *(at[1:] + at[:-1]) / 2.0, at[-1] + 1.0]
    gains = [validation.value(start + t * slope) - now for t in (*between, *at)]
    return max([0.0, *gains[: len(between)]]), max([0.0, *gains])

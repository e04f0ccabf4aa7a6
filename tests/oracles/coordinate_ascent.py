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


def largest_gain(train, measure, start, slope):
    """What the best step gains, at least 0."""
    at = crossings(train, start, slope)
    if not len(at):
        return 0.0
    validation = Validation(train, measure)
    steps = [at[0] - 1.0, *(at[1:] + at[:-1]) / 2.0, at[-1] + 1.0]
    return max(0.0, max(validation.value(start + t * slope) for t in steps) - validation.value(start))

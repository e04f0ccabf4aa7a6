"""The measure of a combination at many shares, each computed anew in fractions: scores, order, value."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from rerank.metrics.ranked_lists import RankedLists
from rerank.types import pointers


def share_values(a, b, labels, weights, measure):
    """Shares above 0 at which documents of a query tie in b + share * a, in fractions, and the mean of the measure.

    Returns the shares, the measure at each of them, and that between two, before the first and behind the last.
    """
    crossings = set()
    for query_a, query_b in zip(a, b, strict=True):
        x, y = ([Fraction(value) for value in query] for query in (query_a, query_b))
        crossings |= {(y[i] - y[j]) / (x[j] - x[i]) for i in range(len(x)) for j in range(i) if x[i] != x[j]}
    shares = sorted(share for share in crossings if share > 0)
    ends = [Fraction(0), *shares, 2 * shares[-1] + 1 if shares else Fraction(2)]
    middles = [(low + high) / 2 for low, high in pairwise(ends)]
    at, between = ([value_at_share(a, b, labels, weights, measure, s) for s in some] for some in (shares, middles))
    return shares, at, between


def value_at_share(a, b, labels, weights, measure, share):
    """Mean of the measure of b + share * a, the scores as fractions."""
    total = 0.0
    for query_a, query_b, query_labels, weight in zip(a, b, labels, weights, strict=True):
        scores = [Fraction(y) + Fraction(share) * Fraction(x) for x, y in zip(query_a, query_b, strict=True)]
        ranked = query_labels[sorted(range(len(scores)), key=lambda row: (-scores[row], row))]
        ideal = np.sort(query_labels[query_labels > 0])[::-1]
        lists = RankedLists(ranked, pointers([len(ranked)]), ideal, pointers([len(ideal)]))
        total += weight * float(measure.scores(lists)[0])
    return total / sum(weights)

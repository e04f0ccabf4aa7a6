"""The measure of a combination at many alphas, each computed anew: scores, order, value."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from rerank.metrics.structures import RankedLists
from rerank.types import pointers


def grid_values(a, b, labels, weights, measure, alphas):
    """Mean of the measure at each alpha; per query a, b and labels are lists whose order breaks ties.

    A query is measured at 0 and wherever its order differs from that of the alpha before.
    """
    total = np.zeros(len(alphas))
    for query_a, query_b, query_labels, weight in zip(a, b, labels, weights, strict=True):
        scores = np.outer(alphas, query_a) + np.outer(1 - alphas, query_b)
        scores = np.round(scores, 12)  # a tie that is computed in floating point is a tie
        orders = np.argsort(-scores, axis=1, kind="stable")
        new = np.append(True, (orders[1:] != orders[:-1]).any(axis=1))
        ranked = query_labels[orders[new]]
        ideal = np.sort(query_labels[query_labels > 0])[::-1]
        n = len(ranked)
        lists = RankedLists(
            ranked.ravel(),
            pointers(np.full(n, len(query_labels))),
            np.tile(ideal, n),
            pointers(np.full(n, len(ideal))),
        )
        total += weight * measure.scores(lists)[np.cumsum(new) - 1]
    return total / sum(weights)


def share_values(a, b, labels, weights, measure):
    """Mean of the measure of b + share * a for every order that a share above 0 makes, in exact arithmetic.

    Returns (between, at): shares between two crossings, before the first and behind the last, and the crossings, each
    with the measure there; equal scores rank in the order of the rows.
    """
    a, b = ([[Fraction(value) for value in part] for part in parts] for parts in (a, b))
    crossings = set()
    for query_a, query_b in zip(a, b, strict=True):
        for i in range(len(query_a)):
            for j in range(i):
                if query_a[i] != query_a[j]:
                    crossings.add((query_b[i] - query_b[j]) / (query_a[j] - query_a[i]))
    at = sorted(share for share in crossings if share > 0)
    ends = [Fraction(0), *at, 2 * at[-1] + 1 if at else Fraction(2)]
    between = [(low + high) / 2 for low, high in pairwise(ends)]
    return tuple(
        (shares, [value_at_share(a, b, labels, weights, measure, share) for share in shares])
        for shares in (between, at)
    )


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

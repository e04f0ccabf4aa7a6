"""The measure of a combination at many alphas, each computed anew: scores, order, value."""

from __future__ import annotations

import numpy as np

from rerank.metrics.base import RankedLists
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

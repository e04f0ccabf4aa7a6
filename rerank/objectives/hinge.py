"""Pairwise hinge, RankSVM's cost: pairs whose scores are not a margin of 1 apart count by what is missing.

For documents i above j in label (Joachims 2002):

    C_ij = max(0, 1 - (s_i - s_j))

The cost is piecewise linear and has no curvature. In its place stands the number of a document's pairs inside the
margin, so that a Newton step is their mean pull, never more than 1. Documents of equal label make no pair. After one
sort by score, time is linear in a query's documents for each label: pairs are counted, not visited. In a query with a
score beyond a million, whose sums would lose the margins, they are visited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import prange

from rerank.objectives.base import LabelObjective
from rerank.objectives.registry import register
from rerank.runtime.kernels import helper, kernel
from rerank.types import Floats

LARGE = 1e6  # a score's size: from here on sums of scores round away what pairs lack of the margin


@register("hinge")
@dataclass(frozen=True, eq=False)
class Hinge(LabelObjective):
    """Pairwise hinge cost."""

    def cost(self, scores: Floats) -> float:
        """Return the sum of the pairs' costs at `scores` (n_rows,) float64."""
        return float(self._fill(scores, np.empty_like(scores), np.empty_like(scores)) @ self.weights)

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad (n_rows,) float64 with the cost's derivatives at `scores`, hess with the pairs inside the margin.

        A pair exactly at the margin counts as outside.
        """
        self._fill(scores, grad, hess)

    def _fill(self, scores: Floats, grad: Floats, hess: Floats) -> Floats:
        costs = np.zeros(len(self.weights))
        _fill_hinges(self.query_ptr, self.labels, scores, self.weights, grad, hess, costs)
        return costs


@kernel(parallel=True)
def _fill_hinges(query_ptr, labels, scores, weights, grad, hess, costs):  # type: ignore[no-untyped-def]
    """Fill gradient, pairs inside the margin, and each query's unweighted cost; a thread takes a query at a time.

    For each label but the lowest: its documents as the better ones, in order of score, against all lower ones.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        grad[first:last] = 0.0
        hess[first:last] = 0.0
        if last > first and np.abs(scores[first:last]).max() > LARGE:
            costs[q] = _add_far_pairs(
                labels[first:last], scores[first:last], weights[q], grad[first:last], hess[first:last]
            )
            continue
        order = first + np.argsort(scores[first:last], kind="mergesort")
        cost = 0.0
        for label in np.unique(labels[first:last])[1:]:
            cost += _add_level(order, labels, scores, label, weights[q], grad, hess)
        costs[q] = cost


@helper()
def _add_far_pairs(labels, scores, weight, grad, hess):  # type: ignore[no-untyped-def]
    """Add the pairs of one query, whose scores (n,) have any finite size; return their cost."""
    cost = 0.0
    for i in range(labels.shape[0]):
        for j in range(labels.shape[0]):
            lacking = 1.0 - (scores[i] - scores[j])
            if labels[i] > labels[j] and lacking > 0.0:
                cost += lacking
                grad[i] -= weight
                grad[j] += weight
                hess[i] += weight
                hess[j] += weight
    return cost


@helper()
def _add_level(order, labels, scores, label, weight, grad, hess):  # type: ignore[no-untyped-def]
    """Add the pairs of the documents with this label and all lower ones; return their cost.

    order (n,) rows by score, ascending. Going down, the lower documents with s_j > s_i - 1 are gathered; going up,
    the better ones with s_i < s_j + 1 are counted.
    """
    n, cost = order.shape[0], 0.0
    inside, total, place = 0, 0.0, n - 1
    for i in order[::-1]:
        if labels[i] != label:
            continue
        while place >= 0 and 1.0 - (scores[i] - scores[order[place]]) > 0.0:
            if labels[order[place]] < label:
                inside += 1
                total += scores[order[place]]
            place -= 1
        grad[i] -= weight * inside
        hess[i] += weight * inside
        cost += inside * (1.0 - scores[i]) + total
    inside, place = 0, 0
    for j in order:
        if labels[j] >= label:
            continue
        while place < n and 1.0 - (scores[order[place]] - scores[j]) > 0.0:
            inside += labels[order[place]] == label
            place += 1
        grad[j] += weight * inside
        hess[j] += weight * inside
    return cost

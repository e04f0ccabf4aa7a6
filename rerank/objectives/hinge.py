"""Pairwise hinge, the cost of RankSVM: the shortfall of each pair from a margin of 1.

For documents i above j in label:

    C_ij = max(0, 1 - (s_i - s_j))

The cost is piecewise linear and has no curvature. It is replaced by the number of a document's pairs inside the
margin, so that a Newton step is the mean of their gradients, never more than 1. Documents of equal label make no pair.
After one sort by score, time is linear in a query's documents for each label: pairs are counted, not visited. In a
query with a score beyond a million, where sums of scores would round the margins away, they are visited.

`hinge` in `tests/oracles/objectives.py` and `tests/oracles/limits.py` is the slow form.

References
----------
T. Joachims, Optimizing Search Engines Using Clickthrough Data, KDD 2002.

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import prange

from rerank.objectives.base import LabelObjective, register
from rerank.runtime.kernels import helper, kernel
from rerank.types import Floats

LARGE = 1e6  # sums of larger scores round the shortfall of a pair away


@register("hinge")
@dataclass(frozen=True, eq=False)
class Hinge(LabelObjective):
    """Pairwise hinge cost; parameters as in `LabelObjective`."""

    def cost(self, scores: Floats) -> float:
        """Return the sum of the pairs' costs at `scores` (n_rows,) float64."""
        return float(np.sum(self._fill(scores, np.empty_like(scores), np.empty_like(scores)) * self.weights))

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
        first = query_ptr[q]
        last = query_ptr[q + 1]
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
            shortfall = 1.0 - (scores[i] - scores[j])
            if labels[i] > labels[j] and shortfall > 0.0:
                cost += shortfall
                grad[i] -= weight
                grad[j] += weight
                hess[i] += weight
                hess[j] += weight
    return cost


@helper()
def _add_level(order, labels, scores, label, weight, grad, hess):  # type: ignore[no-untyped-def]
    """Add the pairs of the documents with this label and all lower ones; return their cost.

    order (n,) rows by score, ascending. Downwards the documents of lower label with s_j > s_i - 1 are summed, upwards
    those of this label with s_i < s_j + 1 are counted.
    """
    n = order.shape[0]
    cost = 0.0
    inside = 0
    total = 0.0
    rank = n - 1
    for i in order[::-1]:
        if labels[i] != label:
            continue
        while rank >= 0 and 1.0 - (scores[i] - scores[order[rank]]) > 0.0:
            if labels[order[rank]] < label:
                inside += 1
                total += scores[order[rank]]
            rank -= 1
        grad[i] -= weight * inside
        hess[i] += weight * inside
        cost += inside * (1.0 - scores[i]) + total
    inside = 0
    rank = 0
    for j in order:
        if labels[j] >= label:
            continue
        while rank < n and 1.0 - (scores[order[rank]] - scores[j]) > 0.0:
            inside += labels[order[rank]] == label
            rank += 1
        grad[j] += weight * inside
        hess[j] += weight * inside
    return cost

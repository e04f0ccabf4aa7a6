"""RankBoost's cost: pairwise exponential.

    cost = sum over pairs with l_i > l_j of weight exp(-(s_i - s_j))

The weight of a pair under RankBoost's distribution D is its share of the cost. Sums over the pairs of one document
(its potential) have a prefix-sum form: with the rows by label, exp(-s_i) times the running sum of exp(s_j) of all lower
labels is the share of document i as the better one. Time is linear in documents, after one sort by label at the start.
A query whose scores span more than 600 is summed pair by pair. Where the score of the better document is more than 600
below that of the worse one, cost, gradient and curvature of the pair are those at 600: exp(710) overflows.

`tests/oracles/rankboost.py` has the sums over listed pairs, `exponential` in `tests/oracles/limits.py` any scores.

References
----------
Y. Freund et al., An Efficient Boosting Algorithm for Combining Preferences, JMLR 4, 2003.

"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.objectives.base import LabelObjective, register
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.numerics import exp
from rerank.types import Floats, Ints
from rerank.types.ids import query_order

WIDEST = 600.0  # difference of scores: pairs in the wrong order by more count as wrong by this much


@register("exponential")
@dataclass(frozen=True, eq=False)
class PairwiseExponential(LabelObjective):
    """Pairwise exponential cost; parameters as in `LabelObjective`, a query's weight is that of each of its pairs."""

    def cost(self, scores: Floats) -> float:
        """Return the cost at `scores` (n_rows,) float64."""
        return float(self._fill(scores, np.empty_like(scores)).sum())

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64.

        -grad is the potential of each document: the weight of the pairs in which it is the better one, less that of
        those in which it is the worse one.
        """
        self._fill(scores, grad, hess)

    def agreement(self, scores: Floats, chosen: NDArray[np.bool_]) -> tuple[float, float]:
        """Return W+ and W-: the weight of the pairs that h in {0, 1} orders rightly, and wrongly.

        Shapes: scores float64 (n_rows,); chosen bool (n_rows,).
        """
        right = np.zeros(len(self.weights))
        wrong = np.zeros(len(self.weights))
        _fill_agreement(self.query_ptr, self._by_label, self.labels, scores, chosen, right, wrong)
        return float(np.sum(right * self.weights)), float(np.sum(wrong * self.weights))

    @cached_property
    def _by_label(self) -> Ints:
        """Rows query by query, by label, ascending."""
        return query_order(self.query_ptr, self.labels)

    def _fill(self, scores: Floats, grad: Floats, hess: Floats | None = None) -> Floats:
        costs = np.zeros(len(self.weights))
        hess = np.empty_like(grad) if hess is None else hess
        _fill_potentials(self.query_ptr, self._by_label, self.labels, scores, self.weights, grad, hess, costs)
        return costs


@helper()
def _middle(scores):  # type: ignore[no-untyped-def]
    """Return the score midway between the best and the worst; only differences of scores matter."""
    return 0.5 * (scores.min() + scores.max())


@helper()
def _far_apart(scores):  # type: ignore[no-untyped-def]
    """Return whether exp(score) of some document would vanish in a sum, so that the pairs have to be visited."""
    return scores.max() - scores.min() > WIDEST


@helper()
def _add_far_pairs(rows, labels, scores, weight, grad, hess):  # type: ignore[no-untyped-def]
    """Add to gradient and curvature the pairs of one query's rows (n,) by label, ascending; return their cost."""
    cost = 0.0
    below = 0
    for x in rows:
        while labels[rows[below]] < labels[x]:
            below += 1
        for y in rows[:below]:
            share = weight * exp(min(scores[y] - scores[x], WIDEST))
            grad[x] -= share
            grad[y] += share
            hess[x] += share
            hess[y] += share
            cost += share
    return cost


@helper()
def _far_agreement(rows, labels, scores, chosen):  # type: ignore[no-untyped-def]
    """Return W+ and W- of one query's rows (n,) by label, ascending."""
    right = 0.0
    wrong = 0.0
    below = 0
    for x in rows:
        while labels[rows[below]] < labels[x]:
            below += 1
        for y in rows[:below]:
            share = exp(min(scores[y] - scores[x], WIDEST))
            if chosen[x] and not chosen[y]:
                right += share
            elif chosen[y] and not chosen[x]:
                wrong += share
    return right, wrong


@kernel(parallel=True)
def _fill_potentials(query_ptr, by_label, labels, scores, weights, grad, hess, costs):  # type: ignore[no-untyped-def]
    """Fill gradient, curvature and each query's cost; by_label (n_rows,) are rows by query, then label, ascending."""
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        last = query_ptr[q + 1]
        grad[first:last] = 0.0
        hess[first:last] = 0.0
        if last - first < 2 or weights[q] == 0.0:
            continue
        if _far_apart(scores[first:last]):
            costs[q] = _add_far_pairs(by_label[first:last], labels, scores, weights[q], grad, hess)
            continue
        middle = _middle(scores[first:last])
        lower = 0.0
        same = 0.0
        label = labels[by_label[first]]
        cost = 0.0
        for i in range(first, last):
            row = by_label[i]
            if labels[row] != label:
                lower = lower + same
                same = 0.0
                label = labels[row]
            growth = exp(scores[row] - middle)
            share = weights[q] * lower / growth
            grad[row] -= share
            hess[row] += share
            cost += share
            same += growth
        costs[q] = cost
        higher = 0.0
        same = 0.0
        label = labels[by_label[last - 1]]
        for i in range(last - 1, first - 1, -1):
            row = by_label[i]
            if labels[row] != label:
                higher = higher + same
                same = 0.0
                label = labels[row]
            growth = exp(scores[row] - middle)
            share = weights[q] * higher * growth
            grad[row] += share
            hess[row] += share
            same += 1.0 / growth


@kernel(parallel=True)
def _fill_agreement(query_ptr, by_label, labels, scores, chosen, right, wrong):  # type: ignore[no-untyped-def]
    """Fill right and wrong (n_queries,) with the unweighted W+ and W- of `chosen` (n_rows,) bool."""
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        last = query_ptr[q + 1]
        if last - first < 2:
            continue
        if _far_apart(scores[first:last]):
            right[q], wrong[q] = _far_agreement(by_label[first:last], labels, scores, chosen)
            continue
        middle = _middle(scores[first:last])
        lower = np.zeros(2)  # sums of exp(s_j) over lower labels, by h
        same = np.zeros(2)
        label = labels[by_label[first]]
        for i in range(first, last):
            row = by_label[i]
            if labels[row] != label:
                lower += same
                same[:] = 0.0
                label = labels[row]
            growth = exp(scores[row] - middle)
            if chosen[row]:
                right[q] += lower[0] / growth
                same[1] += growth
            else:
                wrong[q] += lower[1] / growth
                same[0] += growth

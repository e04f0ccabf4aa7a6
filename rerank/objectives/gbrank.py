"""GBRank's cost: the squared shortfall of a pair from a margin.

For documents x above y in label, h their scores and tau the margin:

    C = 1/2 max(0, h(y) + tau - h(x))^2

A wrong pair, h(x) < h(y) + tau, has the targets h(y) + tau for x and h(x) - tau for y. The gradient is the distance of
the scores from the targets, the curvature the number of targets: hess * h - grad is their sum. Pairs at the margin are
right; documents of equal label make no pair.

`gbrank` in `tests/oracles/objectives.py` and `tests/oracles/limits.py` is the slow form.

References
----------
Z. Zheng et al., A Regression Framework for Learning Ranking Functions Using Relative Relevance Judgments, SIGIR 2007.

"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import prange

from rerank.objectives.base import LabelObjective, register
from rerank.runtime.kernels import kernel
from rerank.types import Floats, Ints
from rerank.types.ids import query_order

LARGE = 1e6  # larger scores may round tau away in h(y) + tau


@register("gbrank")
@dataclass(frozen=True, eq=False)
class GBRankObjective(LabelObjective):
    """Half the squared hinge of pairs; tau is the margin, in score units."""

    tau: float = 0.1

    def cost(self, scores: Floats) -> float:
        """Return the sum of the pairs' costs at `scores` (n_rows,) float64."""
        return float(np.sum(self._fill(scores, np.empty_like(scores), np.empty_like(scores)) * self.weights))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        self._fill(scores, grad, hess)

    def _fill(self, scores: Floats, grad: Floats, hess: Floats) -> Floats:
        costs: Floats = _fill_pairs(
            self.query_ptr, self._by_label, self.labels, scores, self.weights, self.tau, grad, hess
        )
        return costs

    @cached_property
    def _by_label(self) -> Ints:
        """Rows query by query, by label, descending."""
        return query_order(self.query_ptr, -self.labels)


@kernel(parallel=True)
def _fill_pairs(query_ptr, by_label, labels, scores, weights, tau, grad, hess):  # type: ignore[no-untyped-def]
    """Fill gradient and curvature; return the unweighted cost of each query. A thread takes a query at a time."""
    costs = np.zeros(query_ptr.shape[0] - 1)
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        last = query_ptr[q + 1]
        grad[first:last] = 0.0
        hess[first:last] = 0.0
        below = first
        cost = 0.0
        weight = weights[q]
        large = last > first and np.abs(scores[first:last]).max() > LARGE
        for i in range(first, last):
            x = by_label[i]
            while below < last and labels[by_label[below]] >= labels[x]:
                below += 1
            for j in range(below, last):
                y = by_label[j]
                shortfall = tau - (scores[x] - scores[y]) if large else scores[y] + tau - scores[x]
                if shortfall > 0.0:
                    cost += 0.5 * shortfall * shortfall
                    grad[x] -= weight * shortfall
                    grad[y] += weight * shortfall
                    hess[x] += weight
                    hess[y] += weight
        costs[q] = cost
    return costs

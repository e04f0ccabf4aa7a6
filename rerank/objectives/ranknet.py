"""RankNet: pairwise logistic cost of all pairs of a query whose labels differ.

For documents i above j in label, with rho = 1 / (1 + exp(sigma (s_i - s_j))):

    C_ij       = log(1 + exp(-sigma (s_i - s_j)))
    lambda_ij  = -sigma rho
    d2C/ds_i^2 = sigma^2 rho (1 - rho)

Conventions. Documents of equal label make no pair. Costs of pairs are summed, not averaged: a query with more pairs
weighs more. One exponential for each document: rho = e_j / (e_i + e_j), e = exp(sigma (s - max s)). A query whose
scores span more than 300 / sigma, where e would underflow, takes one exponential for each pair: scores of any size give
the exact limits.

`ranknet` in `tests/oracles/objectives.py` and `pairwise_logistic` in `tests/oracles/limits.py` are the slow forms.

References
----------
C. Burges, MSR-TR-2010-82, section 2.

"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import prange

from rerank.objectives.base import LabelObjective, register
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.numerics import exp, log1p
from rerank.types import Floats, Ints
from rerank.types.ids import query_order

LOWEST_EXPONENT = -300.0  # scores further below their query's best take one exponential for each pair


@register("ranknet")
@dataclass(frozen=True, eq=False)
class RankNetObjective(LabelObjective):
    """Pairwise logistic cost.

    Parameters
    ----------
    query_ptr, weights, labels
        As in `LabelObjective`.
    sigma : float
        Slope of the logistic, 1 / score unit.

    """

    sigma: float = 1.0

    def cost(self, scores: Floats) -> float:
        """Return the sum of the pairs' costs at `scores` (n_rows,) float64."""
        costs = np.zeros(len(self.weights))
        _fill_costs(self.query_ptr, self._by_label, self.labels, scores, self.sigma, costs)
        return float(np.sum(costs * self.weights))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        _fill_lambdas(self.query_ptr, self._by_label, self.labels, scores, self.weights, self.sigma, grad, hess)

    @cached_property
    def _by_label(self) -> Ints:
        """Rows query by query, by label, descending."""
        return query_order(self.query_ptr, -self.labels)


@helper()
def _add_pairs(e, label, grad, hess):  # type: ignore[no-untyped-def]
    """Add all pairs of a query to grad and hess (n,); e (n,) exponentials of scores; label (n,) descending."""
    below = 0  # where the lower labels start
    for i in range(label.shape[0]):
        while below < label.shape[0] and label[below] >= label[i]:
            below += 1
        grad_i = 0.0
        hess_i = 0.0
        for j in range(below, label.shape[0]):
            rho = e[j] / (e[i] + e[j])
            curvature = rho * (e[i] / (e[i] + e[j]))
            grad_i += rho
            hess_i += curvature
            grad[j] += rho
            hess[j] += curvature
        grad[i] -= grad_i
        hess[i] += hess_i


@helper()
def _add_far_pairs(score, label, sigma, grad, hess):  # type: ignore[no-untyped-def]
    """Do what `_add_pairs` does for scores (n,) of any size, with one exponential for each pair."""
    below = 0
    for i in range(label.shape[0]):
        while below < label.shape[0] and label[below] >= label[i]:
            below += 1
        for j in range(below, label.shape[0]):
            margin = sigma * (score[i] - score[j])
            small = exp(-abs(margin))
            rho = (small if margin > 0.0 else 1.0) / (1.0 + small)
            curvature = small / ((1.0 + small) * (1.0 + small))
            grad[i] -= rho
            grad[j] += rho
            hess[i] += curvature
            hess[j] += curvature


@kernel(parallel=True)
def _fill_lambdas(query_ptr, by_label, labels, scores, weights, sigma, grad, hess):  # type: ignore[no-untyped-def]
    """Fill gradient and curvature; a thread takes a query at a time."""
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        last = query_ptr[q + 1]
        if last == first:
            continue
        rows = by_label[first:last]
        label = labels[rows]
        e = np.empty(last - first)
        best = scores[first]
        lowest = scores[first]
        for row in range(first, last):
            best = max(best, scores[row])
            lowest = min(lowest, scores[row])
        own_grad = np.zeros(last - first)
        own_hess = np.zeros(last - first)
        if sigma * (lowest - best) < LOWEST_EXPONENT:
            _add_far_pairs(scores[rows], label, sigma, own_grad, own_hess)
        else:
            for i in range(last - first):
                e[i] = exp(sigma * (scores[rows[i]] - best))
            _add_pairs(e, label, own_grad, own_hess)
        for i in range(last - first):
            grad[rows[i]] = weights[q] * sigma * own_grad[i]
            hess[rows[i]] = weights[q] * sigma * sigma * own_hess[i]


@kernel(parallel=True)
def _fill_costs(query_ptr, by_label, labels, scores, sigma, costs):  # type: ignore[no-untyped-def]
    """Fill costs (n_queries,) with each query's unweighted cost."""
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        last = query_ptr[q + 1]
        below = first
        total = 0.0
        for i in range(first, last):
            while below < last and labels[by_label[below]] >= labels[by_label[i]]:
                below += 1
            for j in range(below, last):
                margin = sigma * (scores[by_label[i]] - scores[by_label[j]])
                total += log1p(exp(-abs(margin))) + max(-margin, 0.0)
        costs[q] = total

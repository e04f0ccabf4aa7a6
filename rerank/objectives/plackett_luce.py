"""Plackett-Luce: the likelihood of the judged order, document by document from the best (ListMLE).

Each document i is drawn from the remaining documents of its query with probability e^s_i / sum e^s_j:

    C = sum over i of log(e^s_i + sum over j with l_j < l_i of e^s_j) - s_i

Convention on ties: the judgements do not order documents of equal label, so each is drawn from itself and the documents
of lower label only; those of the lowest label cost nothing. (Breslow's form draws it from those of equal label too, and
so moves their scores together.) With two labels and one relevant document it is the softmax cost.

`plackett_luce` in `tests/oracles/objectives.py` and `tests/oracles/limits.py` is the slow form.

References
----------
R. Plackett, The Analysis of Permutations, Applied Statistics 24, 1975.
F. Xia et al., Listwise Approach to Learning to Rank: Theory and Algorithm, ICML 2008 (ListMLE).

"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import prange

from rerank.objectives.base import JointObjective, LabelObjective, register
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.numerics import exp, log
from rerank.types import Floats, Ints
from rerank.types.ids import query_order

LOWEST_EXPONENT = -300.0  # scores further below their query's best take one exponential for each pair


@register("plackett-luce")
@dataclass(frozen=True, eq=False)
class PlackettLuceObjective(JointObjective, LabelObjective):
    """Negative log likelihood of the judged order; parameters as in `LabelObjective`."""

    def cost_and_gradients(self, scores: Floats, grad: Floats, hess: Floats) -> float:
        """Return the cost, and fill grad and hess, see `JointObjective`."""
        costs = np.zeros(len(self.weights))
        _fill_draws(self.query_ptr, self._by_label, self.labels, scores, self.weights, grad, hess, costs)
        return float(np.sum(costs * self.weights))

    @cached_property
    def _by_label(self) -> Ints:
        """Rows query by query, by label, ascending."""
        return query_order(self.query_ptr, self.labels)


@helper()
def _fill_far_draws(rows, scores, labels, weight, grad, hess):  # type: ignore[no-untyped-def]
    """Fill gradient and curvature of one query whose scores have any finite size; return its unweighted cost.

    rows (n,) by label, ascending. The exponentials of each draw are relative to its best score.
    """
    cost = 0.0
    below = 0
    for row in rows:
        grad[row], hess[row] = 0.0, 0.0
    for i in rows:
        while labels[rows[below]] < labels[i]:
            below += 1
        best = scores[i]
        for j in rows[:below]:
            best = max(best, scores[j])
        own = exp(scores[i] - best)
        total = own
        missing = 0.0
        for j in rows[:below]:
            total += exp(scores[j] - best)
        for j in rows[:below]:
            share = exp(scores[j] - best) / total
            missing += share
            grad[j] += weight * share
            hess[j] += weight * share * (1.0 - share)
        grad[i] -= weight * missing
        hess[i] += weight * missing * (own / total)
        cost += log(total) + (best - scores[i])
    return cost


@kernel(parallel=True)
def _fill_draws(query_ptr, by_label, labels, scores, weights, grad, hess, costs):  # type: ignore[no-untyped-def]
    """Fill gradient, curvature and each query's unweighted cost; a thread takes a query at a time.

    In prefix-sum form: upwards in label, `lower` sums e of all lower labels; downwards, `shares` sums
    1 / (e_i + lower_i) over all higher ones, and `squares` its square: the terms of a document in
    the draws of higher labels.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        last = query_ptr[q + 1]
        n = last - first
        if n == 0:
            continue
        rows = by_label[first:last]
        best = scores[first]
        lowest = scores[first]
        for row in range(first, last):
            best = max(best, scores[row])
            lowest = min(lowest, scores[row])
        if lowest - best < LOWEST_EXPONENT:
            costs[q] = _fill_far_draws(rows, scores, labels, weights[q], grad, hess)
            continue
        label = labels[rows]
        e = np.empty(n)
        below = np.zeros(n)
        lower = 0.0
        same = 0.0
        cost = 0.0
        for i in range(n):
            e[i] = exp(scores[rows[i]] - best)
            if i > 0 and label[i] != label[i - 1]:
                lower = lower + same
                same = 0.0
            same += e[i]
            below[i] = lower
            cost += log(e[i] + lower) - log(e[i])
        costs[q] = cost
        shares = 0.0
        squares = 0.0
        same_shares = 0.0
        same_squares = 0.0
        for i in range(n - 1, -1, -1):
            if i < n - 1 and label[i] != label[i + 1]:
                shares = shares + same_shares
                squares = squares + same_squares
                same_shares = 0.0
                same_squares = 0.0
            share = 1.0 / (e[i] + below[i])
            own = e[i] * share
            missing = below[i] * share
            taken = e[i] * shares
            grad[rows[i]] = weights[q] * (taken - missing)
            hess[rows[i]] = weights[q] * (own * missing + max(taken - e[i] * e[i] * squares, 0.0))
            if missing > 0.0:
                same_shares += share
                same_squares += share * share

"""Costs of whole lists, from the softmax of the scores: Plackett-Luce (ListMLE) and XE-NDCG.

Plackett-Luce is the likelihood of the judged order, document by document from the best: each document i is drawn from
the remaining documents of its query with probability e^s_i / sum e^s_j:

    C = sum over i of log(e^s_i + sum over j with l_j < l_i of e^s_j) - s_i

The judgements do not order documents of equal label, so each is drawn from itself and the documents of lower label
only; those of the lowest label cost nothing. (Breslow's form draws it from the documents of equal label, too, and so
moves their scores together.) With two labels and one relevant document, C is the softmax cost. For scores far below the
best of a query, see `pairs.py`.

XE-NDCG is the cross-entropy of the softmax of the scores from perturbed gains of the labels:

    C = -sum over i of phi_i log(e^s_i / sum e^s_j),    phi_i = (2^l_i - gamma_i) / sum (2^l_j - gamma_j)

with gamma_i uniform in [0, 1), drawn anew for every tree; C bounds 1 - nDCG with gain 2^l - 1. The derivatives are
the gradient of C and the diagonal of its second derivatives; LightGBM's `rank_xendcg` adds two terms to the gradient,
from an approximate inverse of the whole matrix of second derivatives. A query whose labels are all equal costs nothing;
LightGBM gives it random targets.

`tests/oracles/objectives.py` and `tests/oracles/limits.py` have the slow forms.

References
----------
R. Plackett, The Analysis of Permutations, Applied Statistics 24, 1975.
F. Xia et al., Listwise Approach to Learning to Rank: Theory and Algorithm, ICML 2008 (ListMLE).
S. Bruch, An Alternative Cross Entropy Loss for Learning-to-Rank, WWW 2021 (arXiv 1911.09798).

"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from math import log as log_of

import numpy as np
from numba import prange

from rerank.objectives.base import LOWEST_EXPONENT, LabelCost, LabelObjective, register
from rerank.runtime.elementary import array_exp, exp, log
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.sums import total
from rerank.types import Floats, query_rows


@register("plackett-luce")
@dataclass(frozen=True, eq=False)
class PlackettLuceObjective(LabelCost):
    """Negative log likelihood of the judged order; parameters as in `LabelObjective`."""

    def cost_and_gradients(self, scores: Floats, grad: Floats, hess: Floats) -> float:
        """Return the cost, and fill grad and hess with its derivatives."""
        costs = np.zeros(len(self.weights))
        _fill_draws(self.query_ptr, self.best_last, self.labels, scores, self.weights, grad, hess, costs)
        return total(costs * self.weights)


@helper()
def _sum_lower(scores, label, e, below):
    """Fill e (n,) with the exponentials of the scores, below (n,) with sums of e over lower labels; return the cost.

    scores, label  (n,) of one query, by label, ascending
    """
    best = scores.max()
    lower = 0.0
    same = 0.0
    cost = 0.0
    for i in range(scores.shape[0]):
        e[i] = exp(max(scores[i] - best, LOWEST_EXPONENT))
        if i > 0 and label[i] != label[i - 1]:
            lower = lower + same
            same = 0.0
        same += e[i]
        below[i] = lower
        cost += log(e[i] + lower) - log(e[i])
    return cost


@kernel(parallel=True)
def _fill_draws(query_ptr, best_last, labels, scores, weights, grad, hess, costs):
    """Fill gradient, curvature and each query's unweighted cost; a thread takes a query at a time.

    In prefix-sum form: upwards in label, `below` is the sum of e over all lower labels; downwards, `shares` is the sum
    of 1 / (e_i + below_i) over all higher labels, and `squares` the sum of its square. They give the terms of a
    document in the draws of documents of higher label.
    """
    for q in prange(query_ptr.shape[0] - 1):
        n = query_ptr[q + 1] - query_ptr[q]
        if n == 0:
            continue
        rows = best_last[query_ptr[q] : query_ptr[q + 1]]
        label = labels[rows]
        e = np.empty(n)
        below = np.empty(n)
        costs[q] = _sum_lower(scores[rows], label, e, below)
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


@register("xe-ndcg")
@dataclass(frozen=True, eq=False)
class CrossEntropyNDCG(LabelObjective):
    """Cross-entropy from perturbed gains; the draws depend on the seed, the number of the tree and the row.

    Parameters
    ----------
    query_ptr, weights, labels
        As in `LabelObjective`.
    seed : int
        Seed of the draws.
    trees : iterator of int
        Numbers of the trees whose gradients follow.

    """

    seed: int = 0
    trees: Iterator[int] = field(default_factory=count)

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        _fill_cross_entropy(self.query_ptr, scores, self.targets(), self.weights, grad, hess)

    def targets(self) -> Floats:
        """Return phi of each row for the next tree, (n_rows,) float64; 0 where all labels of the query are equal."""
        query = query_rows(self.query_ptr)
        best, least = (np.full(len(self.weights), bound) for bound in (-np.inf, np.inf))
        np.maximum.at(best, query, self.labels)
        np.minimum.at(least, query, self.labels)
        ln2 = log_of(2.0)  # gains are divided by that of the best label, so that none overflows
        gains = array_exp(ln2 * (self.labels - best[query])) - self._uniform() * array_exp(-ln2 * best[query])
        filled = np.diff(self.query_ptr) > 0
        sums = np.ones(len(self.weights))
        sums[filled] = np.add.reduceat(gains, self.query_ptr[:-1][filled])
        return np.where((best > least)[query], gains / sums[query], 0.0)

    def _uniform(self) -> Floats:
        """Return a random number for each row and the next tree, (n_rows,) float64 in [0, 1)."""
        bits = np.random.Philox(np.random.SeedSequence([self.seed, next(self.trees), 0]))
        return np.random.Generator(bits).random(len(self.labels))


@kernel(parallel=True)
def _fill_cross_entropy(query_ptr, scores, targets, weights, grad, hess):
    """Fill gradient and curvature; a thread takes a query at a time."""
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        last = query_ptr[q + 1]
        grad[first:last] = 0.0
        hess[first:last] = 0.0
        if targets[first:last].sum() == 0.0:
            continue
        best = scores[first:last].max()
        above = np.zeros(last - first + 1)  # sums of exponentials before and after each row, so that none is subtracted
        below = np.zeros(last - first + 1)
        for i in range(last - first):
            above[i + 1] = above[i] + exp(scores[first + i] - best)
        for i in range(last - first - 1, -1, -1):
            below[i] = below[i + 1] + exp(scores[first + i] - best)
        total = above[last - first]
        for i in range(last - first):
            own = exp(scores[first + i] - best) / total
            others = (above[i] + below[i + 1]) / total
            grad[first + i] = weights[q] * (own - targets[first + i])
            hess[first + i] = weights[q] * own * others

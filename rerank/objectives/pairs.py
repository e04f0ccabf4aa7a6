"""Costs of pairs of documents of a query: all pairs of different labels, or listed pairs.

For a document i of higher label than document j, with the margin m = s_i - s_j:

    ranknet      log(1 + exp(-sigma m)); with rho = 1 / (1 + exp(sigma m)) the gradient of s_i is -sigma rho, the
                 curvature sigma^2 rho (1 - rho). One exponential for each document: rho = e_j / (e_i + e_j) with
                 e = exp(sigma (s - max s)).
    gbrank       1/2 max(0, tau - m)^2: a pair in the wrong order, m < tau, has the targets s_j + tau for i and
                 s_i - tau for j. The gradient is the distance of the scores from the targets, the curvature the number
                 of targets: hess * s - grad is their sum.
    hinge        max(0, 1 - m), RankSVM's. It has no curvature, which is replaced by the number of a document's pairs
                 inside the margin, so that a Newton step is the mean of their gradients, never more than 1. After one
                 sort by score, time is linear in a query's documents for each label: pairs are counted, not visited.
    exponential  exp(-m), RankBoost's: the weight of a pair under the distribution D is its share of the cost. Sums
                 over the pairs of one document (its potential) have a prefix-sum form: with the rows by label,
                 exp(-s_i) times the running sum of exp(s_j) of all lower labels is the share of i as the better one.

Documents of equal label make no pair; a pair exactly at the margin costs nothing. Costs of pairs are summed, not
averaged: a query with more pairs weighs more. For ranknet and Plackett-Luce, a score more than 300 / sigma below the
best of its query counts as 300 / sigma below it: two such documents are tied, and their pair has the derivatives of
equal scores. Linear weights become so large only where the data are separable and hardly penalised
(PlackettLuce(C=1e6)); the weights found are then not at the minimum. The other costs take margins of at most 600.

Listed pairs may contradict each other, occur several times, and have a measured probability Pbar that the first is
better. With P = 1 / (1 + exp(-sigma m)), RankNet's cost is (1 - Pbar) sigma m + log(1 + exp(-sigma m)), its gradient
sigma (P - Pbar); RankBoost's counts a pair in either direction: Pbar exp(-m) + (1 - Pbar) exp(m).

`tests/oracles/objectives.py` and `tests/oracles/limits.py` have the slow forms.

References
----------
C. Burges, MSR-TR-2010-82, sections 2 (RankNet), 5 and 6.
Z. Zheng et al., A Regression Framework for Learning Ranking Functions Using Relative Relevance Judgments, SIGIR 2007.
T. Joachims, Optimizing Search Engines Using Clickthrough Data, KDD 2002.
Y. Freund et al., An Efficient Boosting Algorithm for Combining Preferences, JMLR 4, 2003.

"""

from dataclasses import dataclass

import numpy as np
from numba import prange

from rerank.objectives.base import LOWEST_EXPONENT, CostObjective, LabelCost, LabelObjective, Objective, register
from rerank.runtime.elementary import array_exp, exp, softplus
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.sums import total
from rerank.types import Floats, Ints

WIDEST = 600.0  # largest margin, since exp(710) overflows


@helper()
def _cleared_rows(query_ptr, q, grad, hess):
    """Return the first row of a query and that of the next one, after setting their grad and hess to 0."""
    first = query_ptr[q]
    last = query_ptr[q + 1]
    grad[first:last] = 0.0
    hess[first:last] = 0.0
    return first, last


@register("ranknet")
@dataclass(frozen=True, eq=False)
class RankNetObjective(LabelObjective):
    """Pairwise logistic cost; sigma is the slope of the logistic, 1 / score unit."""

    sigma: float = 1.0

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        _fill_logistic(self.query_ptr, self.best_first, self.labels, scores, self.weights, self.sigma, grad, hess)


@helper()
def _add_logistic_pairs(e, label, grad, hess):
    """Add all pairs of a query to grad and hess (n,); e (n,) has the exponentials of scores, label (n,) descends."""
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


@kernel(parallel=True)
def _fill_logistic(query_ptr, best_first, labels, scores, weights, sigma, grad, hess):
    """Fill gradient and curvature; a thread takes a query at a time."""
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        last = query_ptr[q + 1]
        if last == first:
            continue
        rows = best_first[first:last]
        best = scores[first:last].max()
        e = np.empty(last - first)
        own_grad = np.zeros(last - first)
        own_hess = np.zeros(last - first)
        for i in range(last - first):
            e[i] = exp(max(sigma * (scores[rows[i]] - best), LOWEST_EXPONENT))
        _add_logistic_pairs(e, labels[rows], own_grad, own_hess)
        for i in range(last - first):
            grad[rows[i]] = weights[q] * sigma * own_grad[i]
            hess[rows[i]] = weights[q] * sigma * sigma * own_hess[i]


@register("gbrank")
@dataclass(frozen=True, eq=False)
class GBRankObjective(LabelObjective):
    """Half the squared shortfall of pairs from a margin; tau is the margin, in score units."""

    tau: float = 0.1

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        _fill_targets(self.query_ptr, self.best_first, self.labels, scores, self.weights, self.tau, grad, hess)


@kernel(parallel=True)
def _fill_targets(query_ptr, best_first, labels, scores, weights, tau, grad, hess):
    """Fill gradient and curvature; a thread takes a query at a time."""
    for q in prange(query_ptr.shape[0] - 1):
        first, last = _cleared_rows(query_ptr, q, grad, hess)
        below = first
        weight = weights[q]
        for i in range(first, last):
            x = best_first[i]
            while below < last and labels[best_first[below]] >= labels[x]:
                below += 1
            for y in best_first[below:last]:
                shortfall = scores[y] + tau - scores[x]
                if shortfall > 0.0:
                    grad[x] -= weight * shortfall
                    grad[y] += weight * shortfall
                    hess[x] += weight
                    hess[y] += weight


@register("hinge")
@dataclass(frozen=True, eq=False)
class Hinge(LabelCost):
    """Pairwise hinge cost; parameters as in `LabelObjective`."""

    def cost_and_gradients(self, scores: Floats, grad: Floats, hess: Floats) -> float:
        """Return the cost; fill grad with its derivatives, hess with the pairs inside the margin."""
        costs = np.zeros(len(self.weights))
        _fill_hinges(self.query_ptr, self.labels, scores, self.weights, grad, hess, costs)
        return total(costs * self.weights)


@kernel(parallel=True)
def _fill_hinges(query_ptr, labels, scores, weights, grad, hess, costs):
    """Fill gradient, pairs inside the margin, and each query's unweighted cost; a thread takes a query at a time.

    For each label but the lowest, its documents make pairs with all documents of lower label.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, last = _cleared_rows(query_ptr, q, grad, hess)
        order = first + np.argsort(scores[first:last], kind="mergesort")
        cost = 0.0
        for label in np.unique(labels[first:last])[1:]:
            cost += _add_level(order, labels, scores, label, weights[q], grad, hess)
        costs[q] = cost


@helper()
def _add_level(order, labels, scores, label, weight, grad, hess):
    """Add the pairs of a document of this label and one of a lower label; return their cost.

    order (n,) has rows by score, ascending. For each document i of this label, downwards, the documents j of lower
    label with s_j > s_i - 1 are counted and their scores summed. For each j, upwards, the documents i of this label
    with s_i < s_j + 1 are counted.
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


@register("exponential")
@dataclass(frozen=True, eq=False)
class PairwiseExponential(LabelCost):
    """Pairwise exponential cost; parameters as in `LabelObjective`, a query's weight is that of each of its pairs."""

    def cost_and_gradients(self, scores: Floats, grad: Floats, hess: Floats) -> float:
        """Return the cost, and fill grad and hess with its derivatives.

        -grad is the potential of each document: the weight of the pairs in which it is the better one, less that of
        those in which it is the worse one.
        """
        costs = np.zeros(len(self.weights))
        _fill_potentials(self.query_ptr, self.best_last, self.labels, scores, self.weights, grad, hess, costs)
        return total(costs)


@helper()
def _add_others(rows, labels, scores, middle, weight, sign, grad, hess):
    """Add each row's pairs with the rows of other labels before it; return the cost of all pairs.

    rows  by label. If `sign` is 1, ascending: a row is the better one of its pairs. If it is -1, descending: the worse.
    """
    others = 0.0
    same = 0.0
    cost = 0.0
    label = labels[rows[0]]
    for row in rows:
        if labels[row] != label:
            others = others + same
            same = 0.0
            label = labels[row]
        growth = exp(min(max(scores[row] - middle, -0.5 * WIDEST), 0.5 * WIDEST))  # only differences of scores matter
        share = weight * others / growth if sign > 0.0 else weight * others * growth
        grad[row] -= sign * share
        hess[row] += share
        cost += share
        same += growth if sign > 0.0 else 1.0 / growth
    return cost


@kernel(parallel=True)
def _fill_potentials(query_ptr, best_last, labels, scores, weights, grad, hess, costs):
    """Fill gradient, curvature and each query's cost; best_last (n_rows,) are rows by query, then label, ascending."""
    for q in prange(query_ptr.shape[0] - 1):
        first, last = _cleared_rows(query_ptr, q, grad, hess)
        if last - first < 2 or weights[q] == 0.0:
            continue
        rows = best_last[first:last]
        middle = 0.5 * (scores[first:last].min() + scores[first:last].max())
        costs[q] = _add_others(rows, labels, scores, middle, weights[q], 1.0, grad, hess)
        _add_others(rows[::-1], labels, scores, middle, weights[q], -1.0, grad, hess)


@dataclass(frozen=True, eq=False)
class ListedPairs(Objective):
    """A cost of listed pairs.

    Parameters
    ----------
    first_row, second_row : int64 arrays of shape (n_pairs,)
        Rows of the two documents of each pair, which are of one query.
    probability : float64 array of shape (n_pairs,)
        Probability that the first document is better, 0 to 1.
    weights : float64 array of shape (n_pairs,)
        Multiplied into the cost of each pair.

    """

    first_row: Ints
    second_row: Ints
    probability: Floats
    weights: Floats

    def _margins(self, scores: Floats) -> Floats:
        """Return the margin of each pair, (n_pairs,) float64."""
        return np.clip(scores[self.first_row] - scores[self.second_row], -WIDEST, WIDEST)

    def _fill(self, slopes: Floats, curvatures: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,); slopes and curvatures (n_pairs,) are the derivatives by the first score."""
        n_rows = len(grad)
        grad[:] = np.bincount(self.first_row, slopes, n_rows) - np.bincount(self.second_row, slopes, n_rows)
        hess[:] = np.bincount(self.first_row, curvatures, n_rows) + np.bincount(self.second_row, curvatures, n_rows)


@dataclass(frozen=True, eq=False)
class PreferencePairs(ListedPairs):
    """Pairwise logistic cost of listed pairs; sigma is the slope of the logistic, 1 / score unit."""

    sigma: float = 1.0

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        modelled = array_exp(-softplus(-self.sigma * self._margins(scores)))
        slopes = self.weights * self.sigma * (modelled - self.probability)
        self._fill(slopes, self.weights * self.sigma**2 * modelled * (1.0 - modelled), grad, hess)


@dataclass(frozen=True, eq=False)
class ExponentialPairs(CostObjective, ListedPairs):
    """Pairwise exponential cost of listed pairs."""

    def cost_and_gradients(self, scores: Floats, grad: Floats, hess: Floats) -> float:
        """Return the cost, and fill grad and hess with its derivatives."""
        margins = self._margins(scores)
        right = self.weights * self.probability * array_exp(-margins)
        wrong = self.weights * (1.0 - self.probability) * array_exp(margins)
        self._fill(wrong - right, right + wrong, grad, hess)
        return total(right + wrong)

"""Costs that labels or preferences define: of single documents, of pairs of documents of a query, and of whole lists.

Single documents: least squares, two-class logistic, balanced, and LogistRank's. A row weighs as its query does, times
its own weight.

Pairs: all those whose labels differ, or listed ones. For documents i above j in label, m = s_i - s_j their margin:

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

Documents of equal label make no pair; a pair at the margin is right. Costs of pairs are summed, not averaged: a query
with more pairs weighs more. For ranknet and Plackett-Luce, a score more than 300 / sigma below the best of its query
counts as this far below: two such documents are tied, and a pair of them has the derivatives of equal scores, whatever
lies between them. Weights as large as that need data which they separate and hardly a penalty (PlackettLuce(C=1e6));
they are then not the minimum. Other margins count as 600 at most.

Listed pairs may contradict each other, occur several times, and have a measured probability Pbar that the first is
better. With P = 1 / (1 + exp(-sigma m)), RankNet's cost is (1 - Pbar) sigma m + log(1 + exp(-sigma m)), its gradient
sigma (P - Pbar); RankBoost's counts a pair in either direction: Pbar exp(-m) + (1 - Pbar) exp(m).

Lists: Plackett-Luce (ListMLE) and XE-NDCG, by the softmax of the scores. Plackett-Luce is the likelihood of the judged
order, document by document from the best: each document i is drawn from the remaining documents of its query with
probability e^s_i / sum e^s_j:

    C = sum over i of log(e^s_i + sum over j with l_j < l_i of e^s_j) - s_i

The judgements do not order documents of equal label, so each is drawn from itself and the documents of lower label
only; those of the lowest label cost nothing. (Breslow's form draws it from those of equal label too, and so moves their
scores together.) With two labels and one relevant document it is the softmax cost.

XE-NDCG is the cross-entropy of the softmax of the scores from perturbed gains of the labels:

    C = -sum over i of phi_i log(e^s_i / sum e^s_j),    phi_i = (2^l_i - gamma_i) / sum (2^l_j - gamma_j)

with gamma_i uniform in [0, 1), drawn anew for every tree: it bounds 1 - nDCG with gain 2^l - 1. The derivatives are
those of C, and the diagonal of its second ones: LightGBM's `rank_xendcg` adds two terms of an approximate inverse of
the whole matrix to the gradient. A query whose labels are all equal costs nothing; for LightGBM it has random targets.

`tests/oracles/objectives.py` and `tests/oracles/limits.py` have the slow forms.

References
----------
J. Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics 29, 2001.
C. Burges, MSR-TR-2010-82, sections 2 (RankNet), 5 and 6.
D. Yin et al., Ranking Relevance in Yahoo Search, KDD 2016.
Z. Zheng et al., A Regression Framework for Learning Ranking Functions Using Relative Relevance Judgments, SIGIR 2007.
T. Joachims, Optimizing Search Engines Using Clickthrough Data, KDD 2002.
Y. Freund et al., An Efficient Boosting Algorithm for Combining Preferences, JMLR 4, 2003.
R. Plackett, The Analysis of Permutations, Applied Statistics 24, 1975.
F. Xia et al., Listwise Approach to Learning to Rank: Theory and Algorithm, ICML 2008 (ListMLE).
S. Bruch, An Alternative Cross Entropy Loss for Learning-to-Rank, WWW 2021 (arXiv 1911.09798).

"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from math import log as log_of
from typing import ClassVar

import numpy as np
from numba import prange

from rerank.objectives.base import LOWEST_EXPONENT, CostObjective, LabelCost, LabelObjective, Objective, register
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.numerics import array_exp, array_log, exp, log, softplus
from rerank.types import Floats, Ints, query_rows


@register("least-squares")
@dataclass(frozen=True, eq=False)
class LeastSquares(LabelObjective):
    """Half the squared distance of scores from labels, MART's cost for regression; parameters as in `LabelObjective`.

        L = 1/2 (F - l)^2,    -dL/dF = l - F,    d2L/dF^2 = 1

    so that a leaf's Newton step is the mean residual.
    """

    weighs_rows: ClassVar[bool] = True

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        hess[:] = self.row_weights
        grad[:] = hess * (scores - self.labels)

    def constant(self) -> float:
        """Return the mean label."""
        weights = self.row_weights
        return float(np.average(self.labels, weights=weights)) if weights.any() else 0.0


LARGEST_MARGIN = 1e300  # finite, so that 0 times its cost is 0
LEAST_SHARE = 1e-6  # of a class in `constant`: it would be infinite where all rows are of one class


@register("logistic")
@dataclass(frozen=True, eq=False)
class Logistic(LabelCost):
    """Two-class logistic cost.

    With y = 1 for a positive label, else -1, and ybar = 2 y sigma / (1 + exp(2 y sigma F)):

        L        = log(1 + exp(-2 y sigma F))
        -dL/dF   = ybar
        d2L/dF^2 = |ybar| (2 sigma - |ybar|)

    so that a leaf's Newton step is sum ybar / sum |ybar| (2 sigma - |ybar|), as in Burges 2010, section 6.

    Parameters
    ----------
    query_ptr, weights, labels
        As in `LabelObjective`; labels above 0 are positive.
    sigma : float
        Half the slope of the logistic, 1 / score unit.

    """

    weighs_rows: ClassVar[bool] = True

    sigma: float = 1.0

    def cost_and_gradients(self, scores: Floats, grad: Floats, hess: Floats) -> float:
        """Return the cost, and fill grad and hess with its derivatives."""
        margins = np.clip(2.0 * self.sigma * self._classes * scores, -LARGEST_MARGIN, LARGEST_MARGIN)
        response = 2.0 * self.sigma * array_exp(-softplus(margins))  # |ybar|
        grad[:] = -self.row_weights * self._classes * response
        hess[:] = self.row_weights * response * (2.0 * self.sigma - response)
        return float(np.sum(self.row_weights * softplus(-margins)))

    def constant(self) -> float:
        """Return the score at which all rows together cost least: ln(w+ / w-) / (2 sigma), w the classes' weights."""
        weights = self.row_weights
        share = weights[self._classes > 0.0].sum() / weights.sum() if weights.any() else 0.5
        share = min(max(share, LEAST_SHARE), 1.0 - LEAST_SHARE)
        return float(array_log(share / (1.0 - share)) / (2.0 * self.sigma))

    @cached_property
    def _classes(self) -> Floats:
        """1 for a positive label, else -1, (n_rows,) float64."""
        return np.where(self.labels > 0.0, 1.0, -1.0)


@register("balanced-logistic")
@dataclass(frozen=True, eq=False)
class BalancedLogistic(Logistic):
    """Two-class logistic cost, each class with half of the weight (Burges 2010, section 6.1, equation 15).

    Parameters as in `Logistic`. Each row weighs 1 / n+ or 1 / n-, so that both classes count as much. The weight I+ /
    n+ + I- / n- multiplies both sums of a leaf:

        sum w ybar / sum w |ybar| (2 sigma - |ybar|)

    which is not the plain step with weighted responses, sum (w ybar) / sum |w ybar| (2 sigma - |w ybar|). Convention:
    n+ and n- count rows by their queries' weights; w is multiplied by half the rows, so that it is 1 where classes have
    equal weight.
    """

    @cached_property
    def row_weights(self) -> Floats:
        """What each row's cost is multiplied by, (n_rows,) float64."""
        rows = super().row_weights
        half = rows.sum() / 2.0
        weights = rows.copy()
        for members in (self._classes > 0.0, self._classes < 0.0):
            weights[members] *= half / rows[members].sum() if rows[members].any() else 1.0
        return weights


@register("logistrank")
@dataclass(frozen=True, eq=False)
class LogistRankObjective(LabelObjective):
    """Pointwise logistic cost with larger weights for the best labels; parameters as in `LabelObjective`.

    With y = 1 for the upper half of the grades (label >= half of the best label), else -1, and scale 3 for the best
    label, 2 for the next, 1 for the others:

        L       = scale log(1 + exp(-y F))
        -dL/dF  = ytilde = scale y / (1 + exp(y F))
        hess    = |ytilde (2 - |ytilde|)|
        F_0     = mean of y

    Conventions. Below the half, scale is 1, as for the paper's two lowest of five grades, so that two grades have 3 and
    1. With scale 3 |ytilde| can exceed 2, where 2 - |ytilde| is negative: hence the absolute value of the product. hess
    is that of the paper, not the second derivative; it is 0 at |ytilde| = 2, where `min_child_weight` keeps leaves from
    being unbounded.
    """

    weighs_rows: ClassVar[bool] = True

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64: the first derivative at `scores`, and the paper's curvature."""
        response = self._scales * array_exp(-softplus(self._classes * scores))  # |ytilde|
        grad[:] = -self.row_weights * self._classes * response
        hess[:] = self.row_weights * np.abs(response * (2.0 - response))

    def constant(self) -> float:
        """Return the mean of y, -1 to 1."""
        weights = self.row_weights
        return float(np.average(self._classes, weights=weights)) if weights.any() else 0.0

    @cached_property
    def _classes(self) -> Floats:
        """1 for the upper half of the grades, else -1, (n_rows,) float64."""
        best = self.labels.max(initial=0.0)
        return np.where((self.labels > 0.0) & (self.labels >= best / 2.0), 1.0, -1.0)

    @cached_property
    def _scales(self) -> Floats:
        """What each row's cost is multiplied by for its label, (n_rows,) float64."""
        from_best = self.labels.max(initial=0.0) - self.labels
        return np.where(self._classes > 0.0, np.maximum(3.0 - from_best, 1.0), 1.0)


WIDEST = 600.0  # margin: exp(710) overflows


@helper()
def _cleared_rows(query_ptr, q, grad, hess):  # type: ignore[no-untyped-def]
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
def _add_logistic_pairs(e, label, grad, hess):  # type: ignore[no-untyped-def]
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


@kernel(parallel=True)
def _fill_logistic(query_ptr, best_first, labels, scores, weights, sigma, grad, hess):  # type: ignore[no-untyped-def]
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
def _fill_targets(query_ptr, best_first, labels, scores, weights, tau, grad, hess):  # type: ignore[no-untyped-def]
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
        return float(np.sum(costs * self.weights))


@kernel(parallel=True)
def _fill_hinges(query_ptr, labels, scores, weights, grad, hess, costs):  # type: ignore[no-untyped-def]
    """Fill gradient, pairs inside the margin, and each query's unweighted cost; a thread takes a query at a time.

    For each label but the lowest: its documents as the better ones, in order of score, against all lower ones.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, last = _cleared_rows(query_ptr, q, grad, hess)
        order = first + np.argsort(scores[first:last], kind="mergesort")
        cost = 0.0
        for label in np.unique(labels[first:last])[1:]:
            cost += _add_level(order, labels, scores, label, weights[q], grad, hess)
        costs[q] = cost


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
        return float(costs.sum())


@helper()
def _add_others(rows, labels, scores, middle, weight, sign, grad, hess):  # type: ignore[no-untyped-def]
    """Add each row's pairs with the rows of other labels before it; return the cost of all pairs.

    rows  by label: ascending where `sign` is 1, a row is then the better one of its pairs; descending where it is -1
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
def _fill_potentials(query_ptr, best_last, labels, scores, weights, grad, hess, costs):  # type: ignore[no-untyped-def]
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
        Rows of one query.
    probability : float64 array of shape (n_pairs,)
        That the first is better, 0 to 1.
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
        """Fill grad and hess (n_rows,) with the pairs' derivatives by the first score, (n_pairs,) float64."""
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
        return float((right + wrong).sum())


@register("plackett-luce")
@dataclass(frozen=True, eq=False)
class PlackettLuceObjective(LabelCost):
    """Negative log likelihood of the judged order; parameters as in `LabelObjective`."""

    def cost_and_gradients(self, scores: Floats, grad: Floats, hess: Floats) -> float:
        """Return the cost, and fill grad and hess with its derivatives."""
        costs = np.zeros(len(self.weights))
        _fill_draws(self.query_ptr, self.best_last, self.labels, scores, self.weights, grad, hess, costs)
        return float(np.sum(costs * self.weights))


@helper()
def _sum_lower(scores, label, e, below):  # type: ignore[no-untyped-def]
    """Fill e (n,) with the exponentials of scores, below (n,) with their sums over lower labels; return the cost.

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
def _fill_draws(query_ptr, best_last, labels, scores, weights, grad, hess, costs):  # type: ignore[no-untyped-def]
    """Fill gradient, curvature and each query's unweighted cost; a thread takes a query at a time.

    In prefix-sum form: upwards in label, `below` has the sums of e of all lower labels; downwards, `shares` sums
    1 / (e_i + below_i) over all higher ones, and `squares` its square: the terms of a document in
    the draws of higher labels.
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
    """Cross-entropy from perturbed gains, which are drawn anew for every tree, by its number, the seed and the row.

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
        total = np.ones(len(self.weights))
        total[filled] = np.add.reduceat(gains, self.query_ptr[:-1][filled]) if filled.any() else 1.0
        return np.where((best > least)[query], gains / total[query], 0.0)

    def _uniform(self) -> Floats:
        """Return a random number for each row and the next tree, (n_rows,) float64 in [0, 1)."""
        bits = np.random.Philox(np.random.SeedSequence([self.seed, next(self.trees), 0]))
        return np.random.Generator(bits).random(len(self.labels))


@kernel(parallel=True)
def _fill_cross_entropy(query_ptr, scores, targets, weights, grad, hess):  # type: ignore[no-untyped-def]
    """Fill gradient and curvature; a thread takes a query at a time."""
    for q in prange(query_ptr.shape[0] - 1):
        first, last = _cleared_rows(query_ptr, q, grad, hess)
        if targets[first:last].sum() == 0.0:
            continue
        best = scores[first:last].max()
        above = np.zeros(last - first + 1)  # sums of the exponentials before and after each row: no difference of them
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

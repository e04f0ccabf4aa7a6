"""LambdaRank: pairwise logistic gradients, each weighed by what swapping the pair does to a measure.

For documents i above j in label, with rho = 1 / (1 + exp(sigma (s_i - s_j))) (Burges 2010, MSR-TR-2010-82):

    lambda_ij  = -sigma |dM_ij| rho                 (section 4)
    d2C/ds_i^2 = sigma^2 |dM_ij| rho (1 - rho)      (section 7)

Conventions. A pair counts when one of its documents stands among the first `truncation_level`; beyond
that depth the discount is 0, so this is exactly the measure cut at the truncation level, not at the
measure's own cutoff (a document just below the cutoff must feel a pull). `normalize` divides every pair
by 0.01 + sigma |s_i - s_j| and scales a query's sum L of |lambda_ij| / sigma, both documents of a pair counted,
to log2(1 + L), as LightGBM's `lambdarank_norm`: it keeps long queries from outweighing short ones. Equal
scores stand in the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from rerank.metrics.base import SwapWeights
from rerank.types import Floats, Ints

LOWEST_EXPONENT = -300.0  # scores further apart than this count as this far: exp() stays above zero


@dataclass(frozen=True, eq=False)
class LambdaRank:
    """Gradients of LambdaRank for one set of queries.

    query_ptr  (n_queries + 1,) int64
    weights    (n_queries,) float64, multiplied into each query's gradients
    swap       gains, discounts and inverse norms of a separable measure: the larger gain is the better label
    sigma      slope of the logistic, 1 / score unit; with Newton leaves it only sets the unit of the scores
               that trees add, and so makes no difference to a model that starts from 0 (section 7)
    """

    query_ptr: Ints
    weights: Floats
    swap: SwapWeights
    sigma: float = 1.0
    truncation_level: int = 30
    normalize: bool = True

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        _fill_lambdas(
            self.query_ptr,
            scores,
            self.swap.gains,
            self.swap.discounts,
            self.swap.inverse_norms * self.weights,
            self.sigma,
            self.truncation_level,
            self.normalize,
            grad,
            hess,
        )


@njit(cache=True)
def _top_first(scores, gains, top, order):  # type: ignore[no-untyped-def]
    """Fill order (n,) with rows: the `top` best by score (ties: earlier row), then the others, those with a gain first.

    Returns the number of rows down to the last one with a gain: pairs of two documents without gain pull nothing.
    """
    n_top = 0
    for row in range(scores.shape[0]):
        if n_top == top and scores[row] <= scores[order[top - 1]]:
            continue
        place = min(n_top, top - 1)
        while place > 0 and scores[order[place - 1]] < scores[row]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = row
        n_top = min(n_top + 1, top)
    lowest, last = scores[order[top - 1]], order[top - 1]
    front, back = top, scores.shape[0]
    for row in range(scores.shape[0]):
        if scores[row] < lowest or (scores[row] == lowest and row > last):
            if gains[row] > 0.0:
                order[front] = row
                front += 1
            else:
                back -= 1
                order[back] = row
    return front


@njit(cache=True, inline="always")
def _pull(gain_gap, distance, rho_i, sigma, weight, normalize):  # type: ignore[no-untyped-def]
    """Return lambda / sigma on the first of a pair, downhill for the better one, and its curvature / sigma^2."""
    weight = weight * abs(gain_gap)
    if normalize:
        weight = weight / (0.01 + sigma * abs(distance))
    rho = rho_i if gain_gap > 0.0 else 1.0 - rho_i
    pull = weight * rho
    return (pull if gain_gap > 0.0 else -pull), pull * (1.0 - rho), pull


@njit(cache=True, fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
def _add_pairs(i, top, n, score, gain, discount, e, sigma, scale, normalize, grad, hess):  # type: ignore[no-untyped-def]
    """Add the pairs of rank i with every later rank; return the sum of their |lambda_ij| / sigma.

    One exponential a document: 1 / (1 + exp(sigma (s_i - s_j))) = e_j / (e_i + e_j). Below the top the
    discount is 0 and not read: with few arrays the second loop becomes vector code.
    """
    grad_i, hess_i, total = 0.0, 0.0, 0.0
    score_i, gain_i, e_i = score[i], gain[i], e[i]
    for j in range(i + 1, top):
        weight = scale * abs(discount[i] - discount[j])
        signed, curvature, pull = _pull(
            gain_i - gain[j], score_i - score[j], e[j] / (e_i + e[j]), sigma, weight, normalize
        )
        grad_i -= signed
        hess_i += curvature
        grad[j] += signed
        hess[j] += curvature
        total += pull
    weight = scale * discount[i]
    for j in range(top, n):
        signed, curvature, pull = _pull(
            gain_i - gain[j], score_i - score[j], e[j] / (e_i + e[j]), sigma, weight, normalize
        )
        grad_i -= signed
        hess_i += curvature
        grad[j] += signed
        hess[j] += curvature
        total += pull
    grad[i] += grad_i
    hess[i] += hess_i
    return total


@njit(cache=True, parallel=True)
def _fill_lambdas(  # type: ignore[no-untyped-def]
    query_ptr, scores, gains, discounts, inverse_norms, sigma, truncation, normalize, grad, hess
):
    """Fill the gradients of all queries; a thread takes a query at a time.

    gains (n_rows,), discounts (longest query,) by rank, inverse_norms (n_queries,), all float64
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        n = last - first
        grad[first:last] = 0.0
        hess[first:last] = 0.0
        scale = inverse_norms[q]
        if n < 2 or scale == 0.0:
            continue
        top = min(truncation, n)
        order = np.empty(n, np.int64)
        n_gaining = _top_first(scores[first:last], gains[first:last], top, order)
        score, gain, e = np.empty(n), np.empty(n), np.empty(n)
        ranked_grad, ranked_hess = np.zeros(n), np.zeros(n)
        best = scores[first + order[0]]
        lowest = best
        for rank in range(n):
            row = first + order[rank]
            score[rank] = scores[row]
            gain[rank] = gains[row]
            e[rank] = np.exp(max(sigma * (scores[row] - best), LOWEST_EXPONENT))
            lowest = min(lowest, scores[row])
        by_distance = normalize and lowest < best
        total = 0.0
        for i in range(top):
            end = n if gain[i] > 0.0 else n_gaining
            total += _add_pairs(
                i, top, end, score, gain, discounts, e, sigma, scale, by_distance, ranked_grad, ranked_hess
            )
        factor = 1.0
        if normalize:
            factor = np.log2(1.0 + 2.0 * total) / (2.0 * total) if total > 0.0 else 1.0
        for rank in range(n):
            grad[first + order[rank]] = ranked_grad[rank] * factor * sigma
            hess[first + order[rank]] = ranked_hess[rank] * factor * sigma * sigma

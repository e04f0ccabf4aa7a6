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
from functools import cached_property

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from rerank.metrics.base import SwapWeights
from rerank.objectives.base import Objective
from rerank.types import Floats, Ints

LOWEST_EXPONENT = -300.0  # scores further apart than this count as this far: exp() stays above zero
LANES = 8  # documents at the top are padded to a multiple of this: no loop over them ends in odd ones


@dataclass(frozen=True, eq=False)
class LambdaRank(Objective):
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

    def cost(self, scores: Floats) -> float:
        """Return the cost whose derivatives these are while no document moves, at `scores` (n_rows,) float64.

            sum over pairs of |dM_ij| log(1 + exp(-sigma (s_i - s_j))), dM at the order of these scores

        What `normalize` does to the pairs is left out: with it, lambdas are the gradient of no cost.
        """
        return sum(self._query_cost(scores, query) for query in range(len(self.weights)))

    def _query_cost(self, scores: Floats, query: int) -> float:
        rows = slice(self.query_ptr[query], self.query_ptr[query + 1])
        order = np.argsort(-scores[rows], kind="stable")
        score, gain = scores[rows][order], self.swap.gains[rows][order]
        discount = np.zeros(len(order))
        top = min(self.truncation_level, len(order))
        discount[:top] = self.swap.discounts[:top]
        gaps = np.maximum(gain[:, None] - gain, 0.0)
        deltas = gaps * np.abs(discount[:, None] - discount) * self.swap.inverse_norms[query]
        costs = np.logaddexp(0.0, -self.sigma * (score[:, None] - score))
        return float(self.weights[query] * np.sum(deltas * costs))

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
            self._orders,
            grad,
            hess,
        )

    @cached_property
    def _orders(self) -> NDArray[np.int32]:
        """Rows of each query, counted from its first, as they last stood: only where the next sort starts."""
        counts = np.diff(self.query_ptr)
        return (np.arange(self.query_ptr[-1]) - np.repeat(self.query_ptr[:-1], counts)).astype(np.int32)


@njit(cache=True)
def _settle(order, place, scores):  # type: ignore[no-untyped-def]
    """Move the row at `place` up to where its score belongs; ties: earlier row first."""
    row = order[place]
    while place > 0:
        above = order[place - 1]
        if scores[above] > scores[row] or (scores[above] == scores[row] and above < row):
            break
        order[place] = above
        place -= 1
    order[place] = row


@njit(cache=True)
def _top_first(scores, top, order):  # type: ignore[no-untyped-def]
    """Bring the `top` best rows to the front of order (n,), best first; the others follow in any order.

    From one tree to the next little moves, so a start from the last order costs little more than a look.
    """
    for place in range(1, top):
        _settle(order, place, scores)
    last = order[top - 1]
    for place in range(top, scores.shape[0]):
        row = order[place]
        if scores[row] > scores[last] or (scores[row] == scores[last] and row < last):
            order[place], order[top - 1] = last, row
            _settle(order, top - 1, scores)
            last = order[top - 1]


@njit(cache=True, fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
def _pull_pairs(  # type: ignore[no-untyped-def]
    score, gain, e, discount, widths, top_score, top_gain, top_e, top_discount, offset, slope,
    top_grad, top_hess, grad, hess,
):  # fmt: skip
    """Fill grad and hess (n,) with what the top documents do to each document, and add the reverse to the top's.

    One exponential a document: 1 / (1 + exp(sigma (s_i - s_j))) = e_j / (e_i + e_j). A pair counts for the one that
    stands lower: discounts do not rise with rank, so a difference that is not positive is another's pair, a padded
    one or none. Document j looks at the first widths[j] of the top. Returns the sum of all |lambda_ij| / sigma.
    """
    total = 0.0
    for j in range(score.shape[0]):
        score_j, gain_j, e_j, discount_j = score[j], gain[j], e[j], discount[j]
        grad_j, hess_j = 0.0, 0.0
        for i in range(np.uint64(widths[j])):
            gap = top_gain[i] - gain_j
            distance = offset + slope * abs(top_score[i] - score_j)
            both = top_e[i] + e_j
            share = 1.0 / (both * distance)
            losing = e_j if gap > 0.0 else top_e[i]
            signed = gap * max(top_discount[i] - discount_j, 0.0) * share * losing
            pull = abs(signed)
            curvature = pull * (both - losing) * share * distance
            grad_j += signed
            hess_j += curvature
            total += pull
            top_grad[i] -= signed
            top_hess[i] += curvature
        grad[j] = grad_j
        hess[j] = hess_j
    return total


@njit(cache=True)
def _fill_query(  # type: ignore[no-untyped-def]
    scores, gains, discounts, scale, sigma, truncation, normalize, order, grad, hess
):
    """Fill the gradients of one query; all arrays are its own (n,)."""
    n = scores.shape[0]
    top = min(truncation, n)
    _top_first(scores, top, order)
    best, lowest = scores[order[0]], scores.min()
    score, gain, e, discount = np.empty(n), np.empty(n), np.empty(n), np.zeros(n)
    for place in range(n):
        row = order[place]
        score[place] = scores[row]
        gain[place] = gains[row]
        e[place] = np.exp(max(sigma * (scores[row] - best), LOWEST_EXPONENT))
    discount[:top] = scale * discounts[:top]
    # Those with a gain stand first among the top: two documents without gain pull nothing.
    width = (top + LANES - 1) // LANES * LANES
    top_score, top_gain, top_e, top_discount = np.zeros(width), np.zeros(width), np.ones(width), np.zeros(width)
    front, back = 0, top
    column = np.empty(top, np.int64)
    for place in range(top):
        if gain[place] > 0.0:
            column[place] = front
            front += 1
        else:
            back -= 1
            column[place] = back
        top_score[column[place]] = score[place]
        top_gain[column[place]] = gain[place]
        top_e[column[place]] = e[place]
        top_discount[column[place]] = discount[place]
    gaining = (front + LANES - 1) // LANES * LANES
    widths = np.empty(n, np.int64)
    for place in range(n):
        widths[place] = width if gain[place] > 0.0 else gaining
    by_distance = normalize and lowest < best
    offset, slope = (0.01, sigma) if by_distance else (1.0, 0.0)
    top_grad, top_hess, ranked_grad, ranked_hess = np.zeros(width), np.zeros(width), np.empty(n), np.empty(n)
    total = _pull_pairs(
        score, gain, e, discount, widths, top_score, top_gain, top_e, top_discount, offset, slope,
        top_grad, top_hess, ranked_grad, ranked_hess,
    )  # fmt: skip
    for place in range(top):
        ranked_grad[place] += top_grad[column[place]]
        ranked_hess[place] += top_hess[column[place]]
    factor = np.log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0
    for place in range(n):
        grad[order[place]] = ranked_grad[place] * factor * sigma
        hess[order[place]] = ranked_hess[place] * factor * sigma * sigma


@njit(cache=True, parallel=True)
def _fill_lambdas(  # type: ignore[no-untyped-def]
    query_ptr, scores, gains, discounts, inverse_norms, sigma, truncation, normalize, orders, grad, hess
):
    """Fill the gradients of all queries; a thread takes a query at a time.

    gains (n_rows,), discounts (longest query,) by rank and not rising, inverse_norms (n_queries,), all float64;
    orders (n_rows,) int32 the rows of each query in any order, left best first
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        if last - first < 2 or inverse_norms[q] == 0.0:
            grad[first:last] = 0.0
            hess[first:last] = 0.0
            continue
        _fill_query(
            scores[first:last],
            gains[first:last],
            discounts,
            inverse_norms[q],
            sigma,
            truncation,
            normalize,
            orders[first:last],
            grad[first:last],
            hess[first:last],
        )

"""LambdaRank: pairwise logistic gradients, each weighed by what swapping the pair does to a measure.

For documents i above j in label, with rho = 1 / (1 + exp(sigma (s_i - s_j))) (Burges 2010, MSR-TR-2010-82):

    lambda_ij  = -sigma |dM_ij| rho                 (section 4)
    d2C/ds_i^2 = sigma^2 |dM_ij| rho (1 - rho)      (section 7)

Conventions. A pair counts when one of its documents stands among the first `truncation_level`; beyond
that depth the discount is 0, so this is exactly the measure cut at the truncation level, not at the
measure's own cutoff (a document just below the cutoff must feel a pull). `normalize` divides every pair
by 0.01 + sigma |s_i - s_j| and scales a query's sum L of |lambda_ij| / sigma, both documents of a pair counted,
to log2(1 + L), as LightGBM's `lambdarank_norm`: it keeps long queries from outweighing short ones. Burges has neither
(`normalize=False`). Equal scores rank in the order of the rows. Scores of any finite size give the exact limits:
a query whose scores span more than 300 / sigma takes one exponential a pair in place of one a document.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import get_num_threads, prange
from numpy.typing import NDArray

from rerank.metrics.structures import SwapWeights
from rerank.objectives.base import Objective
from rerank.objectives.hessian import fill_products
from rerank.runtime.kernels import helper, kernel
from rerank.types import Floats, Ints

LOWEST_EXPONENT = -300.0  # scores further below their query's best take one exponential a pair
LARGEST = float(np.finfo(np.float64).max)
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
        costs = logistic_costs(self.sigma, score[:, None], score)
        with np.errstate(over="ignore"):  # beyond float64 a cost is infinite
            return float(self.weights[query] * np.sum(deltas * costs))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        _fill_lambdas(
            self.query_ptr,
            scores,
            *self._by_gain,
            self.swap.discounts,
            self.swap.inverse_norms * self.weights,
            self.sigma,
            self.truncation_level,
            self.normalize,
            self._orders,
            self._stretches,
            grad,
            hess,
        )

    def hessian_product(self, scores: Floats, columns: Floats, out: Floats) -> None:
        """Fill out (n_rows, k) float64 with the second derivatives at `scores` (n_rows,) times columns (n_rows, k)."""
        weights = self.swap.inverse_norms * self.weights
        pairs = self.swap.gains, np.empty(0), self.query_ptr, self.swap.discounts, weights, self.truncation_level
        fill_products(self.query_ptr, scores, *pairs, self.sigma, self.normalize, columns, out)

    @cached_property
    def _by_gain(self) -> tuple[Floats, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Columns: the rows of each query by falling gain. Gains, rows, and where those of equal gain begin and end."""
        first = np.repeat(self.query_ptr[:-1], np.diff(self.query_ptr))
        order = np.lexsort((-self.swap.gains, first))
        gains = self.swap.gains[order]
        heads = (np.diff(gains, prepend=np.nan) != 0.0) | (np.diff(first, prepend=-1) != 0)
        ends = np.append(np.flatnonzero(heads), len(gains))
        alike = np.cumsum(heads)
        rows, above, below = ((found - first).astype(np.int32) for found in (order, ends[alike - 1], ends[alike]))
        return gains, rows, above, below

    @cached_property
    def _stretches(self) -> Ints:
        """Where stretches of queries with about as many rows each begin, four for each thread."""
        n_stretches = 4 * get_num_threads()
        bounds = np.searchsorted(self.query_ptr, np.arange(n_stretches) * self.query_ptr[-1] // n_stretches)
        return np.append(bounds, len(self.query_ptr) - 1)

    @cached_property
    def _orders(self) -> NDArray[np.int32]:
        """Columns of each query as they last stood: only where the next sort starts."""
        counts = np.diff(self.query_ptr)
        return (np.arange(self.query_ptr[-1]) - np.repeat(self.query_ptr[:-1], counts)).astype(np.int32)


def logistic_costs(sigma: float, better: Floats, worse: Floats) -> Floats:
    """Return log(1 + exp(-sigma (better - worse))) of pairs of finite scores, finite, so that 0 times it is 0."""
    with np.errstate(over="ignore"):
        margins = np.clip(sigma * (better - worse), -LARGEST, LARGEST)
    return np.asarray(np.logaddexp(0.0, -margins))


@helper()
def _settle(order, place, scores, rows):  # type: ignore[no-untyped-def]
    """Move the column at `place` up to where its score belongs; ties: earlier row first."""
    column = order[place]
    while place > 0:
        above = order[place - 1]
        if scores[above] > scores[column] or (scores[above] == scores[column] and rows[above] < rows[column]):
            break
        order[place] = above
        place -= 1
    order[place] = column


@helper()
def _top_first(scores, rows, top, order):  # type: ignore[no-untyped-def]
    """Bring the `top` best columns to the front of order (n,), best first; the others follow in any order.

    From one tree to the next little moves, so a start from the last order costs little more than a look.
    """
    for place in range(1, top):
        _settle(order, place, scores, rows)
    last = order[top - 1]
    for place in range(top, order.shape[0]):
        column = order[place]
        if scores[column] > scores[last] or (scores[column] == scores[last] and rows[column] < rows[last]):
            order[place], order[top - 1] = last, column
            _settle(order, top - 1, scores, rows)
            last = order[top - 1]


@helper(fastmath={"reassoc", "contract", "nsz", "arcp"})
def _pull_pairs(score, gain, e, discount, top, above, below, offset, slope, grad, hess):  # type: ignore[no-untyped-def]
    """Add to grad and hess what each document of the top does to those it outranks, and what they do to it.

    One exponential a document: 1 / (1 + exp(sigma (s_i - s_j))) = e_j / (e_i + e_j). Columns stand by gain, the
    largest first: those of document i's own gain, above[i] to below[i], are passed over. Both loops take whole
    LANES: a gap or a difference of discounts that is not positive is no pair, another's, or padding.
    Returns the sum of all |lambda_ij| / sigma.
    """
    total = 0.0
    for i in top:
        score_i, gain_i, e_i, discount_i = score[i], gain[i], e[i], discount[i]
        won, lost, hess_i = 0.0, 0.0, 0.0
        for j in range(np.uint64((above[i] + LANES - 1) // LANES * LANES)):
            distance = offset + slope * abs(score_i - score[j])
            share = 1.0 / ((e_i + e[j]) * distance)
            pull = max(gain[j] - gain_i, 0.0) * max(discount_i - discount[j], 0.0) * share * e_i
            curvature = pull * share * distance * e[j]
            grad[j] -= pull
            hess[j] += curvature
            lost += pull
            hess_i += curvature
        for j in range(np.uint64(below[i] // LANES * LANES), np.uint64(score.shape[0])):
            distance = offset + slope * abs(score_i - score[j])
            share = 1.0 / ((e_i + e[j]) * distance)
            pull = max(gain_i - gain[j], 0.0) * max(discount_i - discount[j], 0.0) * share * e[j]
            curvature = pull * share * distance * e_i
            grad[j] += pull
            hess[j] += curvature
            won += pull
            hess_i += curvature
        grad[i] += lost - won
        hess[i] += hess_i
        total += won + lost
    return total


@helper()
def _pull_far_pairs(score, gain, discount, top, offset, slope, sigma, grad, hess):  # type: ignore[no-untyped-def]
    """Do what `_pull_pairs` does for scores (n,) of any finite size, with one exponential a pair."""
    total = 0.0
    for i in top:
        for j in range(score.shape[0]):
            worth = abs(gain[i] - gain[j]) * max(discount[i] - discount[j], 0.0)
            if worth == 0.0:
                continue
            better, worse = (i, j) if gain[i] > gain[j] else (j, i)
            margin = sigma * (score[better] - score[worse])
            small = np.exp(-abs(margin))
            share = worth / (offset + slope * abs(margin)) if slope > 0.0 else worth / offset
            pull = share * (small if margin > 0.0 else 1.0) / (1.0 + small)
            curvature = share * small / ((1.0 + small) * (1.0 + small))
            grad[better] -= pull
            grad[worse] += pull
            hess[better] += curvature
            hess[worse] += curvature
            total += pull
    return total


@helper()
def _fill_query(  # type: ignore[no-untyped-def]
    scores, gains, rows, above, below, discounts, scale, sigma, truncation, normalize, order, scratch, grad, hess
):
    """Fill the gradients of one query; all arrays are its own (n,) but scratch (6, at least n + LANES)."""
    n = scores.shape[0]
    top = min(truncation, n)
    size = (n + LANES - 1) // LANES * LANES
    score, gain, e, discount = scratch[0, :size], scratch[1, :size], scratch[2, :size], scratch[3, :size]
    pulls, curvatures = scratch[4, :size], scratch[5, :size]
    best, lowest = scores[0], scores[0]
    for column in range(n):
        score[column] = scores[rows[column]]
        gain[column] = gains[column]
        discount[column], pulls[column], curvatures[column] = 0.0, 0.0, 0.0
        best, lowest = max(best, score[column]), min(lowest, score[column])
    far = sigma * (lowest - best) < LOWEST_EXPONENT
    for column in range(n):
        e[column] = np.exp(sigma * (score[column] - best))
    _top_first(score, rows, top, order)
    for place in range(top):
        discount[order[place]] = scale * discounts[place]
    for column in range(n, size):  # padding: nobody outranks it, so it is in no pair
        score[column], gain[column], e[column], discount[column] = 0.0, 0.0, 1.0, scale * discounts[0]
        pulls[column], curvatures[column] = 0.0, 0.0
    by_distance = normalize and lowest < best
    offset, slope = (0.01, sigma) if by_distance else (1.0, 0.0)
    if far:
        slope = 1.0 if by_distance else 0.0  # of margins, which are in units of 1 / sigma already
        total = _pull_far_pairs(score[:n], gain, discount, order[:top], offset, slope, sigma, pulls, curvatures)
    else:
        total = _pull_pairs(score, gain, e, discount, order[:top], above, below, offset, slope, pulls, curvatures)
    factor = np.log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0
    for column in range(n):
        grad[rows[column]] = pulls[column] * factor * sigma
        hess[rows[column]] = curvatures[column] * factor * sigma * sigma


@kernel(parallel=True)
def _fill_lambdas(  # type: ignore[no-untyped-def]
    query_ptr, scores, gains, rows, above, below, discounts, inverse_norms, sigma, truncation, normalize, orders,
    stretches, grad, hess,
):  # fmt: skip
    """Fill the gradients of all queries, in `stretches` (n_stretches + 1,) of queries.

    gains, rows, above, below (n_rows,) as `LambdaRank._by_gain` has them; discounts (longest query,) by rank and not
    rising; inverse_norms (n_queries,); orders (n_rows,) int32 the columns of each query in any order, left best first
    """
    for part in prange(stretches.shape[0] - 1):
        scratch = np.empty((6, discounts.shape[0] + LANES))
        for q in range(stretches[part], stretches[part + 1]):
            here = slice(query_ptr[q], query_ptr[q + 1])
            if query_ptr[q + 1] - query_ptr[q] < 2 or inverse_norms[q] == 0.0:
                for row in range(query_ptr[q], query_ptr[q + 1]):
                    grad[row], hess[row] = 0.0, 0.0
                continue
            _fill_query(
                scores[here], gains[here], rows[here], above[here], below[here], discounts, inverse_norms[q], sigma,
                truncation, normalize, orders[here], scratch, grad[here], hess[here],
            )  # fmt: skip

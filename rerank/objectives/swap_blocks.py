"""LambdaRank for measures that are not separable: swap deltas in blocks, a batch of queries at a time.

The gradients are those of `rerank.objectives.lambdarank`, with |dM_ij| read from a block and the same conventions: a
pair counts when one of its documents stands among the first `truncation_level`; the document with the larger label is
the better one. The one difference: a measure without a cutoff is not cut at the truncation level (AP's deltas see the
whole list).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import prange

from rerank.metrics.base import Measure
from rerank.metrics.structures import RankedLists
from rerank.objectives.base import Objective
from rerank.objectives.hessian import fill_products
from rerank.objectives.lambdarank import logistic_costs
from rerank.runtime.kernels import helper, kernel
from rerank.types import Floats, Ints, pointers

LOWEST_EXPONENT = -300.0  # scores further below their query's best take one exponential a pair
DELTAS_AT_ONCE = 1 << 22  # of a batch of queries: 32 MB


@dataclass(frozen=True, eq=False)
class BlockLambdaRank(Objective):
    """Gradients of LambdaRank for one set of queries and any measure.

    query_ptr     (n_queries + 1,) int64
    weights       (n_queries,) float64, multiplied into each query's gradients
    labels        (n_rows,) float64
    ideal_labels  (n_ideal,) float64: all positive labels of each query, best first, by ideal_ptr (n_queries + 1,)
    measure       asked for its swap deltas at every call
    sigma         slope of the logistic, 1 / score unit
    """

    query_ptr: Ints
    weights: Floats
    labels: Floats
    ideal_labels: Floats
    ideal_ptr: Ints
    measure: Measure
    sigma: float = 1.0
    truncation_level: int = 30
    normalize: bool = True

    def cost(self, scores: Floats) -> float:
        """Return the cost whose derivatives these are while no document moves, as `LambdaRank.cost`."""
        return sum(self._query_cost(scores, query) for query in range(len(self.weights)))

    def _query_cost(self, scores: Floats, query: int) -> float:
        rows = slice(self.query_ptr[query], self.query_ptr[query + 1])
        ideal = self.ideal_labels[self.ideal_ptr[query] : self.ideal_ptr[query + 1]]
        order = np.argsort(-scores[rows], kind="stable")
        score, label, n = scores[rows][order], self.labels[rows][order], len(order)
        top = min(self.truncation_level, n)
        block = np.zeros(top * n)
        lists = RankedLists(label, pointers([n]), ideal, pointers([len(ideal)]))
        self.measure.fill_swap_deltas(lists, self.truncation_level, block, pointers([top * n]))
        deltas = np.triu(block.reshape(top, n), 1)
        better = np.sign(label[:top, None] - label)
        costs = logistic_costs(self.sigma, better * score[:top, None], better * score)
        with np.errstate(over="ignore"):  # beyond float64 a cost is infinite
            return float(self.weights[query] * np.sum(deltas * costs * np.abs(better)))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        for queries, rows, delta_ptr, ranked_labels in self._deltas_by_batch(scores):
            _fill_lambdas(
                self.query_ptr[queries.start : queries.stop + 1] - rows.start,
                self._order[rows],
                scores[rows],
                ranked_labels,
                self._deltas,
                delta_ptr,
                self.weights[queries],
                self.sigma,
                self.normalize,
                grad[rows],
                hess[rows],
            )

    def hessian_product(self, scores: Floats, columns: Floats, out: Floats) -> None:
        """Fill out (n_rows, k) float64 with the second derivatives at `scores` (n_rows,) times columns (n_rows, k)."""
        none = np.empty(0)
        for queries, rows, delta_ptr, _ in self._deltas_by_batch(scores):
            query_ptr = self.query_ptr[queries.start : queries.stop + 1] - rows.start
            deltas = self._deltas, delta_ptr, none, self.weights[queries], self.truncation_level
            own = self.labels[rows], *deltas, self.sigma, self.normalize, columns[rows], out[rows]
            fill_products(query_ptr, scores[rows], *own)

    def _deltas_by_batch(self, scores: Floats) -> Iterator[tuple[slice, slice, Ints, Floats]]:
        """Fill `_deltas` for each batch; yield its queries, its rows, where blocks begin, and the labels by rank."""
        _rank_rows(self.query_ptr, scores, self.labels, self._order, self._ranked_labels)
        for first, last in self._batches:
            rows = slice(int(self.query_ptr[first]), int(self.query_ptr[last]))
            ideals = slice(self.ideal_ptr[first], self.ideal_ptr[last])
            query_ptr, ideal_ptr, delta_ptr = (
                ends[first : last + 1] - ends[first] for ends in (self.query_ptr, self.ideal_ptr, self._delta_ptr)
            )
            lists = RankedLists(self._ranked_labels[rows], query_ptr, self.ideal_labels[ideals], ideal_ptr)
            self.measure.fill_swap_deltas(lists, self.truncation_level, self._deltas, delta_ptr)
            yield slice(first, last), rows, delta_ptr, lists.labels

    @cached_property
    def _delta_ptr(self) -> Ints:
        """Where each query's block would start, were all of them kept."""
        sizes = np.diff(self.query_ptr)
        return pointers(np.minimum(sizes, self.truncation_level) * sizes)

    @cached_property
    def _batches(self) -> list[tuple[int, int]]:
        """Runs of queries whose blocks fit into the memory allowed; a query that alone is too large is one."""
        batches, first, n_queries = [], 0, len(self.query_ptr) - 1
        while first < n_queries:
            fitting = np.searchsorted(self._delta_ptr, self._delta_ptr[first] + DELTAS_AT_ONCE, side="right") - 1
            last = max(first + 1, int(fitting))
            batches.append((first, last))
            first = last
        return batches

    @cached_property
    def _deltas(self) -> Floats:
        return np.empty(
            max((self._delta_ptr[last] - self._delta_ptr[first] for first, last in self._batches), default=0)
        )

    @cached_property
    def _order(self) -> Ints:
        return np.empty(len(self.labels), np.int64)

    @cached_property
    def _ranked_labels(self) -> Floats:
        return np.empty(len(self.labels))


@kernel(parallel=True)
def _rank_rows(query_ptr, scores, labels, order, ranked_labels):  # type: ignore[no-untyped-def]
    """Fill order (n_rows,) with each query's places by score, from 0, equal scores in the order of the rows.

    ranked_labels (n_rows,) float64 gets the labels in that order.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        order[first:last] = np.argsort(-scores[first:last], kind="mergesort")
        for rank in range(first, last):
            ranked_labels[rank] = labels[first + order[rank]]


@helper()
def _add_pairs(i, partners, score, label, deltas, e, far, sigma, weight, by_distance, grad, hess):  # type: ignore[no-untyped-def]
    """Add the pairs of rank i with the later ones among its partners; return the sum of their |lambda_ij| / sigma.

    partners holds ranks; deltas (n,) are those of rank i. One exponential a document:
    1 / (1 + exp(sigma (s_i - s_j))) = e_j / (e_i + e_j); one a pair where scores lie too far apart for that (`far`).
    """
    total = 0.0
    for j in partners:
        if j <= i or label[i] == label[j] or deltas[j] == 0.0:
            continue
        share = weight * deltas[j]
        if by_distance:
            share /= 0.01 + sigma * abs(score[i] - score[j])
        better, worse = (i, j) if label[i] > label[j] else (j, i)
        e_better, e_worse = e[better], e[worse]
        if far:
            margin = sigma * (score[better] - score[worse])
            small = np.exp(-abs(margin))
            e_better, e_worse = (1.0, small) if margin > 0.0 else (small, 1.0)
        rho = e_worse / (e_better + e_worse)
        pull = share * rho
        curvature = pull * (e_better / (e_better + e_worse))
        grad[better] -= pull
        grad[worse] += pull
        hess[better] += curvature
        hess[worse] += curvature
        total += pull
    return total


@kernel(parallel=True)
def _fill_lambdas(  # type: ignore[no-untyped-def]
    query_ptr, order, scores, ranked_labels, deltas, delta_ptr, weights, sigma, normalize, grad, hess
):
    """Fill the gradients of a batch of queries; a thread takes a query at a time.

    order, ranked_labels  (n_rows,) from `_rank_rows`; deltas by delta_ptr, (min(truncation level, n), n) a query
    """
    for q in prange(query_ptr.shape[0] - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        n = last - first
        grad[first:last] = 0.0
        hess[first:last] = 0.0
        if n < 2 or weights[q] == 0.0:
            continue
        block = deltas[delta_ptr[q] : delta_ptr[q + 1]]
        score = scores[first:last][order[first:last]]
        label = ranked_labels[first:last]
        far = sigma * (score[n - 1] - score[0]) < LOWEST_EXPONENT
        e = np.exp(sigma * (score - score[0]))
        ranked_grad, ranked_hess = np.zeros(n), np.zeros(n)
        by_distance = normalize and score[n - 1] < score[0]
        every, lowest, total = np.arange(n), label.min(), 0.0
        above_lowest = every[label > lowest]  # few, and all that a document of the lowest label can pair with
        for i in range(block.shape[0] // n):
            row = block[i * n : (i + 1) * n]
            partners = above_lowest if label[i] == lowest else every
            total += _add_pairs(
                i, partners, score, label, row, e, far, sigma, weights[q], by_distance, ranked_grad, ranked_hess
            )
        factor = 1.0
        if normalize and total > 0.0:
            factor = np.log2(1.0 + 2.0 * total) / (2.0 * total)
        for rank in range(n):
            grad[first + order[first + rank]] = ranked_grad[rank] * factor * sigma
            hess[first + order[first + rank]] = ranked_hess[rank] * factor * sigma * sigma

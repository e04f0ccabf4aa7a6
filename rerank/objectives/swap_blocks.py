"""LambdaRank for any measure: one that is not separable has its swap deltas in blocks, a batch of queries at a time.

The gradients are those of `rerank.objectives.lambdarank`, with |dM_ij| read from a block and the same conventions: a
pair counts when one of its documents is among the first `truncation_level`; the document with the larger label is the
better one. The one difference: a measure without a cutoff is not cut at the truncation level (AP's deltas take the
whole list into account).

`lambdas` in `tests/oracles/lambdas.py` is the slow form; `tests/metrics/test_swaps.py` checks the deltas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure, RankedLists
from rerank.objectives.base import LOWEST_EXPONENT, Objective
from rerank.objectives.lambdarank import LambdaRankObjective
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.numerics import exp, log2
from rerank.types import Floats, Ints, pointers, query_blocks
from rerank.types.ids import query_order

UNWEIGHTED = np.empty(0)
DELTAS_AT_ONCE = 1 << 22  # of a batch of queries: 32 MB


class RankedBatch(NamedTuple):
    """A batch of queries in the order of the present scores.

    Attributes
    ----------
    query_ptr : int64 array of shape (n_queries + 1,)
        Rows of each query, counted from the first of the batch.
    order : int64 array of shape (n_rows,)
        Rows of each query by score, counted from its first.
    labels : float64 array of shape (n_rows,)
        Labels by rank.
    deltas : float64 array
        Blocks of |dM_ij| by rank, (min(truncation level, n), n) for each query.
    delta_ptr : int64 array of shape (n_queries + 1,)
        Where the blocks start.
    weights : float64 array of shape (n_queries,)
        Weights of the queries.
    row_weights : float64 array of shape (n_rows,)
        Weights of the documents, or empty.

    """

    query_ptr: Ints
    order: Ints
    labels: Floats
    deltas: Floats
    delta_ptr: Ints
    weights: Floats
    row_weights: Floats


class RankedDocuments(NamedTuple):
    """Documents of one query by rank; grad and hess (n,) are added to."""

    score: Floats
    label: Floats
    exponential: Floats  # exp(sigma (score - best score))
    row_weight: Floats
    grad: Floats
    hess: Floats


@dataclass(frozen=True, eq=False)
class BlockLambdaRankObjective(Objective):
    """Gradients of LambdaRank for one set of queries and any measure.

    Parameters
    ----------
    query_ptr : int64 array of shape (n_queries + 1,)
        Rows of query q are [query_ptr[q], query_ptr[q + 1]).
    weights : float64 array of shape (n_queries,)
        Multiplied into the gradients of each query.
    labels : float64 array of shape (n_rows,)
        Labels, query by query.
    ideal_labels : float64 array of shape (n_ideal,)
        All positive labels of each query, best first.
    ideal_ptr : int64 array of shape (n_queries + 1,)
        Ideal labels of each query.
    measure : Measure
        Its swap deltas are computed at every call.
    sigma, truncation_level, normalize, row_weights
        As in `rerank.objectives.lambdarank.LambdaRankObjective`.

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
    row_weights: Floats = field(default_factory=partial(np.empty, 0))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        for rows, batch in self._batches_by_rank(scores):
            _fill_lambdas(batch, scores[rows], self.sigma, self.normalize, grad[rows], hess[rows])

    def _batches_by_rank(self, scores: Floats) -> Iterator[tuple[slice, RankedBatch]]:
        """Yield the rows of each batch and its documents by rank, with their swap deltas."""
        _rank_rows(self.query_ptr, scores, self.labels, self._order, self._ranked_labels)
        for first, last in self._batches:
            rows = slice(int(self.query_ptr[first]), int(self.query_ptr[last]))
            ideals = slice(self.ideal_ptr[first], self.ideal_ptr[last])
            query_ptr, ideal_ptr, delta_ptr = (
                ends[first : last + 1] - ends[first] for ends in (self.query_ptr, self.ideal_ptr, self._delta_ptr)
            )
            lists = RankedLists(self._ranked_labels[rows], query_ptr, self.ideal_labels[ideals], ideal_ptr)
            self.measure.fill_swap_deltas(lists, self._deltas, delta_ptr)
            weights = self.weights[first:last], self.row_weights[rows]
            yield rows, RankedBatch(query_ptr, self._order[rows], lists.labels, self._deltas, delta_ptr, *weights)

    @cached_property
    def _delta_ptr(self) -> Ints:
        """Where the block of each query would start if all were kept."""
        sizes = np.diff(self.query_ptr)
        return pointers(np.minimum(sizes, self.truncation_level) * sizes)

    @cached_property
    def _batches(self) -> list[tuple[int, int]]:
        """Ranges of queries whose blocks fit into DELTAS_AT_ONCE; a larger query is a batch by itself."""
        return list(query_blocks(self._delta_ptr, DELTAS_AT_ONCE))

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
    """Fill order (n_rows,) with the rows of each query by score, from 0; equal scores in the order of the rows.

    ranked_labels (n_rows,) float64 gets the labels in that order.
    """
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        last = query_ptr[q + 1]
        order[first:last] = np.argsort(-scores[first:last], kind="mergesort")
        for rank in range(first, last):
            ranked_labels[rank] = labels[first + order[rank]]


@helper()
def _add_pairs(i, partners, deltas, documents, sigma, by_distance):  # type: ignore[no-untyped-def]
    """Add the pairs of rank i with the later ones among its partners; return the sum of their |lambda_ij| / sigma.

    partners holds ranks; deltas (n,) are those of rank i. One exponential for each document:
    1 / (1 + exp(sigma (s_i - s_j))) = e_j / (e_i + e_j).
    """
    score = documents.score
    label = documents.label
    total = 0.0
    for j in partners:
        if j <= i or label[i] == label[j] or deltas[j] == 0.0:
            continue
        share = deltas[j]
        if by_distance:
            share /= 0.01 + sigma * abs(score[i] - score[j])
        better, worse = (i, j) if label[i] > label[j] else (j, i)
        share *= documents.row_weight[better] * documents.row_weight[worse]
        e_better = documents.exponential[better]
        e_worse = documents.exponential[worse]
        rho = e_worse / (e_better + e_worse)
        lambda_ij = share * rho
        curvature = lambda_ij * (e_better / (e_better + e_worse))
        documents.grad[better] -= lambda_ij
        documents.grad[worse] += lambda_ij
        documents.hess[better] += curvature
        documents.hess[worse] += curvature
        total += lambda_ij
    return total


@helper()
def _fill_query(query, batch, scores, sigma, normalize, grad, hess):  # type: ignore[no-untyped-def]
    """Fill the gradients of one query of a batch."""
    first = batch.query_ptr[query]
    last = batch.query_ptr[query + 1]
    n = last - first
    weight = batch.weights[query]
    order = batch.order[first:last]
    grad[first:last] = 0.0
    hess[first:last] = 0.0
    if n < 2 or weight == 0.0:
        return
    block = batch.deltas[batch.delta_ptr[query] : batch.delta_ptr[query + 1]]
    score = scores[first:last][order]
    label = batch.labels[first:last]
    exponential = np.empty(n)
    for rank in range(n):
        exponential[rank] = exp(max(sigma * (score[rank] - score[0]), LOWEST_EXPONENT))
    row_weight = np.ones(n)
    if batch.row_weights.shape[0] > 0:
        row_weight = batch.row_weights[first:last][order]
    documents = RankedDocuments(score, label, exponential, row_weight, np.zeros(n), np.zeros(n))
    by_distance = normalize and score[n - 1] < score[0]
    every = np.arange(n)
    lowest = label.min()
    total = 0.0
    above_lowest = every[label > lowest]  # few, and the only ones that a document of the lowest label pairs with
    for i in range(block.shape[0] // n):
        partners = above_lowest if label[i] == lowest else every
        total += _add_pairs(i, partners, block[i * n : (i + 1) * n], documents, sigma, by_distance)
    factor = log2(1.0 + 2.0 * total) / (2.0 * total) if normalize and total > 0.0 else 1.0
    factor *= weight
    for rank in range(n):
        grad[first + order[rank]] = documents.grad[rank] * factor * sigma
        hess[first + order[rank]] = documents.hess[rank] * factor * sigma * sigma


@kernel(parallel=True)
def _fill_lambdas(batch, scores, sigma, normalize, grad, hess):  # type: ignore[no-untyped-def]
    """Fill grad and hess (n_rows,) of a `RankedBatch`; a thread takes a query at a time."""
    for query in prange(batch.query_ptr.shape[0] - 1):
        _fill_query(np.int64(query), batch, scores, sigma, normalize, grad, hess)


def lambdarank_for(
    measure: Measure,
    lists: RankedLists,
    weights: Floats,
    sigma: float = 1.0,
    truncation_level: int = 30,
    normalize: bool = True,
    row_weights: Floats = UNWEIGHTED,
) -> LambdaRankObjective | BlockLambdaRankObjective:
    """Return the LambdaRank objective of a measure.

    lists        labels in the order of the data, not of a ranking, and those of the ideal
    weights      (n_queries,) float64
    row_weights  (n_rows,) float64 of the documents: a pair is multiplied by those of both; empty: 1
    """
    if not measure.trainable:
        raise InvalidInputError(
            f"metric: expected a measure that can be trained for, got {measure.name}, which asks for something "
            "else than labels in rank order. Train with e.g. nDCG@10 or AP."
        )
    if not (lists.labels > 0).any():
        raise InvalidInputError(
            "training data: expected a query with a positive label, got none. Check that qrels and run name the "
            "same documents."
        )
    if not (order_matters(measure, lists) & (weights > 0.0)).any():
        raise InvalidInputError(
            f"training data: expected a query in which the order of the documents changes {measure.name}, got none. "
            "Give queries with several documents of different labels, or a measure that tells these apart."
        )
    deep = measure.cut_for_training(truncation_level)
    swap = deep.swap_weights(lists)
    if swap is None:
        shape = sigma, truncation_level, normalize, row_weights
        ranked = lists.query_ptr, weights, lists.labels, lists.ideal_labels, lists.ideal_ptr
        return BlockLambdaRankObjective(*ranked, deep, *shape)
    how = sigma, deep.cutoff or truncation_level, normalize, row_weights
    return LambdaRankObjective(lists.query_ptr, weights, swap, *how)


def order_matters(measure: Measure, lists: RankedLists) -> NDArray[np.bool_]:
    """Return whether the order of a query's rows changes the measure, (n_queries,); lists as in `lambdarank_for`."""
    labels = lists.labels
    query_ptr = lists.query_ptr
    falling = labels[query_order(query_ptr, -labels)]
    rising = falling[np.repeat(query_ptr[:-1] + query_ptr[1:] - 1, np.diff(query_ptr)) - np.arange(len(labels))]
    best, worst = (measure.scores(replace(lists, labels=order)) for order in (falling, rising))
    return np.asarray(best != worst)

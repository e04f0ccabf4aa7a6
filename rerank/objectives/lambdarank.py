"""LambdaRank: pairwise logistic gradients, each weighted by what swapping the pair changes in a measure.

For documents i above j in label, with rho = 1 / (1 + exp(sigma (s_i - s_j))):

    lambda_ij  = -sigma |dM_ij| rho                 (section 4)
    d2C/ds_i^2 = sigma^2 |dM_ij| rho (1 - rho)      (section 7)

Conventions. A pair counts when one of its documents is among the first `truncation_level`; beyond that depth the
discount is 0, so this is exactly the measure cut at the truncation level, not at its own cutoff (a document just below
the cutoff must get a gradient). `normalize` divides every pair by 0.01 + sigma |s_i - s_j| and scales a query's sum L
of |lambda_ij| / sigma, both documents of a pair counted, to log2(1 + L), as LightGBM's `lambdarank_norm`: it keeps long
queries from outweighing short ones. Burges has neither (`normalize=False`). Equal scores rank in the order of the rows.
A score more than 300 / sigma below the best of its query counts as this far below: two such documents have the rho of a
tie.

A measure that is not separable has its swap deltas in blocks, a batch of queries at a time: |dM_ij| is read from a
block, and the document with the larger label is the better one. There is one other difference: a measure without a
cut-off is not cut at the truncation level (AP's deltas take the whole list into account).

`lambdas` in `tests/oracles/lambdas.py` is the slow form; `tests/metrics/test_swaps.py` checks the deltas.

References
----------
C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, 2010.

"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads, prange
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure, SwapWeights
from rerank.metrics.ranked_lists import RankedLists, ranks
from rerank.objectives.base import LOWEST_EXPONENT, Objective
from rerank.runtime.elementary import exp, log2
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.llvm import LANES, absolute, lane_sum, load, positive, same, store
from rerank.types import Floats, Ints, pointers, query_blocks, query_order

UNWEIGHTED = np.empty(0)
DELTAS_AT_ONCE = 1 << 22  # swap deltas of a batch of queries: 32 MB


class ByGain(NamedTuple):
    """The rows of each query sorted by gain, descending. All arrays have shape (n_rows,).

    A column is a position in this order, counted from the first row of the query.

    Attributes
    ----------
    gains : float64 array
        Gain at each column.
    rows : int32 array
        Row at each column, counted from the first row of the query.
    above, below : int32 arrays
        For each column, the first column with the same gain, and the first one with a smaller gain.

    """

    gains: Floats
    rows: NDArray[np.int32]
    above: NDArray[np.int32]
    below: NDArray[np.int32]


class QueryConstants(NamedTuple):
    """The constants of the queries and the measure, and the order of the previous call, from which sorting starts.

    Attributes
    ----------
    query_ptr : int64 array of shape (n_queries + 1,)
    part_ptr : int64 array of shape (n_parts + 1,)
        Queries of each part; threads take one part at a time.
    inverse_norms, weights : float64 arrays of shape (n_queries,)
        Inverse norms of the measure, and weights of the queries.
    discounts : float64 array of shape (longest query,)
        Discount of each rank; it does not increase with the rank.
    orders : int32 array of shape (n_rows,)
        Columns of each query in any order. A call sorts them by score as far as the truncation level.
    sigma, truncation_level, normalize
        As in `LambdaObjective`.

    """

    query_ptr: Ints
    part_ptr: Ints
    inverse_norms: Floats
    weights: Floats
    discounts: Floats
    orders: NDArray[np.int32]
    sigma: float
    truncation_level: int
    normalize: bool


class QueryColumns(NamedTuple):
    """The documents of one query: sorted by gain, descending, and padded to a multiple of LANES, or by rank."""

    score: Floats
    gain: Floats  # or the label
    exponential: Floats  # exp(sigma (score - best score))
    discount: Floats  # by rank, times the inverse norm; 0 below the truncation level; empty where there are swap deltas
    row_weight: Floats
    grad: Floats  # OUT: gradient / sigma and curvature / sigma^2, before `normalize` scales the query
    hess: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class LambdaObjective(Objective):
    """What the gradients of LambdaRank have in common for all measures.

    Parameters
    ----------
    weights : float64 array of shape (n_queries,)
        Multiplied into the gradients of each query.
    sigma : float
        Slope of the logistic, 1 / score unit. With Newton leaves it only sets the unit of the scores that trees add, so
        that it makes no difference to a model that starts from 0 (section 7).
    truncation_level : int
        A pair counts when one of its two documents is among the first `truncation_level`.
    normalize : bool
        Whether pairs and queries are scaled as by LightGBM's `lambdarank_norm`.
    row_weights : float64 array of shape (n_rows,)
        Weights of the documents: a pair is multiplied by both weights. Empty: 1.

    """

    weights: Floats
    sigma: float = 1.0
    truncation_level: int = 30
    normalize: bool = True
    row_weights: Floats = field(default_factory=partial(np.empty, 0))


@dataclass(frozen=True, eq=False)
class LambdaRankObjective(LambdaObjective):
    """Gradients of LambdaRank for one set of queries and a separable measure.

    Parameters
    ----------
    query_ptr : int64 array of shape (n_queries + 1,)
        Rows of query q are [query_ptr[q], query_ptr[q + 1]).
    swap : SwapWeights
        Gains, discounts and inverse norms of the measure: the larger gain is the better label.

    """

    query_ptr: Ints
    swap: SwapWeights

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        _fill_lambdas(self._ranking, self._by_gain, self.row_weights, scores, grad, hess)

    @cached_property
    def _by_gain(self) -> ByGain:
        first = np.repeat(self.query_ptr[:-1], np.diff(self.query_ptr))
        order = query_order(self.query_ptr, -self.swap.gains)
        gains = self.swap.gains[order]
        heads = (np.diff(gains, prepend=np.nan) != 0.0) | (np.diff(first, prepend=-1) != 0)
        ends = np.append(np.flatnonzero(heads), len(gains))
        group = np.cumsum(heads)
        rows, above, below = ((rows - first).astype(np.int32) for rows in (order, ends[group - 1], ends[group]))
        return ByGain(gains, rows, above, below)

    @cached_property
    def _ranking(self) -> QueryConstants:
        n_parts = 4 * get_num_threads()  # with about as many rows each
        starts = np.searchsorted(self.query_ptr, np.arange(n_parts) * self.query_ptr[-1] // n_parts)
        return QueryConstants(
            query_ptr=self.query_ptr,
            part_ptr=np.append(starts, len(self.query_ptr) - 1),
            inverse_norms=self.swap.inverse_norms,
            weights=self.weights,
            discounts=self.swap.discounts,
            orders=ranks(self.query_ptr).astype(np.int32),
            sigma=float(self.sigma),
            truncation_level=int(self.truncation_level),
            normalize=bool(self.normalize),
        )


@helper()
def _move_up(order, rank, scores, rows):
    """Move the column at `rank` up to the rank of its score; of equal scores the earlier row is first."""
    column = order[rank]
    while rank > 0:
        above = order[rank - 1]
        if scores[above] > scores[column] or (scores[above] == scores[column] and rows[above] < rows[column]):
            break
        order[rank] = above
        rank -= 1
    order[rank] = column


@helper()
def _sort_top(scores, rows, top, order):
    """Bring the `top` best columns to the front of order (n,), best first; the others follow in any order.

    A tree changes few ranks, so that an insertion sort of the last order takes hardly more than one pass.
    """
    for rank in range(1, top):
        _move_up(order, rank, scores, rows)
    last = order[top - 1]
    for rank in range(top, order.shape[0]):
        column = order[rank]
        if scores[column] > scores[last] or (scores[column] == scores[last] and rows[column] < rows[last]):
            order[rank], order[top - 1] = last, column
            _move_up(order, top - 1, scores, rows)
            last = order[top - 1]


@helper()
def _add_pairs(columns, top, above, below, offset, slope):
    """Add the pairs of each top document i and the documents j ranked below it; return the sum of |lambda_ij| / sigma.

    With e = exp(sigma s), 1 / (1 + exp(sigma (s_i - s_j))) = e_j / (e_i + e_j): one exponential for each document, not
    one for each pair. Documents j with a larger gain are in the columns before above[i], those with a smaller gain from
    below[i] on. The loops are extended to multiples of LANES. This adds columns that form no pair with i: documents of
    the same gain, documents ranked above i (whose pairs are added when j is the top document), and padding. There the
    difference of gains or of discounts is not positive, and the term is 0.
    """
    score, gain, e, discount, row_weight, grad, hess = columns
    total = same(0.0)
    one = same(1.0)
    offset = same(offset)
    slope = same(slope)
    for i in top:
        score_i = same(score[i])
        gain_i = same(gain[i])
        e_i = same(e[i])
        discount_i = same(discount[i])
        weight_i = same(row_weight[i])
        as_better = same(0.0)
        as_worse = same(0.0)
        hess_i = same(0.0)
        for j in range(0, above[i], LANES):
            e_j = load(e, j)
            distance = offset + slope * absolute(score_i - load(score, j))
            share = one / ((e_i + e_j) * distance)
            delta = positive(load(gain, j) - gain_i) * positive(discount_i - load(discount, j))
            delta = delta * (load(row_weight, j) * weight_i)
            lambda_ij = delta * share * e_i
            curvature = lambda_ij * share * distance * e_j
            store(grad, j, load(grad, j) - lambda_ij)
            store(hess, j, load(hess, j) + curvature)
            as_worse = as_worse + lambda_ij
            hess_i = hess_i + curvature
        for j in range(below[i] // LANES * LANES, score.shape[0], LANES):
            e_j = load(e, j)
            distance = offset + slope * absolute(score_i - load(score, j))
            share = one / ((e_i + e_j) * distance)
            delta = positive(gain_i - load(gain, j)) * positive(discount_i - load(discount, j))
            delta = delta * (weight_i * load(row_weight, j))
            lambda_ij = delta * share * e_j
            curvature = lambda_ij * share * distance * e_i
            store(grad, j, load(grad, j) + lambda_ij)
            store(hess, j, load(hess, j) + curvature)
            as_better = as_better + lambda_ij
            hess_i = hess_i + curvature
        total = total + (as_better + as_worse)
        grad[i] += lane_sum(as_worse - as_better)
        hess[i] += lane_sum(hess_i)
    return lane_sum(total)


@helper()
def _load_documents(scores, gains, rows, row_weights, sigma, columns):
    """Fill the columns of one query's documents, but for their discounts; return the best and the worst score.

    scores, row_weights  (n,) by row; row_weights may be empty
    gains, rows          (n,) by column
    """
    n = scores.shape[0]
    columns.row_weight[:] = 1.0
    if row_weights.shape[0] > 0:
        for k in range(n):
            columns.row_weight[k] = row_weights[rows[k]]
    best = scores[0]
    lowest = scores[0]
    for k in range(n):
        score = scores[rows[k]]
        columns.score[k], columns.gain[k] = score, gains[k]
        columns.discount[k], columns.grad[k], columns.hess[k] = 0.0, 0.0, 0.0
        best = max(best, score)
        lowest = min(lowest, score)
    for k in range(n):
        columns.exponential[k] = exp(max(sigma * (columns.score[k] - best), LOWEST_EXPONENT))
    return best, lowest


@helper()
def _write_scaled(columns, rows, total, weight, sigma, grad, hess):
    """Fill grad and hess (n,) by row with those of a query's columns, (n,) `rows`, scaled by its weight and the total.

    total  sum of |lambda_ij| / sigma, by which `normalize` scales the query; 0 without it
    """
    factor = log2(1.0 + 2.0 * total) / (2.0 * total) if total > 0.0 else 1.0
    factor *= weight
    for k in range(rows.shape[0]):
        grad[rows[k]] = columns.grad[k] * factor * sigma
        hess[rows[k]] = columns.hess[k] * factor * sigma * sigma


@helper()
def _fill_query(query, ranking, by_gain, row_weights, scores, scratch, grad, hess):
    """Fill the gradients of one query; scratch (7, longest query + LANES) float64."""
    first = ranking.query_ptr[query]
    last = ranking.query_ptr[query + 1]
    rows = by_gain.rows[first:last]
    order = ranking.orders[first:last]
    n = last - first
    sigma = ranking.sigma
    scale = ranking.inverse_norms[query]
    top = min(ranking.truncation_level, n)
    size = (n + LANES - 1) // LANES * LANES
    columns = QueryColumns(
        scratch[0, :size],
        scratch[1, :size],
        scratch[2, :size],
        scratch[3, :size],
        scratch[4, :size],
        scratch[5, :size],
        scratch[6, :size],
    )
    weights = row_weights[first:last] if row_weights.shape[0] > 0 else row_weights
    best, lowest = _load_documents(scores[first:last], by_gain.gains[first:last], rows, weights, sigma, columns)
    _sort_top(columns.score, rows, top, order)
    for rank in range(top):
        columns.discount[order[rank]] = scale * ranking.discounts[rank]
    for k in range(n, size):  # padding ranks above all documents, so it is in no pair
        columns.score[k], columns.gain[k], columns.exponential[k] = 0.0, 0.0, 1.0
        columns.discount[k], columns.grad[k], columns.hess[k] = scale * ranking.discounts[0], 0.0, 0.0
    offset, slope = (0.01, sigma) if ranking.normalize and lowest < best else (1.0, 0.0)
    total = _add_pairs(columns, order[:top], by_gain.above[first:last], by_gain.below[first:last], offset, slope)
    _write_scaled(
        columns,
        rows,
        total if ranking.normalize else 0.0,
        ranking.weights[query],
        sigma,
        grad[first:last],
        hess[first:last],
    )


@helper()
def _fill_part(part, ranking, by_gain, row_weights, scores, grad, hess):
    """Fill the gradients of one part of the queries."""
    scratch = np.empty((7, ranking.discounts.shape[0] + LANES))
    for query in range(ranking.part_ptr[part], ranking.part_ptr[part + 1]):
        first = ranking.query_ptr[query]
        last = ranking.query_ptr[query + 1]
        if last - first < 2 or ranking.inverse_norms[query] == 0.0 or ranking.weights[query] == 0.0:
            grad[first:last] = 0.0
            hess[first:last] = 0.0
        else:
            _fill_query(query, ranking, by_gain, row_weights, scores, scratch, grad, hess)


@kernel(parallel=True)
def _fill_lambdas(ranking, by_gain, row_weights, scores, grad, hess):
    """Fill grad and hess (n_rows,) float64 at scores (n_rows,) float64 by `QueryConstants`, `ByGain` and weights."""
    for part in prange(ranking.part_ptr.shape[0] - 1):
        _fill_part(np.int64(part), ranking, by_gain, row_weights, scores, grad, hess)


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


@dataclass(frozen=True, eq=False)
class BlockLambdaRankObjective(LambdaObjective):
    """Gradients of LambdaRank for one set of queries and any measure.

    Parameters
    ----------
    lists : RankedLists
        Labels in the order of the data, and the labels of the ideal rankings.
    measure : Measure
        Its swap deltas are computed at every call.

    """

    lists: RankedLists
    measure: Measure

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        for rows, batch in self._batches_by_rank(scores):
            _fill_blocks(batch, scores[rows], self.sigma, self.normalize, grad[rows], hess[rows])

    def _batches_by_rank(self, scores: Floats) -> Iterator[tuple[slice, RankedBatch]]:
        """Yield the rows of each batch and its documents by rank, with their swap deltas."""
        order = np.empty(len(scores), np.int64)
        ranked = np.empty(len(scores))
        whole = self.lists
        _rank_rows(whole.query_ptr, scores, whole.labels, order, ranked)
        for first, last in self._batches:
            rows = slice(int(whole.query_ptr[first]), int(whole.query_ptr[last]))
            ideals = slice(whole.ideal_ptr[first], whole.ideal_ptr[last])
            query_ptr, ideal_ptr, delta_ptr = (
                ends[first : last + 1] - ends[first] for ends in (whole.query_ptr, whole.ideal_ptr, self._delta_ptr)
            )
            lists = RankedLists(ranked[rows], query_ptr, whole.ideal_labels[ideals], ideal_ptr)
            self.measure.fill_swap_deltas(lists, self._deltas, delta_ptr)
            weights = self.weights[first:last], self.row_weights[rows]
            yield rows, RankedBatch(query_ptr, order[rows], lists.labels, self._deltas, delta_ptr, *weights)

    @cached_property
    def _delta_ptr(self) -> Ints:
        """Where the block of each query would start if all were kept."""
        sizes = np.diff(self.lists.query_ptr)
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


@kernel(parallel=True)
def _rank_rows(query_ptr, scores, labels, order, ranked_labels):
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
def _add_partners(i, partners, deltas, documents, sigma, by_distance):
    """Add the pairs of rank i with the later ones among its partners; return the sum of their |lambda_ij| / sigma.

    partners holds ranks; deltas (n,) are those of rank i. One exponential for each document:
    1 / (1 + exp(sigma (s_i - s_j))) = e_j / (e_i + e_j).
    """
    score = documents.score
    label = documents.gain
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
def _fill_ranked_query(query, batch, scores, sigma, normalize, grad, hess):
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
    documents = QueryColumns(score, label, exponential, np.empty(0), row_weight, np.zeros(n), np.zeros(n))
    by_distance = normalize and score[n - 1] < score[0]
    every = np.arange(n)
    lowest = label.min()
    total = 0.0
    above_lowest = every[label > lowest]  # few, and the only ones that a document of the lowest label pairs with
    for i in range(block.shape[0] // n):
        partners = above_lowest if label[i] == lowest else every
        total += _add_partners(i, partners, block[i * n : (i + 1) * n], documents, sigma, by_distance)
    _write_scaled(documents, order, total if normalize else 0.0, weight, sigma, grad[first:last], hess[first:last])


@kernel(parallel=True)
def _fill_blocks(batch, scores, sigma, normalize, grad, hess):
    """Fill grad and hess (n_rows,) of a `RankedBatch`; a thread takes a query at a time."""
    for query in prange(batch.query_ptr.shape[0] - 1):
        _fill_ranked_query(np.int64(query), batch, scores, sigma, normalize, grad, hess)


def lambdarank_for(
    measure: Measure,
    lists: RankedLists,
    weights: Floats,
    sigma: float = 1.0,
    truncation_level: int = 30,
    normalize: bool = True,
    row_weights: Floats = UNWEIGHTED,
) -> LambdaObjective:
    """Return the LambdaRank objective of a measure.

    lists        labels in the order of the data, not of a ranking, and the labels of the ideal rankings
    weights      (n_queries,) float64
    row_weights  (n_rows,) float64, weights of the documents: a pair is multiplied by both weights; empty: 1
    """
    if not measure.trainable:
        raise InvalidInputError(
            f"metric: expected a measure that can be trained for, got {measure.name}, which needs more "
            "than labels in rank order. Train with e.g. nDCG@10 or AP."
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
    how: dict[str, Any] = {"weights": weights, "sigma": sigma, "normalize": normalize, "row_weights": row_weights}
    if swap is None:
        return BlockLambdaRankObjective(lists, deep, truncation_level=truncation_level, **how)
    return LambdaRankObjective(lists.query_ptr, swap, truncation_level=deep.cutoff or truncation_level, **how)


def order_matters(measure: Measure, lists: RankedLists) -> NDArray[np.bool_]:
    """Return whether the order of a query's rows changes the measure, (n_queries,); lists as in `lambdarank_for`."""
    labels = lists.labels
    query_ptr = lists.query_ptr
    falling = labels[query_order(query_ptr, -labels)]
    rising = falling[np.repeat(query_ptr[:-1] + query_ptr[1:] - 1, np.diff(query_ptr)) - np.arange(len(labels))]
    best, worst = (measure.scores(replace(lists, labels=order)) for order in (falling, rising))
    return np.asarray(best != worst)

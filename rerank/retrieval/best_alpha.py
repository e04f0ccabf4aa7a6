"""The best combination of two runs: alpha * s_a + (1 - alpha) * s_b, exactly (Burges 2010, section 7.1).

The score of a document is a line in alpha, and a measure changes only where the lines of two documents cross. Between
two successive crossings the order of the documents, and so the measure, is constant. For each document that a measure
counts, its crossings with the others give its share of the measure as a step function of alpha. The steps of all
documents and queries, sorted and added up, are the steps of the mean.

Conventions. Equal scores rank in the order of the rows. So a crossing at c makes up to two steps: at c itself, where
documents tie, and just above it. They are written as c and c + 1j, which NumPy sorts in this order. A single alpha is
no interval, but separates two intervals if the measure is lower there. Crossings closer than CLOSEST may be a single
one with rounding errors.

`share_values` in `tests/oracles/combinations.py` is the slow form, in fractions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.metrics.base import Measure, PrefixSum
from rerank.metrics.ranked_lists import RankedLists
from rerank.runtime.elementary import array_exp, array_log
from rerank.runtime.kernels import kernel
from rerank.runtime.sums import total
from rerank.types import Floats, Ints, pointers, query_order, query_rows, rows_of_groups

CLOSEST = 1e-12
EQUAL_MEANS = 1e-9  # means closer than this are equal up to rounding
PAIRS_AT_ONCE = 1 << 18  # of documents
LABELS_AT_ONCE = 1 << 22  # labels of the lists that a measure without a prefix-sum form is computed for at a time


@dataclass(frozen=True, eq=False)
class ScoreLines:
    """Documents whose scores are alpha * a + (1 - alpha) * b.

    query_ptr     (n_queries + 1,) int64; equal scores rank in the order of the rows
    a, b          (n_rows,) float64
    labels        (n_rows,) float64
    weights       (n_queries,) float64 of the mean
    ideal_labels  all positive labels of each query, best first, with `ideal_ptr`
    """

    query_ptr: Ints
    a: Floats
    b: Floats
    labels: Floats
    weights: Floats
    ideal_labels: Floats
    ideal_ptr: Ints


@dataclass(frozen=True)
class BestAlpha:
    """The middle of the widest interval (low, high) of alphas on which the measure is best."""

    alpha: float
    low: float
    high: float


def best_alpha(lines: ScoreLines, measure: Measure) -> BestAlpha:
    """Return the alpha in (0, 1) at which the measure's weighted mean over the queries is greatest.

    Of equally good intervals the widest is taken, of equally wide ones the lowest.
    """
    form = measure.prefix_sum(RankedLists(lines.labels, lines.query_ptr, lines.ideal_labels, lines.ideal_ptr))
    counts = lines.weights > 0.0
    steps: list[tuple[NDArray[Any], Floats]]
    if form is None:
        judged = np.flatnonzero(counts & (np.diff(lines.query_ptr) > 0))
        steps = [_measured(lines, measure, query) for query in judged.tolist()]
    else:
        of_rows = query_rows(lines.query_ptr)
        own = np.flatnonzero((form.gains != 0.0) & (counts & (form.norms != 0.0))[of_rows])
        n_pairs = np.cumsum(np.diff(lines.query_ptr)[of_rows[own]])
        parts = np.split(own, np.flatnonzero(np.diff(n_pairs // PAIRS_AT_ONCE)) + 1)
        steps = [_followed(lines, form, part) for part in parts]
    alphas, sizes = zip(*steps, strict=True) if steps else ((), ())
    return _best_interval(np.concatenate([np.zeros(1), *alphas]), np.concatenate([np.zeros(1), *sizes]))


def best_share(lines: ScoreLines, measure: Measure) -> float:
    """Return the share above 0 at which the measure of the scores b + share * a is greatest.

    It is alpha / (1 - alpha) for the alpha of `best_alpha`, since the order of documents is the same. Above the last
    crossing, at share c, the middle of the interval of alphas is the share 1 + 2 c.
    """
    alpha = best_alpha(lines, measure).alpha
    return alpha / (1.0 - alpha)


def order_at(lines: ScoreLines, alpha: float) -> Ints:
    """Return the rows query by query in their order at alpha, (n_rows,) int64."""
    return query_order(lines.query_ptr, -(alpha * lines.a + (1.0 - alpha) * lines.b))


def _best_interval(alphas: NDArray[Any], steps: Floats) -> BestAlpha:
    """Return the widest interval on which the sum of all steps up to it is greatest; the first alpha is 0."""
    starts, number = np.unique(alphas, return_inverse=True)
    edges = np.append(starts.real, 1.0)
    values = np.cumsum(np.bincount(number, steps))
    greatest = values[np.diff(edges) > CLOSEST].max()
    best = (values >= greatest - EQUAL_MEANS).astype(np.int8)
    low = edges[:-1][np.diff(best, prepend=0) == 1]
    high = edges[1:][np.diff(best, append=0) == -1]
    widest = int(np.argmax(high - low >= (high - low).max() - CLOSEST))
    return BestAlpha(float(low[widest] + high[widest]) / 2.0, float(low[widest]), float(high[widest]))


def _followed(lines: ScoreLines, form: PrefixSum, own: Ints) -> tuple[NDArray[np.complex128], Floats]:
    """Return the alphas where the shares of some rows in the measure change, and the changes from 0 on."""
    query = query_rows(lines.query_ptr)[own]
    other, ptr = rows_of_groups(lines.query_ptr, query)
    pair_own = query_rows(ptr)
    row = own[pair_own]
    at_zero = lines.b[other] - lines.b[row]
    at_one = lines.a[other] - lines.a[row]
    tied = other < row
    above = np.where(at_zero != 0.0, at_zero > 0.0, np.where(at_one != 0.0, at_one > 0.0, tied))  # just above alpha = 0
    first = np.flatnonzero(above | (other == row))
    crossing = np.flatnonzero((at_one != 0.0) & ((at_one > 0.0) != above))
    # those that rank as in a tie change places just above it
    crossed_at = at_zero[crossing] / (at_zero[crossing] - at_one[crossing]) + 1j * (above == tied)[crossing]
    alphas = np.concatenate([np.zeros(len(first)), crossed_at])
    moves = np.concatenate([above[first], np.where(above[crossing], -1, 1)])
    pairs = np.concatenate([first, crossing])
    order = np.lexsort((alphas.imag, alphas.real, pair_own[pairs]))
    alphas = alphas[order]
    moves = moves[order]
    pairs = pairs[order]
    starts = np.searchsorted(pair_own[pairs], np.arange(len(own)))

    def above_them(values: Floats) -> Floats:
        """Return, for each step, the sum of the values of the rows that rank above from this alpha on."""
        sums: Floats = np.cumsum(moves * values[other[pairs]])
        sums -= np.append(0.0, sums)[starts[pair_own[pairs]]]
        return sums

    stops = form.keep == 0.0
    survival = array_exp(above_them(array_log(np.where(stops, 1.0, form.keep))))
    survival[above_them(stops.astype(np.float64)) > 0.0] = 0.0
    ranks = above_them(np.ones(len(stops))).astype(np.int64)
    weights = form.gains[own] * form.norms[query] * lines.weights[query] / total(lines.weights)
    shares = weights[pair_own[pairs]] * form.discounts[ranks] * (form.initial + above_them(form.add)) * survival
    before = np.append(0.0, shares[:-1])
    before[starts] = 0.0
    changes = np.flatnonzero(shares != before)
    return alphas[changes], (shares - before)[changes]


def _measured(lines: ScoreLines, measure: Measure, query: int) -> tuple[Floats, Floats]:
    """Return the alphas where a measure without a prefix-sum form changes for one query, and the changes."""
    rows = slice(*lines.query_ptr[query : query + 2])
    a = lines.a[rows]
    b = lines.b[rows]
    labels = lines.labels[rows]
    ideal = lines.ideal_labels[slice(*lines.ideal_ptr[query : query + 2])]
    i, j = np.triu_indices(len(a), 1)
    at_zero = b[i] - b[j]
    at_one = a[i] - a[j]
    crosses = (labels[i] != labels[j]) & (np.sign(at_zero) * np.sign(at_one) < 0)
    alphas = np.unique(np.append(0.0, at_zero[crosses] / (at_zero - at_one)[crosses]))
    middles = (alphas + np.append(alphas[1:], 1.0)) / 2.0
    values = np.empty(len(middles))
    at_once = max(1, LABELS_AT_ONCE // len(a))
    for first in range(0, len(middles), at_once):
        alpha = middles[first : first + at_once, None]
        ranked = labels[np.argsort(-(alpha * a + (1.0 - alpha) * b), axis=1, kind="stable")]
        sizes = np.full((2, len(alpha)), [[len(a)], [len(ideal)]])
        lists = RankedLists(ranked.ravel(), pointers(sizes[0]), np.tile(ideal, len(alpha)), pointers(sizes[1]))
        values[first : first + at_once] = measure.scores(lists)
    return alphas, np.diff(values, prepend=0.0) * (lines.weights[query] / total(lines.weights))


@kernel()
def keep_order(query_ptr, order, scores):
    """Lower scores (n_rows,) float32 that are not below those before them; equal ones may follow by ascending row."""
    for q in range(query_ptr.shape[0] - 1):
        for position in range(query_ptr[q] + 1, query_ptr[q + 1]):
            before = scores[position - 1]
            if scores[position] < before:
                continue
            falls = order[position] < order[position - 1]
            scores[position] = np.nextafter(before, np.float32(-np.inf)) if falls else before

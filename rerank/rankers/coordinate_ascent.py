"""Coordinate ascent: a linear ranker that maximises the measure itself, one weight at a time, by exact line searches.

Along one weight every score is a straight line, so that the order of a query changes only where two lines cross, and
the measure is constant between two crossings. A search visits all of them (`_walk`) and needs no grid of steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.metrics.base import Measure, RankedLists, measure_depth
from rerank.metrics.registry import parse_measure
from rerank.rankers.base_unit import spread_at_the_top, start_in_units
from rerank.rankers.linear import LinearRanker, linear_scores
from rerank.rankers.parameters import SEED, Metric, base_parameter, jobs_parameter, parameter, stopping_parameter
from rerank.rankers.registry import register
from rerank.rankers.standardizer import Standardizer
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet, check_pairs
from rerank.rankers.validation import Validation
from rerank.runtime.codec import Whole
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.numerics import array_dot
from rerank.types import Floats, Ints, joined_rows, pointers

LABELS_AT_ONCE = 1 << 22  # of the lists that are measured together: 32 MB
LEAST_GAIN = 1e-3  # of the mean of a measure in a pass: with less, an ascent ends
LONGEST = 1.0  # distance of a step from the nearest crossing, in standard deviations of the input
NARROWEST = 1e-9  # interval that a step is taken into, as a share of the step
TIE = 1e-12  # gains that differ by less are equal


class LineSearch:
    """Finds the step along a direction with the best mean of a measure over training queries."""

    def __init__(self, train: TrainingSet, measure: Measure) -> None:
        """Take the training data, in canonical order, and the measure."""
        self._train = train
        self._measure = measure
        self._validation = Validation(train, measure)
        depth = measure_depth(train.query_ptr, measure.cutoff)
        self._depths = np.minimum(np.diff(train.query_ptr), depth)
        self._weights = train.weights / train.weights.sum()

    def value(self, scores: Floats) -> float:
        """Return the weighted mean of the measure for scores (n_rows,)."""
        return self._validation.value(scores)

    def best(self, scores: Floats, slope: NDArray[np.float32]) -> tuple[float, float]:
        """Return the step t with the best mean for scores + t * slope, and what it gains; 0 and 0 where none gains.

        Shapes: scores, slope (n_rows,).
        """
        train = self._train
        counts = np.zeros(len(self._depths), np.int64)
        room = np.zeros(len(counts) + 1, np.int64)
        nothing = np.empty(0)
        _fill_lists(train.query_ptr, scores, slope, train.labels, self._depths, room, room, nothing, nothing, counts)
        parts = [self._changes(part, scores, slope, counts[part]) for part in self._parts(counts)]
        values = np.concatenate([before for before, _, _ in parts])
        gain = array_dot(np.where(counts > 0, values - self._validation.values(scores), 0.0), self._weights)
        return _best_step(np.concatenate([t for _, t, _ in parts]), np.concatenate([by for _, _, by in parts]), gain)

    def _parts(self, counts: Ints) -> Iterator[slice]:
        """Yield queries whose lists are measured together; each has so many."""
        ends = np.cumsum(counts * self._depths)
        first = 0
        while first < len(ends):
            before = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, before + LABELS_AT_ONCE, side="right")), first + 1)
            yield slice(first, last)
            first = last

    def _changes(
        self, part: slice, scores: Floats, slope: NDArray[np.float32], counts: Ints
    ) -> tuple[Floats, Floats, Floats]:
        """Return the measure of the first list of some queries, and where their mean changes and by how much.

        Shapes: (n_queries,), 0 for a query without lists; twice (n_changes,).
        """
        train = self._train
        depths = self._depths[part]
        list_ptr, label_ptr = pointers(counts), pointers(counts * depths)
        times, labels = np.empty(list_ptr[-1]), np.empty(label_ptr[-1])
        query_ptr = train.query_ptr[part.start : part.stop + 1]
        numbers = np.empty_like(counts)
        _fill_lists(query_ptr, scores, slope, train.labels, depths, list_ptr, label_ptr, times, labels, numbers)
        sizes = np.repeat(np.diff(train.ideal_ptr)[part], counts)
        ideal_rows, ideal_ptr = joined_rows(np.repeat(train.ideal_ptr[:-1][part], counts), sizes)
        lists = RankedLists(labels, pointers(np.repeat(depths, counts)), train.ideal_labels[ideal_rows], ideal_ptr)
        values = self._measure.scores(lists)
        changes = np.diff(values, prepend=0.0) * np.repeat(self._weights[part], counts)
        first = list_ptr[:-1][counts > 0]
        before = np.zeros(len(counts))
        before[counts > 0] = values[first]
        changes[first] = 0.0
        return before, times[changes != 0.0], changes[changes != 0.0]


def _best_step(times: Floats, changes: Floats, gain: float) -> tuple[float, float]:
    """Return the step with the largest gain, the shortest of equal ones, and the gain; 0 where none is above 0.

    times    (n,) at which the mean of the measure changes
    changes  (n,) by how much
    gain     of steps below the first of these times
    """
    order = np.argsort(times, kind="stable")
    edges, first = np.unique(times[order], return_index=True)
    gains = gain + np.append(0.0, np.cumsum(changes[order]))[np.append(first, len(order))]
    low, high = np.append(-np.inf, edges), np.append(edges, np.inf)
    low = np.where((low < 0.0) & (high > 0.0), 0.0, low)  # at 0 itself, scores that are equal may be in another order
    half = np.minimum((high - low) / 2.0, LONGEST)
    steps = np.where(low >= 0.0, low + half, high - half)
    gains = np.where(high - low > NARROWEST * np.maximum(1.0, np.abs(steps)), gains, 0.0)
    if gains.max() <= TIE:
        return 0.0, 0.0
    best = np.flatnonzero(gains >= gains.max() - TIE).tolist()
    chosen = min(best, key=lambda interval: (abs(steps[interval]), -steps[interval]))
    return float(steps[chosen]), float(gains[chosen])


@helper()
def _crossing(start, slope, above, below):  # type: ignore[no-untyped-def]
    """Return from which step on the line of `below` is above that of `above`; infinity where it never is."""
    gap = np.float64(slope[below]) - np.float64(slope[above])
    return (start[above] - start[below]) / gap if gap > 0.0 else np.inf


@helper()
def _is_first(start, slope, one, other):  # type: ignore[no-untyped-def]
    """Return whether row `one` is above a row before it for steps that go to minus infinity."""
    if slope[one] != slope[other]:
        return slope[one] < slope[other]
    return start[one] > start[other]


@helper()
def _walk(start, slope, labels, times, lists):  # type: ignore[no-untyped-def]
    """Return the number of lists that one query has along a line; fill those for which there is room.

    start, slope  (n,) lines start + t * slope
    times         (room,) t from which on each list stands; of the first: minus infinity
    lists         (room, depth) labels of the best rows, or (0, depth)

    The best rows are kept in order. The next list is that of the first crossing of two of them, or of the last of them
    and a row below. Crossings at the same t are taken in any order: each exchanges two rows once, as t can only grow.
    """
    depth = lists.shape[1]
    best = np.empty(depth, np.int64)
    n_best = 0
    for row in range(start.shape[0]):
        if n_best == depth and not _is_first(start, slope, row, best[depth - 1]):
            continue
        rank = min(n_best, depth - 1)
        while rank > 0 and _is_first(start, slope, row, best[rank - 1]):
            best[rank] = best[rank - 1]
            rank -= 1
        best[rank] = row
        n_best = min(n_best + 1, depth)
    is_below = np.ones(start.shape[0], np.bool_)
    is_below[best] = False
    crossings = np.empty(depth)
    for rank in range(depth - 1):
        crossings[rank] = _crossing(start, slope, best[rank], best[rank + 1])
    now = -np.inf
    count = 1
    if times.shape[0] > 0:
        times[0] = now
        for rank in range(depth):
            lists[0, rank] = labels[best[rank]]
    last, next_row = -1, -1
    while True:
        if best[depth - 1] != last:  # another row is the last one: which row below it crosses it first?
            last = best[depth - 1]
            crossings[depth - 1] = np.inf
            for row in range(start.shape[0]):
                if is_below[row]:
                    at = _crossing(start, slope, last, row)
                    if at < crossings[depth - 1]:
                        crossings[depth - 1] = at
                        next_row = row
        rank = np.argmin(crossings)
        if crossings[rank] == np.inf:
            return count
        now = max(now, crossings[rank])
        above = best[rank]
        below = next_row if rank == depth - 1 else best[rank + 1]
        best[rank] = below
        if rank == depth - 1:
            is_below[below] = False
            is_below[above] = True
        else:
            best[rank + 1] = above
            crossings[rank] = np.inf
            if rank + 2 < depth:
                crossings[rank + 1] = _crossing(start, slope, above, best[rank + 2])
        if rank > 0:
            crossings[rank - 1] = _crossing(start, slope, best[rank - 1], below)
        if labels[above] != labels[below]:
            count += 1
            if count <= times.shape[0]:
                times[count - 1] = now
                for place in range(depth):
                    lists[count - 1, place] = labels[best[place]]


@kernel(parallel=True)
def _fill_lists(  # type: ignore[no-untyped-def]
    query_ptr, start, slope, labels, depths, list_ptr, label_ptr, times, lists, counts
):
    """Fill counts (n_queries,) with the lists of each query along a line, and these as far as there is room.

    A query whose labels are all equal has none.

    start, slope, labels  (n_rows,) float64, float32, float64
    depths                (n_queries,) int64 length of the lists
    list_ptr, label_ptr   (n_queries + 1,) int64 places of each query in times and in lists, both float64
    """
    for q in prange(query_ptr.shape[0] - 1):
        rows = slice(query_ptr[q], query_ptr[q + 1])
        own = labels[rows]
        counts[q] = 0
        if own.shape[0] > 1 and own.min() != own.max():
            room = list_ptr[q + 1] - list_ptr[q]
            of_query = lists[label_ptr[q] : label_ptr[q + 1]].reshape(room, depths[q])
            counts[q] = _walk(start[rows], slope[rows], own, times[list_ptr[q] : list_ptr[q + 1]], of_query)


@register("coordinateascent")
@dataclass(eq=False, repr=False)
class CoordinateAscent(LinearRanker):
    """Linear ranker whose weights maximise the mean of a measure over the training queries, one weight at a time.

    A pass changes each weight to where the mean is largest while the others stay as they are, and leaves it where no
    change is better. The search is exact (`LineSearch`). The mean has many local maxima, and which one is found depends
    on the order of the weights: several ascents each take an order of their own, and the model is their mean. Those of
    a cold start count alike, whatever their length. A search takes time in proportion to documents times changes among
    the first ones: measures with a cut-off are faster.

    References
    ----------
    D. Metzler and W. B. Croft, Linear feature-based models for information retrieval, Information Retrieval 10, 2007,
    section 4.3 (coordinate ascent, with a grid of steps).
    F. Och, Minimum error rate training in statistical machine translation, ACL 2003, section 4 (exact line search).

    """

    n_restarts: int = parameter(5, Whole(1, 1000), "Number of ascents, each with its own order of the weights.")
    max_iter: int = parameter(
        25, Whole(1, 1_000_000), "Maximum number of passes over the weights.", search=(1, 3, 10, 25)
    )
    metric: Any = parameter("nDCG@10", Metric(), "Measure to maximise, and for early stopping.")
    early_stopping_rounds: int = stopping_parameter(5, "passes")
    base: Any = base_parameter()
    random_state: int = parameter(0, SEED, "Random seed of the orders of the weights.")
    n_jobs: int | None = jobs_parameter()

    nothing_learned: ClassVar[str] = "no weight that betters the measure. Give other features"

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        check_pairs(train)
        unit = spread_at_the_top(train)
        start, _ = start_in_units(train, unit, by_query=True)
        self.standardizer_ = Standardizer.learn(train.X, train.order)
        inputs = np.ascontiguousarray(self.standardizer_.inputs(train.X, train.order, np.float32).T)
        search = LineSearch(train, parse_measure(self.metric))
        random = np.random.default_rng(self.random_state)
        ascents = [Ascent(search, start, inputs, random.permutation(len(inputs))) for _ in range(self.n_restarts)]
        stopping = self._stopping(valid, context)
        held_out = self._held_out(valid, unit, linear_scores)
        best = np.zeros(len(inputs))
        for _ in stopping.iterations(self.max_iter, "passes"):
            gain = sum(ascent.advance() for ascent in ascents) / len(ascents)
            weights = np.mean([ascent.shares for ascent in ascents], axis=0)
            if stopping.add(held_out(weights)):
                best = weights
            if gain <= LEAST_GAIN:
                break
        self._follow(stopping)
        self.weights_ = unit * best
        self.intercept_ = 0.0


class Ascent:
    """Weights on their way to a local maximum.

    Attributes
    ----------
    weights : ndarray of shape (n_inputs,), dtype float64
        The weights after the passes so far.

    """

    def __init__(self, search: LineSearch, start: Floats, inputs: NDArray[np.float32], order: Ints) -> None:
        """Take the starting scores (n_rows,), the inputs (n_inputs, n_rows), and the order of their weights."""
        self._search = search
        self._is_cold = not start.any()
        self._scores = start
        self._inputs = inputs
        self._order = order.tolist()
        self._value = search.value(start)
        self.weights = np.zeros(len(inputs))

    @property
    def shares(self) -> Floats:
        """The weights, (n_inputs,); those of a cold start, whose scores have no unit, divided by their length."""
        length = np.sqrt(array_dot(self.weights, self.weights)) if self._is_cold else 0.0
        return self.weights / (length or 1.0)

    def advance(self) -> float:
        """Make one pass; return what the mean of the measure gains."""
        before = self._value
        for number in self._order:
            step = self._search.best(self._scores, self._inputs[number])[0]
            scores = self._scores + step * self._inputs[number]
            value = self._search.value(scores) if step else self._value
            if value > self._value:  # rounding of scores may exchange rows at the edge of an interval
                self._scores, self._value = scores, value
                self.weights[number] += step
        return self._value - before

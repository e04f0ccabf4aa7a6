"""The measure of held-out queries while a model grows."""

import numpy as np
from numba import prange

from rerank.metrics.base import Measure
from rerank.metrics.ranked_lists import RankedLists
from rerank.rankers.training_set import TrainingSet
from rerank.retrieval.best_alpha import ScoreLines, best_share
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.sums import mean
from rerank.types import Floats, pointers

DEEPEST_INSERTION = 100  # down to here keeping the best rows in order beats sorting the whole list


class Validation:
    """Follows a measure on held-out queries while a model grows."""

    def __init__(self, data: TrainingSet, measure: Measure) -> None:
        """Take canonical data and the measure that early stopping watches."""
        self.data = data
        self.measure = measure
        sizes = np.diff(data.query_ptr)
        depth = sizes.max(initial=0) if measure.cutoff is None else measure.cutoff
        out_ptr = pointers(np.minimum(sizes, depth))
        # Of all scores in turn: labels are filled in anew, and what depends on the ideal labels alone is kept.
        self._lists = RankedLists(np.empty(out_ptr[-1]), out_ptr, data.ideal_labels, data.ideal_ptr)
        self._rank_labels = _insert_labels if depth <= DEEPEST_INSERTION else _sort_labels

    def value(self, scores: Floats) -> float:
        """Return the measure's mean over the queries, weighted as they are, for scores (n_rows,) float64."""
        values = self.values(scores)
        return mean(values, self.data.weights) if self.data.weights.any() else 0.0

    def values(self, scores: Floats) -> Floats:
        """Return the measure of each query, (n_queries,) float64, for scores (n_rows,) float64."""
        self._rank_labels(self.data.query_ptr, scores, self.data.labels, self._lists.query_ptr, self._lists.labels)
        return self.measure.scores(self._lists)

    def best_step(self, scores: Floats, direction: Floats) -> float:
        """Return the step above 0 for which the mean of the measure of scores + step * direction is greatest."""
        data = self.data
        lines = ScoreLines(
            data.query_ptr, direction, scores, data.labels, data.weights, data.ideal_labels, data.ideal_ptr
        )
        return best_share(lines, self.measure)


@kernel(parallel=True)
def _insert_labels(query_ptr, scores, labels, out_ptr, out):
    """Fill out with the labels of each query's best rows, by score; equal scores: the earlier row first."""
    for q in prange(query_ptr.shape[0] - 1):
        rows = slice(query_ptr[q], query_ptr[q + 1])
        _insert_best(scores[rows], labels[rows], out[out_ptr[q] : out_ptr[q + 1]])


@kernel(parallel=True)
def _sort_labels(query_ptr, scores, labels, out_ptr, out):
    """Fill out as `_insert_labels` does, but sort all rows of a query; Numba takes seconds to compile its sort."""
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        order = np.argsort(-scores[first : query_ptr[q + 1]], kind="mergesort")
        for rank in range(out_ptr[q + 1] - out_ptr[q]):
            out[out_ptr[q] + rank] = labels[first + order[rank]]


@helper()
def _insert_best(scores, labels, ranked):
    """Fill ranked (depth,) with the labels of the best rows of one query, which are kept in order."""
    depth = ranked.shape[0]
    best = np.empty(depth)
    n_best = 0
    for row in range(scores.shape[0]):
        if n_best == depth and scores[row] <= best[depth - 1]:
            continue
        rank = min(n_best, depth - 1)
        while rank > 0 and best[rank - 1] < scores[row]:
            best[rank] = best[rank - 1]
            ranked[rank] = ranked[rank - 1]
            rank -= 1
        best[rank] = scores[row]
        ranked[rank] = labels[row]
        n_best = min(n_best + 1, depth)

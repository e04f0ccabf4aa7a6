"""The unit of the scores that a training starts from.

A learner's limits and penalties (least hessian of a leaf, weight decay, a margin) are numbers without a unit, so base
scores are divided by their spread before training, and what was learned is multiplied by it: BM25's 20 and a
probability's 0.9 start alike, and a base times any factor gives the same trees.
"""

from itertools import pairwise

import numpy as np

from rerank.rankers.training_set import TrainingSet
from rerank.runtime.sums import mean
from rerank.types import Floats, Ints, query_rows

DEPTH_OF_SPREAD = 30
LEAST_SHARE = 2.0**-40  # of the largest score: a smaller unit would leave learned scores too few digits
SHARE_OF_EVEN = 2.0**-10  # the same where scores do not spread: evaluation reads the sums as float32
GRID = 2.0**26  # steps of a unit, or of the largest score if that is less: what rounding the base's scale left is gone


def spread_at_the_top(train: TrainingSet, depth: int = DEPTH_OF_SPREAD) -> float:
    """Return the standard deviation, inside queries, of the best `depth` starting scores: the unit of a warm start.

    Queries count by their weights. Where the best scores of every query are equal, the spread of all its scores; where
    these are equal, too, 1. It is never so small that learned scores would be lost in the largest base score. Pairs
    that lie many slopes apart have no curvature left, and Newton steps on them overshoot.
    """
    scores = train.start_scores
    if not scores.any():  # a cold start, which need not look at each query
        return 1.0
    largest = np.abs(scores).max()
    spread = _spread(scores, train, depth) or _spread(scores, train, len(scores))
    return float(max(spread, LEAST_SHARE * largest) if spread > 0.0 else max(SHARE_OF_EVEN * largest, 1.0))


def start_in_units(train: TrainingSet, unit: float, by_query: bool) -> tuple[Floats, float]:
    """Return (start_scores - centre) / unit, (n_rows,) float64, and the centre in the scores' own unit.

    by_query  take off each query's mean, for a learner that only knows differences inside queries; the centre
              returned is then 0. Otherwise the mean of all rows, weighed as their queries are.
    """
    scores = train.start_scores
    if not scores.any():
        return np.zeros(len(scores)), 0.0
    sizes = np.diff(train.query_ptr)
    if by_query:
        best = np.full(len(sizes), -np.inf)
        query = query_rows(train.query_ptr)
        np.maximum.at(best, query, scores)
        scores, centre = scores - best[query], 0.0  # exact where scores are equal, as their mean need not be
        scores -= (np.bincount(query, scores, len(sizes)) / np.maximum(sizes, 1))[query]
    else:
        best = scores.max()
        rows = np.repeat(train.weights, sizes)
        scores = scores - best
        of_rows = mean(scores, rows if rows.any() else None)
        scores = scores - of_rows
        centre = float(best + of_rows)
    scores = scores / unit
    grid = float(np.ldexp(GRID, max(-int(np.frexp(np.abs(scores).max())[1]), 0)))
    return np.rint(scores * grid) / grid, centre


def _spread(scores: Floats, train: TrainingSet, depth: int) -> float:
    """Return the root of the queries' mean variance of their best `depth` scores (n_rows,) float64."""
    variances = np.zeros(len(train.weights))
    for query, (first, last) in enumerate(pairwise(train.query_ptr.tolist())):
        best = np.sort(scores[first:last])[-depth:]
        if len(best):
            variances[query] = (best - best[-1]).var()
    return float(np.sqrt(mean(variances, train.weights if train.weights.any() else None)))


def deviation_in_queries(scores: Floats, query_ptr: Ints) -> float:
    """Return the root of the mean squared distance of scores (n_rows,) from their query's mean."""
    query = query_rows(query_ptr)
    sizes = np.maximum(np.diff(query_ptr), 1)
    means = np.bincount(query, scores, len(sizes)) / sizes
    return float(np.sqrt(mean((scores - means[query]) ** 2)))

"""The scores that training starts from: their unit, and their weight beside learned scores.

A learner's limits and penalties (least hessian of a leaf, weight decay, a margin) are numbers without a unit, so base
scores are divided by their spread before training, and what was learned is multiplied by it: BM25's 20 and a
probability's 0.9 start alike, and a base times any factor gives the same trees.

A model that is trained from the base's scores (Burges 2010, section 7: F_0 = base) is left with the pairs that the
base orders wrongly, and with few judged queries fits their noise. Trained from 0 and added to the base it was better on
every collection that was tried (docs/benchmarks.md). The weight is the ratio of the two spreads, each the standard
deviation of the best 30 scores inside queries, so that neither the scale of the base nor the number of iterations has
an effect on it. It is chosen where the model's scores are held out: the geometric mean of all ratios, each with the
weight exp(-t^2), t the metric's distance from the best ratio in standard errors of the difference, paired by query.
With few queries no ratio is far from the best, and the choice is close to equal spreads. For the unsupervised sum, a
strong base, the ratio is then multiplied by 1 + 10 / queries, since so few queries also teach little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated

import numpy as np

from rerank.metrics.base import Measure
from rerank.rankers.training import TrainingSet, Validation
from rerank.runtime.numerics import array_exp, array_log
from rerank.runtime.schema import Number
from rerank.types import Floats, Ints, query_rows

DEPTH_OF_SPREAD = 30
LEAST_SHARE = 2.0**-40  # of the largest score: a smaller unit would leave learned scores too few digits beside it
SHARE_OF_EVEN = 2.0**-10  # the same where scores do not spread: evaluation reads the sums as float32
GRID = 2.0**26  # steps of a unit, or of the largest score if that is less: what rounding the base's scale left is gone


def spread_at_the_top(train: TrainingSet, depth: int = DEPTH_OF_SPREAD) -> float:
    """Return the standard deviation, inside queries, of the best `depth` starting scores: the unit of a warm start.

    Queries count by their weights. Where the best scores of every query are equal, the spread of all its scores; where
    these are equal, too, 1. It is never so small that learned scores would be lost beside the largest base score. Pairs
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
        mean = float(np.average(scores, weights=rows if rows.any() else None))
        scores = scores - mean
        centre = float(best + mean)
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
    weights = train.weights if train.weights.any() else None
    return float(np.sqrt(np.average(variances, weights=weights)))


RATIOS = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0])
NAMES = tuple(f"{ratio:g}" for ratio in RATIOS)


@dataclass(frozen=True)
class BaseWeight:
    """A chosen weight.

    ratio     spread of the base's scores beside that of the learned ones
    factor    what learned scores are multiplied by before they are added to the base's
    measures  metric of each ratio on the held-out queries; empty where there were none
    """

    ratio: Annotated[float, Number(0.0)]
    factor: Annotated[float, Number(0.0)]
    measures: dict[str, float]

    def __str__(self) -> str:
        figures = ", ".join(f"{name}: {value:.4f}" for name, value in self.measures.items())
        return f"weight of the base {self.ratio:.3g} (measured on held-out queries: {figures or 'none'})"


class WeightedBase:
    """The base scores of some queries, to which learned scores are added."""

    def __init__(self, data: TrainingSet, measure: Measure) -> None:
        """Take queries with the base's scores as their start."""
        self.unit = spread_at_the_top(data)
        self._data = data
        self._base = start_in_units(data, self.unit, by_query=True)[0]
        self._validation = Validation(data, measure)
        self._weights = data.weights if data.weights.any() else np.ones(len(data.weights))

    def averaged(self, learned: Floats) -> BaseWeight:
        """Return the weight beside learned scores (n_rows,) float64 of these queries, which were held out."""
        spread = self._spread_of(learned)
        values = np.array([self._values(learned, ratio * spread) for ratio in RATIOS])
        means = np.average(values, axis=1, weights=self._weights)
        gaps = [mean_and_error(values[np.argmax(means)] - value, self._weights) for value in values]
        distances = np.array([gap / error if gap > 0.0 else 0.0 for gap, error in gaps])
        mean = np.average(array_log(RATIOS), weights=array_exp(-(distances**2)))
        trust = 1.0 + self._data.base_worth / len(self._weights)
        return self._weight(trust * float(array_exp([mean])[0]), spread, means)

    def best(self, learned: Floats) -> BaseWeight:
        """Return the best weight beside learned scores (n_rows,) float64, for validation data of the caller."""
        values = [np.average(self._values(learned, ratio), weights=self._weights) for ratio in RATIOS]
        return self._weight(RATIOS[int(np.argmax(values))], 1.0, np.array(values))

    def equal(self, learned: Floats) -> BaseWeight:
        """Return the weight of equal spreads, where no queries are held out."""
        return self._weight(1.0, self._spread_of(learned), np.empty(0))

    def _weight(self, ratio: float, spread: float, means: Floats) -> BaseWeight:
        measures = dict(zip(NAMES, means.tolist(), strict=False))
        return BaseWeight(float(ratio), float(self.unit / (ratio * spread)), measures)

    def best_of(self, learned: Floats) -> Floats:
        """Return base + learned scores (n_rows,), in units of the base's spread, with the weight that is best here."""
        return self.mixed(learned, self.best(learned).ratio)

    def mixed(self, learned: Floats, weight: float) -> Floats:
        """Return base + learned / weight, (n_rows,), in units of the base's spread."""
        return self._base + learned / weight

    def _values(self, learned: Floats, weight: float) -> Floats:
        """Return the metric of each query."""
        return self._validation.values(self.mixed(learned, weight))

    def _spread_of(self, learned: Floats) -> float:
        return spread_at_the_top(replace(self._data, start_scores=learned))


def deviation_in_queries(scores: Floats, query_ptr: Ints) -> float:
    """Return the root of the mean squared distance of scores (n_rows,) from their query's mean."""
    query = query_rows(query_ptr)
    sizes = np.maximum(np.diff(query_ptr), 1)
    means: Floats = np.bincount(query, scores, len(sizes)) / sizes
    return float(np.sqrt(np.mean((scores - means[query]) ** 2)))


def mean_and_error(differences: Floats, weights: Floats) -> tuple[float, float]:
    """Return the weighted mean of the queries' differences (n_queries,), and its standard error."""
    shares = weights / weights.sum()
    n_queries = max(len(differences), 2)
    mean = np.sum(shares * differences)
    variance = np.sum((shares * (differences - mean)) ** 2) * n_queries / (n_queries - 1)
    return float(mean), float(np.sqrt(variance))

"""Coordinate ascent: a linear ranker that maximises the measure itself, one weight at a time, by exact line searches.

A search along one weight is that of the best combination of two runs (`rerank/retrieval/best_alpha.py`): the scores and
the input of the weight, or its negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.metrics.registry import parse_measure
from rerank.rankers.base_unit import spread_at_the_top, start_in_units
from rerank.rankers.linear import LinearRanker, linear_scores
from rerank.rankers.parameters import SEED, Metric, base_parameter, jobs_parameter, parameter, stopping_parameter
from rerank.rankers.registry import register
from rerank.rankers.standardizer import Standardizer
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet, check_has_pairs
from rerank.rankers.validation import Validation
from rerank.retrieval.best_alpha import EQUAL_MEANS
from rerank.runtime.fields import Whole
from rerank.runtime.products import array_dot
from rerank.runtime.progress import track
from rerank.types import Floats, Ints

LEAST_GAIN = 1e-3  # mean rise of the measure in a pass: with no more, the training ends


@register("coordinateascent")
@dataclass(eq=False, repr=False)
class CoordinateAscent(LinearRanker):
    """Linear ranker whose weights maximise the mean of a measure over the training queries, one weight at a time.

    A pass changes each weight to where the mean is largest while the others stay as they are, and leaves it where no
    change is better. The search is exact. The mean has many local maxima, and which one is found depends on the order
    of the weights: several ascents each take an order of their own, and the model is the mean of their weights. Without
    a base, each ascent's weights are first divided by their length, so that all ascents count alike. A search compares
    each relevant document with all others of its query.

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
        check_has_pairs(train)
        unit = spread_at_the_top(train)
        start, _ = start_in_units(train, unit, by_query=True)
        self.standardizer_ = Standardizer.learn(train.X, train.order)
        inputs = np.ascontiguousarray(self.standardizer_.inputs(train.X, train.order, np.float32).T)
        training = Validation(train, parse_measure(self.metric))
        random = np.random.default_rng(self.random_state)
        ascents = [Ascent(training, start, inputs, random.permutation(len(inputs))) for _ in range(self.n_restarts)]
        first = np.zeros(len(inputs))
        self.weights_ = unit * self._best_of(self._passes(ascents), first, linear_scores, unit, valid, context)
        self.intercept_ = 0.0

    def _passes(self, ascents: Sequence[Ascent]) -> Iterator[Floats]:
        """Yield the mean of the ascents' weights after each pass."""
        for _ in track(range(self.max_iter), "passes"):
            gain = sum(ascent.advance() for ascent in ascents) / len(ascents)
            yield np.mean([ascent.shares for ascent in ascents], axis=0)
            if gain <= LEAST_GAIN:
                return


class Ascent:
    """Weights on their way to a local maximum.

    Attributes
    ----------
    weights : ndarray of shape (n_inputs,), dtype float64
        The weights after the passes so far.

    """

    def __init__(self, training: Validation, start: Floats, inputs: NDArray[np.float32], order: Ints) -> None:
        """Take the measure of the training queries, starting scores (n_rows,), inputs (n_inputs, n_rows) and an order.

        order  in which a pass changes the weights, (n_inputs,)
        """
        self._training = training
        self._is_cold = not start.any()
        self._scores = start
        self._inputs = inputs
        self._order = order.tolist()
        self._value = training.value(start)
        self.weights = np.zeros(len(inputs))

    @property
    def shares(self) -> Floats:
        """The weights, (n_inputs,); divided by their length for a cold start, where scores have no unit."""
        length = np.sqrt(array_dot(self.weights, self.weights)) if self._is_cold else 0.0
        return self.weights / (length or 1.0)

    def advance(self) -> float:
        """Make one pass over the weights; return by how much the mean of the measure rises."""
        before = self._value
        for number in self._order:
            direction = self._inputs[number].astype(np.float64)
            start = self._scores
            weight = self.weights[number]
            for side in (1.0, -1.0):
                step = side * self._training.best_step(start, side * direction)
                scores = start + step * direction
                value = self._training.value(scores)
                if value > self._value + EQUAL_MEANS:
                    self._scores, self._value = scores, value
                    self.weights[number] = weight + step
        return self._value - before

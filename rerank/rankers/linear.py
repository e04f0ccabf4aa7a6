"""What linear rankers share: scores are base + inputs @ weights, the weights the minimum of a regularised cost.

Smooth costs are minimised by L-BFGS (`lbfgs.py`), the pairwise hinge by bundles (`bundle.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from rerank.objectives.base import LabelCost
from rerank.rankers.base_unit import spread_at_the_top, start_in_units
from rerank.rankers.lbfgs import Guess, minimise_smooth
from rerank.rankers.model_file import PROGRESS
from rerank.rankers.parameters import base_parameter, jobs_parameter, parameter, stopping_parameter, watched_metric
from rerank.rankers.probability_map import least_within_bounds
from rerank.rankers.ranker import Ranker
from rerank.rankers.standardizer import FLOAT64_ROWS, Standardizer
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet, check_has_pairs
from rerank.runtime.fields import Number, Whole
from rerank.runtime.products import array_dot, cross_product, gram, inverse_matrix, product
from rerank.runtime.sums import total
from rerank.types import Floats, Ints, query_rows

TOLERANCE = 1e-6  # share of the weights' norm by which the minimum may be missed
ROWS_A_WEIGHT = 8  # rows for each weight, from which the Hessian is estimated
WIDEST_HESSIAN = 1000  # most weights for which the whole Hessian is inverted
TINY = 1e-12
WIDEST = 30.0  # largest ratio of the base's unit to its spread, either way
Weights = TypeVar("Weights")  # an array, or a net


class StandardizedRanker(Ranker):
    """Base class of the rankers that read standardized features."""

    standardizer_: Standardizer

    @abstractmethod
    def _input_scores(self, inputs: Floats) -> Floats:
        """Return the score of each row of inputs (n_rows, n_inputs), (n_rows,)."""

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        blocks = (X[first : first + FLOAT64_ROWS] for first in range(0, len(X), FLOAT64_ROWS))
        return np.concatenate(
            [np.empty(0), *(self._input_scores(self.standardizer_.inputs(block)) for block in blocks)]
        )

    def _best_of(
        self,
        iterates: Iterable[Weights],
        first: Weights,
        scores: Callable[[Weights, NDArray[np.float32]], Floats],
        unit: float,
        valid: TrainingSet | None,
        context: TrainingContext,
    ) -> Weights:
        """Return the best weights on the validation data, of the first and each iteration's; without it, the last.

        scores  returns the scores of inputs under weights; times `unit`, they are added to the start scores
        """
        stopping = self._stopping(valid, context)
        if valid is not None:
            inputs = self.standardizer_.inputs(valid.X, valid.order, np.float32)
        best = first
        for weights in iterates:
            if stopping.add(np.empty(0) if valid is None else valid.start_scores + unit * scores(weights, inputs)):
                best = weights
            if stopping.over:
                break
        self._follow(stopping)
        return best


class LinearRanker(StandardizedRanker):
    """Base class of the rankers whose scores are base + inputs @ w + b, the inputs standardized features.

    Attributes
    ----------
    weights_ : ndarray of shape (n_inputs,), dtype float64
        w, in the unit of the base scores.
    intercept_ : float
        b.

    """

    weights_at: ClassVar[str] = "weights_"
    learned: ClassVar[Mapping[str, Any]] = {
        **PROGRESS,
        "standardizer": Standardizer,
        "weights": Floats,
        "intercept": float,
    }
    weights_: Floats
    intercept_: float

    @property
    def feature_importances_(self) -> Floats:
        """Size of each feature's weight on standardized values, (n_features,) float64.

        It includes the weight of the input that says whether the feature is missing.
        """
        return np.bincount(self.standardizer_.features, np.abs(self.weights_), self.n_features_in_).astype(np.float64)

    def _input_scores(self, inputs: Floats) -> Floats:
        return product(inputs, self.weights_) + self.intercept_

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        for first in range(0, len(X), FLOAT64_ROWS):
            added = self.standardizer_.inputs(X[first : first + FLOAT64_ROWS]) * self.weights_
            np.add.at(out[first : first + FLOAT64_ROWS].T, self.standardizer_.features, added.T)
        out[:, -1] += self.intercept_

    def _check_learned(self) -> None:
        self.standardizer_.check_sizes(self.n_features_in_, len(self.weights_))


@dataclass(eq=False, repr=False)
class LinearCostRanker(LinearRanker):
    """Base class of the linear rankers that minimise a cost; a ranker adds its objective.

    The weights minimise 1/2 |w|^2 + C cost((base - m) / u + inputs @ w + b), found from w = 0, or from the weights of a
    ranker of other folds. Inputs are the standardized features (standardizer.py); b is an intercept, where the ranker
    has one; m is the base scores' mean, that of each query for a ranker without an intercept; u is the unit in which
    the base ranker alone costs least, 1 for a cold start, so that BM25's 20 and a probability's 0.9 start alike: what
    is stored is w u and b u - m. With validation data the best iterate is kept, the base ranker itself among them.
    """

    C: float = parameter(
        1.0,
        Number(1e-12, 1e12),
        "Inverse of the regularisation strength, as in scikit-learn: smaller values regularise more.",
        search=(0.01, 0.1, 1.0, 10.0, 100.0),
    )
    max_iter: int = parameter(200, Whole(1, 1_000_000), "Maximum number of iterations.")
    metric: Any = watched_metric()
    early_stopping_rounds: int = stopping_parameter(50, "iterations")
    base: Any = base_parameter()
    n_jobs: int | None = jobs_parameter()

    nothing_learned: ClassVar[str] = "no weight but 0. Raise C or give other features"
    has_intercept: ClassVar[bool] = False

    @abstractmethod
    def _objective(self, train: TrainingSet) -> LabelCost:
        """Return what is minimised, over all queries."""

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        check_has_pairs(train)
        objective = self._objective(train)
        spread = spread_at_the_top(train)
        start, centre = start_in_units(train, spread, by_query=objective.constant() is None)
        slope = _slope(objective, start)
        unit = spread / slope
        self.standardizer_ = Standardizer.learn(train.X, train.order)
        inputs = self.standardizer_.inputs(train.X, train.order, np.float32)
        first = np.zeros(inputs.shape[1] + self.has_intercept)
        if valid is None and isinstance(context.near, LinearCostRanker):
            first = self._weights_near(context.near, unit, centre)
        cost = Cost(inputs, slope * start, objective, self.C, first)
        best = self._best_of(self._iterates(cost), first, linear_scores, unit, valid, context)
        n_inputs = self.standardizer_.n_inputs
        self.weights_ = unit * best[:n_inputs]
        self.intercept_ = unit * float(best[n_inputs:].sum()) - centre

    def _weights_near(self, near: LinearCostRanker, unit: float, centre: float) -> Floats:
        """Return another ranker's weights (n_weights,) as weights of the inputs here; 0 for inputs new to it."""
        other = near.standardizer_
        own = self.standardizer_
        slopes = np.zeros((2, self.n_features_in_))  # of a feature's values, and of missing ones
        slopes[other.of_missing.astype(np.int8), other.features] = near.weights_ * other.scales / unit
        weights = slopes[own.of_missing.astype(np.int8), own.features] / own.scales
        return np.append(weights, [(near.intercept_ + centre) / unit] * self.has_intercept)

    def _iterates(self, cost: Cost) -> Iterator[Floats]:
        """Yield the weights of each iteration towards the minimum; L-BFGS is for smooth costs."""
        return minimise_smooth(cost.value_and_gradient, cost.first, cost.inverse_hessian, TOLERANCE, self.max_iter)


def _slope(objective: LabelCost, base: Floats) -> float:
    """Return the factor with which base scores (n_rows,), in units of their spread, cost least, up to a constant.

    The factor is between 1/30 and 30; 1 for a cold start.
    """
    if not base.any():
        return 1.0
    grad, hess = np.empty((2, len(base)))
    inputs = np.column_stack([base, np.ones(len(base))])

    def derivative(slope: float) -> float:
        objective.gradients(slope * base, grad, hess)
        return array_dot(grad, base)

    def derivatives(at: Floats) -> tuple[Floats, Floats]:
        objective.gradients(product(inputs, at), grad, hess)
        return cross_product(grad[:, None], inputs)[0], gram(inputs, hess) + TINY * np.eye(2)

    if objective.constant() is None:
        return least_convex(derivative, 1.0 / WIDEST, WIDEST)
    least = least_within_bounds(
        lambda at: objective.cost(product(inputs, at)), derivatives, np.array([1.0, 0.0]), np.zeros(2, np.bool_)
    )
    return float(np.clip(least[0], 1.0 / WIDEST, WIDEST))


def least_convex(derivative: Callable[[float], float], low: float, high: float) -> float:
    """Return the number between low and high at which a convex function is least, from its derivative."""
    from scipy.optimize import brentq

    if derivative(high) <= 0.0:
        return high
    if derivative(low) >= 0.0:
        return low
    return float(brentq(derivative, low, high, xtol=1e-10))


class Cost:
    """The regularised cost of weights (n_inputs,), the intercept last where there is one."""

    def __init__(
        self, inputs: NDArray[np.float32], start: Floats, objective: LabelCost, C: float, first: Floats
    ) -> None:
        """Take standardized inputs (n_rows, n_inputs) and the starting scores (n_rows,), in units of the objective.

        first  (n_weights,) weights at which a search may begin
        """
        self._inputs = inputs
        self._start = start
        self._objective = objective
        self._C = C
        self._grad, self._hess = np.empty((2, len(start)))
        self.first = first
        self.n_weights = len(first)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """Return 1/2 |w|^2 + C cost and its gradient, (n_weights,) float64."""
        scores = self._start + linear_scores(weights, self._inputs)
        n_inputs = self._inputs.shape[1]
        free = np.where(np.arange(self.n_weights) < n_inputs, weights, 0.0)
        cost = self._objective.cost_and_gradients(scores, self._grad, self._hess)
        slope = np.full(self.n_weights, total(self._grad))
        slope[:n_inputs] = cross_product(self._grad[:, None], self._inputs)[0]
        return 0.5 * array_dot(free, free) + self._C * cost, free + self._C * slope

    def inverse_hessian(self) -> Guess:
        """Return a function that multiplies (n_weights,) by about the inverse Hessian at the last given weights.

        The Hessian is estimated from some of the rows, by the objective's `hess`; for more than a thousand weights,
        only its diagonal. Where a constant changes no cost, inputs count by their distance from their query's mean.
        """
        rows, curvatures = _drawn(self._hess, ROWS_A_WEIGHT * self.n_weights)
        inputs = np.ones((len(rows), self.n_weights))
        inputs[:, : self._inputs.shape[1]] = self._inputs[rows]
        if self._objective.constant() is None:
            inputs -= _query_means(inputs, curvatures, query_rows(self._objective.query_ptr)[rows])
        if self.n_weights <= WIDEST_HESSIAN:
            return partial(product, inverse_matrix(self._C * gram(inputs, curvatures) + np.eye(self.n_weights)))
        diagonal = cross_product(curvatures[:, None], inputs**2)[0]
        return partial(np.multiply, 1.0 / (self._C * diagonal + 1.0))


def _drawn(curvatures: Floats, n_draws: int) -> tuple[Ints, Floats]:
    """Return some rows, ascending, and their curvatures, whose sum is that of all rows.

    Rows are drawn at equal steps of the cumulated curvature: a row with more curvature than a step is always drawn.
    """
    if len(curvatures) <= n_draws:
        return np.arange(len(curvatures)), curvatures
    ends = np.cumsum(curvatures)
    step = ends[-1] / n_draws
    rows, counts = np.unique(np.searchsorted(ends, step * (0.5 + np.arange(n_draws))), return_counts=True)
    return rows, step * counts


def _query_means(inputs: Floats, weights: Floats, query: Ints) -> Floats:
    """Return the weighted mean of inputs (n_rows, n_inputs) of each row's query (n_rows,), which ascends."""
    firsts = np.flatnonzero(np.diff(query, prepend=-1))
    totals = np.maximum(np.add.reduceat(weights, firsts), TINY)
    means = np.add.reduceat(inputs * weights[:, None], firsts) / totals[:, None]
    return np.repeat(means, np.diff(firsts, append=len(query)), axis=0)


def linear_scores(weights: Floats, inputs: NDArray[np.float32]) -> Floats:
    """Return inputs (n_rows, n_inputs) times weights, (n_rows,) float64; one more weight is an intercept."""
    n_inputs = inputs.shape[1]
    return product(inputs, weights[:n_inputs]) + weights[n_inputs:].sum()  # type: ignore[no-any-return]

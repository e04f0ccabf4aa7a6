"""Linear rankers: scores are base + inputs @ weights, the weights the minimum of a regularised cost.

Smooth costs are minimised by L-BFGS, every sum in one order (Nocedal and Wright 2006, algorithms 7.4 and 7.5), the
pairwise hinge by bundles. Other libraries' L-BFGS calls BLAS, whose rounding depends on the processor, and
starts from the identity as its guess of the Hessian; from one of the same size in all directions, weights of features
that say nearly the same take hundreds of iterations. Here the guess is the Hessian of some of the rows, computed anew
after 1, 2, 4, ... iterations: a listwise cost depends on other documents once the weights order them. A step is halved
until the cost falls enough; where the cost's own rounding hides its fall, the slope decides (Hager and Zhang 2005). The
cost is strictly convex, so that every step has a curvature above 0.

The bundle method for regularised costs with kinks (Teo et al. 2010, Bundle methods for regularized risk).

A convex cost R lies above each of its tangents. Round t adds the tangent a_t w + b_t at the present weights, and moves
to the minimum of 1/2 |w|^2 + max_i (a_i w + b_i). That minimum is a bound from below, so that the distance to the best
possible cost is known, and with it, as the cost holds 1/2 |w|^2, that to the best weights. Its dual is a quadratic
programme over a simplex with one variable a tangent: small, and solved on the tangents that have a share, to which one
is added at a time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.objectives.base import LabelCost
from rerank.objectives.costs import Hinge, Logistic, PlackettLuceObjective
from rerank.rankers.base_unit import spread_at_the_top, start_in_units
from rerank.rankers.calibration import BLOCK, Standardizer, least_within_bounds
from rerank.rankers.model_file import PROGRESS
from rerank.rankers.parameters import base_parameter, jobs_parameter, parameter, stopping_parameter, watched_metric
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import register
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet, check_pairs, pair_counts
from rerank.runtime.codec import Number, Whole
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.numerics import array_dot, cross_product, gram, inverse, product
from rerank.types import Floats, Ints, query_rows

MOST_MOVES = 10_000  # in one round
SHARE_OF_GAP = 0.1  # that a round's programme may leave
LEAST_GAP = 1e-14  # share of the cost: rounding hides a smaller one
RIDGE = 1e-13  # share of the largest curvature


def minimise_by_bundle(
    value_and_gradient: Callable[[Floats], tuple[float, Floats]],
    n_weights: int,
    tolerance: float,
    max_iter: int,
) -> Iterator[Floats]:
    """Yield the best weights (n_weights,) after each round of minimising 1/2 |w|^2 + R(w), R convex, from w = 0.

    It ends when the best weights are within `tolerance` times their norm of those of the minimum: 1/2 of the square of
    that distance is at most the distance of the costs.

    value_and_gradient  the whole cost and a slope of it
    """
    weights = np.zeros(n_weights)
    least = np.inf
    tangents = np.empty((0, n_weights))
    offsets = np.empty(0)
    shares = np.empty(0)
    products = np.empty((0, 0))
    for _ in range(max_iter):
        value, gradient = value_and_gradient(weights)
        if value < least:
            best = weights
            least = value
        slope = gradient - weights
        tangents = np.vstack([tangents, slope])
        offsets = np.append(offsets, value - 0.5 * array_dot(weights, weights) - array_dot(slope, weights))
        shares = np.append(shares, 0.0 if len(shares) else 1.0)
        row = product(tangents, slope)
        products = np.block([[products, row[:-1, None]], [row[None]]])
        allowed = max(0.5 * tolerance**2 * array_dot(best, best), LEAST_GAP * abs(least))
        _share_out(products, offsets, SHARE_OF_GAP * allowed, MOST_MOVES, shares)
        weights = -cross_product(shares[:, None], tangents)[0]
        yield best
        bound = array_dot(offsets, shares) - 0.5 * array_dot(weights, weights)
        if least - bound <= allowed:
            return


@kernel()
def _share_out(products, offsets, tolerance, most_moves, shares):  # type: ignore[no-untyped-def]
    """Minimise 1/2 shares' products shares - offsets' shares over the simplex, from `shares` (m,), in place.

    products (m, m) float64, offsets (m,) float64. Ends when the slopes of no two tangents are `tolerance` apart.
    """
    slopes = np.empty(shares.shape[0])
    for _ in range(most_moves):
        for tangent in range(shares.shape[0]):
            slopes[tangent] = -offsets[tangent]
            for other in range(shares.shape[0]):
                slopes[tangent] += products[tangent, other] * shares[other]
        low = np.argmin(slopes)
        high = np.argmax(np.where(shares > 0.0, slopes, -np.inf))
        gain = slopes[high] - slopes[low]
        if gain <= tolerance:
            break
        curvature = products[low, low] + products[high, high] - 2.0 * products[low, high]
        move = shares[high] if curvature * shares[high] <= gain else gain / curvature
        shares[low] += move
        shares[high] = 0.0 if move == shares[high] else shares[high] - move
        slopes += move * (products[low] - products[high])
        _settle(products, slopes, low, shares)


@helper()
def _solve(system, values):  # type: ignore[no-untyped-def]
    """Replace values (n,) by the solution of system (n, n), by Gaussian elimination; by 0 where nothing curves."""
    n = values.shape[0]
    for i in range(n):
        for j in range(i + 1, n):
            factor = system[j, i] / system[i, i] if system[i, i] > 0.0 else 0.0
            values[j] -= factor * values[i]
            for k in range(i, n):
                system[j, k] -= factor * system[i, k]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            values[i] -= system[i, k] * values[k]
        values[i] = values[i] / system[i, i] if system[i, i] > 0.0 else 0.0


@helper()
def _settle(products, slopes, low, shares):  # type: ignore[no-untyped-def]
    """Move towards the minimum over the tangents that have a share, until one of them has none left.

    low  a tangent with a share, against which the others' are exchanged
    """
    held = np.flatnonzero((shares > 0.0) & (np.arange(shares.shape[0]) != low))
    n = held.shape[0]
    largest = 0.0
    system = np.empty((n, n))
    moves = slopes[low] - slopes[held]
    for i in range(n):
        for j in range(n):
            k = held[j]
            system[i, j] = products[held[i], k] - products[held[i], low] - products[low, k] + products[low, low]
        largest = max(largest, system[i, i])
    for i in range(n):
        system[i, i] += RIDGE * largest
    _solve(system, moves)
    total = 0.0
    length = 1.0
    blocked = -1
    for i in range(n):
        total += moves[i]
        if moves[i] < 0.0 and shares[held[i]] < -length * moves[i]:
            length = -shares[held[i]] / moves[i]
            blocked = held[i]
    if total > 0.0 and shares[low] < length * total:
        length = shares[low] / total
        blocked = low
    for i in range(n):
        shares[held[i]] += length * moves[i]
    shares[low] -= length * total
    if blocked >= 0:
        shares[blocked] = 0.0


PAIRS = 20  # of steps and changes of the gradient that are remembered
LEAST_FALL = 1e-4  # of the cost, share of what the slope promises (Armijo)
LENGTHS = np.ldexp(1.0, -np.arange(40))  # of steps along a line, in the order in which they are tried
ROUNDING = 1e-12  # share of the cost below which a rise is rounding
ValueAndGradient = Callable[[Floats], tuple[float, Floats]]
Guess = Callable[[Floats], Floats]


def minimise_smooth(
    value_and_gradient: ValueAndGradient,
    n_weights: int,
    guess_here: Callable[[], Guess],
    tolerance: float,
    max_iter: int,
) -> Iterator[Floats]:
    """Yield the weights (n_weights,) after each iteration of minimising a smooth convex cost, from 0.

    It ends when the gradient's norm is `tolerance` times that of the weights.

    Of a cost that holds 1/2 |w|^2 the weights are then within that share of their norm of the minimum.

    guess_here  returns what multiplies a vector (n_weights,) with a guess of the inverse Hessian, positive definite, at
                the weights that the cost was last computed at
    """
    weights = np.zeros(n_weights)
    value, gradient = value_and_gradient(weights)
    pairs: deque[tuple[Floats, Floats]] = deque(maxlen=PAIRS)
    for number in range(max_iter):
        if array_dot(gradient, gradient) <= tolerance**2 * array_dot(weights, weights):
            return
        if number & (number - 1) == 0:
            guess = guess_here()
        direction = _direction(gradient, guess, pairs)
        slope = array_dot(gradient, direction)
        if not slope < 0.0:
            return
        for length in LENGTHS:
            moved = weights + length * direction
            there, new_gradient = value_and_gradient(moved)
            falls = there <= value + LEAST_FALL * length * slope
            level = there <= value + ROUNDING * abs(value)
            if falls or (level and array_dot(new_gradient, direction) <= (2.0 * LEAST_FALL - 1.0) * slope):
                break
        else:  # rounding hides any further fall
            return
        pairs.append((moved - weights, new_gradient - gradient))
        weights = moved
        value = there
        gradient = new_gradient
        yield weights


def _direction(gradient: Floats, guess: Guess, pairs: deque[tuple[Floats, Floats]]) -> Floats:
    """Return minus the approximate inverse Hessian, a guess and what the pairs change in it, times the gradient."""
    direction = -gradient
    shares = []
    for step, change in reversed(pairs):
        share = array_dot(step, direction) / array_dot(step, change)
        direction = direction - share * change
        shares.append(share)
    direction = guess(direction)
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        direction = direction + (share - array_dot(change, direction) / array_dot(step, change)) * step
    return direction


TOLERANCE = 1e-6  # share of the weights' norm by which the minimum may be missed
ROWS_A_WEIGHT = 8  # that a guess of the Hessian is made of
WIDEST_HESSIAN = 1000  # inputs
TINY = 1e-12
WIDEST = 30.0  # largest ratio of the base's unit to its spread, either way


class StandardizedRanker(Ranker):
    """Base class of the rankers that read standardized features."""

    standardizer_: Standardizer

    @abstractmethod
    def _input_scores(self, inputs: Floats) -> Floats:
        """Return the score of each row of inputs (n_rows, n_inputs), (n_rows,)."""

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        blocks = (X[first : first + BLOCK] for first in range(0, len(X), BLOCK))
        parts = [self._input_scores(self.standardizer_.inputs(block)) for block in blocks]
        return np.concatenate([np.empty(0), *parts])

    def _held_out(
        self, valid: TrainingSet | None, unit: float, scores: Callable[[Any, NDArray[np.float32]], Floats]
    ) -> Callable[[Any], Floats]:
        """Return what gives the validation rows' scores under other weights; of no rows where there are none.

        scores  of inputs under these weights, to which the start scores are added, in this unit
        """
        if valid is None:
            return lambda weights: np.empty(0)
        inputs = self.standardizer_.inputs(valid.X, valid.order, np.float32)
        return lambda weights: valid.start_scores + unit * scores(weights, inputs)


@dataclass(eq=False, repr=False)
class LinearRanker(StandardizedRanker):
    """Base class of the linear rankers; a ranker adds its objective.

    The weights minimise 1/2 |w|^2 + C cost((base - m) / u + inputs @ w + b), found from w = 0. Inputs are the
    standardized features (calibration.py); b is an intercept, where the ranker has one; m is the base scores' mean,
    that of each query for a ranker without an intercept; u is the unit in which the base ranker alone costs least, 1
    for a cold start, so that BM25's 20 and a probability's 0.9 start alike: what is stored is w u and b u - m. With
    validation data the best iterate is kept, the base ranker itself among them.
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
    weights_at: ClassVar[str] = "weights_"
    learned: ClassVar[Mapping[str, Any]] = {
        **PROGRESS,
        "standardizer": Standardizer,
        "weights": Floats,
        "intercept": float,
    }

    @abstractmethod
    def _objective(self, train: TrainingSet) -> LabelCost:
        """Return what is minimised, over all queries."""

    @property
    def feature_importances_(self) -> Floats:
        """Size of each feature's weight on standardized values, (n_features,) float64.

        The weight of the input that says whether the feature is missing is added.
        """
        return np.bincount(self.standardizer_.features, np.abs(self.weights_), self.n_features_in_).astype(np.float64)

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        check_pairs(train)
        objective = self._objective(train)
        spread = spread_at_the_top(train)
        start, centre = start_in_units(train, spread, by_query=objective.constant() is None)
        slope = _slope(objective, start)
        unit = spread / slope
        self.standardizer_ = Standardizer.learn(train.X, train.order)
        stopping = self._stopping(valid, context)
        inputs = self.standardizer_.inputs(train.X, train.order, np.float32)
        cost = Cost(inputs, slope * start, objective, self.C, self.has_intercept)
        best = np.zeros(cost.n_weights)
        held_out = self._held_out(valid, unit, linear_scores)
        for weights in self._iterates(cost):
            if stopping.add(held_out(weights)):
                best = weights
            if stopping.over:
                break
        self._follow(stopping)
        n_inputs = self.standardizer_.n_inputs
        self.weights_ = unit * best[:n_inputs]
        self.intercept_ = unit * float(best[n_inputs:].sum()) - centre

    def _iterates(self, cost: Cost) -> Iterator[Floats]:
        """Yield the weights of each iteration towards the minimum; L-BFGS is for smooth costs."""
        return minimise_smooth(cost.value_and_gradient, cost.n_weights, cost.inverse_hessian, TOLERANCE, self.max_iter)

    def _input_scores(self, inputs: Floats) -> Floats:
        return product(inputs, self.weights_) + self.intercept_

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        for first in range(0, len(X), BLOCK):
            added = self.standardizer_.inputs(X[first : first + BLOCK]) * self.weights_
            np.add.at(out[first : first + BLOCK].T, self.standardizer_.features, added.T)
        out[:, -1] += self.intercept_

    def _check_learned(self) -> None:
        self.standardizer_.check_sizes(self.n_features_in_, len(self.weights_))


def _slope(objective: LabelCost, base: Floats) -> float:
    """Return the factor with which base scores (n_rows,), in units of their spread, cost least, up to a constant.

    It is looked for between 1/30 and 30; 1 for a cold start.
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
    """Return where between two numbers a convex function is least, from its derivative."""
    from scipy.optimize import brentq

    if derivative(high) <= 0.0:
        return high
    if derivative(low) >= 0.0:
        return low
    return float(brentq(derivative, low, high, xtol=1e-10))


class Cost:
    """The regularised cost of weights (n_inputs,), the intercept last where there is one."""

    def __init__(self, inputs: NDArray[np.float32], start: Floats, objective: LabelCost, C: float, intercept: bool):
        """Take standardized inputs (n_rows, n_inputs) and the starting scores (n_rows,), in units of the objective."""
        self._inputs = inputs
        self._start = start
        self._objective = objective
        self._C = C
        self._grad, self._hess = np.empty((2, len(start)))
        self.n_weights = inputs.shape[1] + intercept

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """Return 1/2 |w|^2 + C cost and its gradient, (n_weights,) float64."""
        scores = self._start + linear_scores(weights, self._inputs)
        n_inputs = self._inputs.shape[1]
        free = np.where(np.arange(self.n_weights) < n_inputs, weights, 0.0)
        cost = self._objective.cost_and_gradients(scores, self._grad, self._hess)
        slope = np.full(self.n_weights, self._grad.sum())
        slope[:n_inputs] = cross_product(self._grad[:, None], self._inputs)[0]
        return 0.5 * array_dot(free, free) + self._C * cost, free + self._C * slope

    def inverse_hessian(self) -> Guess:
        """Return what multiplies (n_weights,) with about the inverse Hessian at the weights that were given last.

        It is that of some of the rows, by the objective's `hess`; where inputs are more than a thousand, of the
        diagonal alone. Where a constant changes no cost, inputs count by their distance from their query's mean.
        """
        rows, curvatures = _drawn(self._hess, ROWS_A_WEIGHT * self.n_weights)
        inputs = np.ones((len(rows), self.n_weights))
        inputs[:, : self._inputs.shape[1]] = self._inputs[rows]
        if self._objective.constant() is None:
            inputs -= _query_means(inputs, curvatures, query_rows(self._objective.query_ptr)[rows])
        if self.n_weights <= WIDEST_HESSIAN:
            return partial(product, inverse(self._C * gram(inputs, curvatures) + np.eye(self.n_weights)))
        diagonal = cross_product(curvatures[:, None], inputs**2)[0]
        return partial(np.multiply, 1.0 / (self._C * diagonal + 1.0))


def _drawn(curvatures: Floats, n_draws: int) -> tuple[Ints, Floats]:
    """Return some rows, ascending, and their curvatures, whose sum is that of all rows.

    Draws are the same curvature apart: rows with much of it are drawn for certain, of the others each nth.
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
    """Return inputs (n_rows, n_inputs) times weights, (n_rows,) float64; one weight more is an intercept."""
    n_inputs = inputs.shape[1]
    return product(inputs, weights[:n_inputs]) + weights[n_inputs:].sum()  # type: ignore[no-any-return]


@register("logisticregression")
@dataclass(eq=False, repr=False)
class LogisticRegression(LinearRanker):
    """Linear model of the log-odds that a document is relevant (has a label above 0).

        1/2 |w|^2 + C sum over documents of log(1 + exp(-y s)),    s = base + inputs @ w + b,  y in {-1, 1}

    The intercept b is not penalised. Each document has the weight of its query.
    """

    has_intercept = True

    def _objective(self, train: TrainingSet) -> LabelCost:
        return Logistic(train.query_ptr, train.weights, train.labels, sigma=0.5)


@register("plackettluce")
@dataclass(eq=False, repr=False)
class PlackettLuce(LinearRanker):
    """Linear ranker that maximises the Plackett-Luce likelihood of the judged order.

        1/2 |w|^2 - C sum over queries of log P(judged order)
        P = product over documents i of exp(s_i) / (exp(s_i) + sum over j with l_j < l_i of exp(s_j))

    Documents with equal labels have no order: each is compared only with itself and the documents with lower labels.

    References
    ----------
    R. Plackett, The analysis of permutations, Applied Statistics 24, 1975.
    F. Xia et al., Listwise approach to learning to rank (ListMLE), ICML 2008, section 4.

    """

    def _objective(self, train: TrainingSet) -> LabelCost:
        return PlackettLuceObjective(train.query_ptr, train.weights, train.labels)


HINGE_TOLERANCE = 1e-3  # share of the weights' norm by which the minimum may be missed


@register("ranksvm")
@dataclass(eq=False, repr=False)
class RankSVM(LinearRanker):
    """Linear ranker that minimises the pairwise hinge.

        1/2 |w|^2 + C sum over queries of the mean over pairs with l_i > l_j of max(0, 1 - (s_i - s_j))

    The cost of a query is multiplied by its weight, whatever its number of pairs. The minimum is unique; the bundle
    method finds its weights to within a thousandth.

    References
    ----------
    T. Joachims, Optimizing search engines using clickthrough data, KDD 2002.
    R. Herbrich, T. Graepel and K. Obermayer, Large margin rank boundaries for ordinal regression, 2000.

    """

    C: float = parameter(
        0.1,
        Number(1e-12, 1e12),
        "Inverse of the regularisation strength, as in scikit-learn: smaller values regularise more.",
        search=(0.001, 0.01, 0.1, 1.0, 10.0),
    )

    max_iter: int = parameter(1000, Whole(1, 1_000_000), "Maximum number of iterations.")

    def _objective(self, train: TrainingSet) -> LabelCost:
        return Hinge(train.query_ptr, train.weights / pair_counts(train), train.labels)

    def _iterates(self, cost: Cost) -> Iterator[Floats]:
        return minimise_by_bundle(cost.value_and_gradient, cost.n_weights, HINGE_TOLERANCE, self.max_iter)

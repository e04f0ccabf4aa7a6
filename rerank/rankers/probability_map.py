"""Maps from a few inputs to a probability.

A map is logistic, with coefficients of at least 0 where an order must be kept. Where there are many positive rows,
isotonic regression of the logistic score corrects its shape; the means of its blocks are joined by lines, so that an
order is kept between them as well (Oron and Flournoy, Centered Isotonic Regression, Statistics in Biopharmaceutical
Research 9(3), 2017).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.elementary import array_exp, softplus
from rerank.runtime.fields import LARGEST_FLOAT32, Array, SchemaError, check_length
from rerank.runtime.products import array_dot, cross_product, gram, inverse_matrix, product
from rerank.runtime.sums import total
from rerank.types import Floats

MANY = 1000  # positive rows from which isotonic regression corrects the shape
RIDGE = 1.0  # penalty of half a squared coefficient, added to the sum of the rows' costs
LOWEST = 1e-6  # least probability: float32 tells about a million smaller values apart, for the order of documents
LEAST_CURVATURE = 1e-12  # share of the rows' weights
MOST_STEPS = 100
MOST_HALVINGS = 40
CONVERGED = 1e-9  # share of the cost that a step still saves


@dataclass(frozen=True, eq=False)
class LogisticMap:
    """Coefficients of the inputs, and the points of the isotonic part (none where there are few positive rows).

    coefficients  (n_inputs + 1,), the intercept last
    margins       (n_points,), logistic scores, strictly rising
    shares        (n_points,), the probability at each margin, not falling
    """

    coefficients: Floats
    margins: Floats
    shares: Annotated[Floats, Array(low=0.0, high=1.0)]

    @classmethod
    def fit(
        cls,
        inputs: Floats,
        positive: NDArray[np.bool_],
        n_ordered: int,
        weights: Floats | None = None,
        shared: float = 1.0,
    ) -> Self:
        """Learn from inputs (n_rows, n_inputs) of standard deviations near 1.

        n_ordered  the first inputs, whose coefficients are at least 0
        weights    of the rows, (n_rows,); with weights there is no isotonic regression
        shared     number of rows with equal values of the other inputs: together they tell as much as one row, so the
                   penalty of these inputs is multiplied by this number
        """
        row_weights = np.ones(len(inputs)) if weights is None else weights
        coefficients = _coefficients(inputs, positive, n_ordered, row_weights, shared)
        if weights is not None or positive.sum() < MANY:
            return cls(coefficients, np.empty(0), np.empty(0))
        return cls(coefficients, *_isotonic(_margins(inputs, coefficients), positive))

    def probabilities(self, inputs: Floats) -> Floats:
        """Return the probability of each row, (n_rows,): it does not fall where the ordered inputs rise."""
        margins = _margins(inputs, self.coefficients)
        shares = np.interp(margins, self.margins, self.shares) if len(self.margins) else logistic(margins)
        return np.asarray(np.clip(shares, LOWEST, 1.0 - LOWEST))

    def check(self) -> None:
        """Raise SchemaError unless the points rise."""
        check_length(self.shares, len(self.margins), "shares")
        for name, least in (("margins", np.nextafter(0.0, 1.0)), ("shares", 0.0)):
            if (np.diff(getattr(self, name)) < least).any():
                raise SchemaError("numbers that rise", "others", path=name)


def logistic(margins: Floats) -> Floats:
    """Return 1 / (1 + exp(-margin)) of each margin."""
    small = array_exp(-np.abs(margins))
    return np.asarray(np.where(margins >= 0.0, 1.0, small) / (1.0 + small))


def _margins(inputs: Floats, coefficients: Floats) -> Floats:
    """Return the logistic score of each row: sums are in the order of the inputs, so that rounding keeps an order."""
    margins = np.zeros(len(inputs))
    for column, coefficient in zip(inputs.T, coefficients[:-1], strict=True):
        margins = margins + coefficient * column
    return np.asarray(np.clip(margins + coefficients[-1], -LARGEST_FLOAT32, LARGEST_FLOAT32))


def _coefficients(
    inputs: Floats, positive: NDArray[np.bool_], n_ordered: int, weights: Floats, shared: float
) -> Floats:
    """Return the coefficients that minimise the penalised cost; the arguments are those of `LogisticMap.fit`."""
    rows = np.column_stack([inputs, np.ones(len(inputs))])
    number = np.arange(rows.shape[1])
    bounded = number < n_ordered
    penalty = np.where(bounded, RIDGE, RIDGE * shared) * (number < rows.shape[1] - 1)
    sign = np.where(positive, -1.0, 1.0)

    def cost(at: Floats) -> float:
        return array_dot(weights, softplus(sign * product(rows, at))) + 0.5 * array_dot(penalty, at * at)

    def derivatives(at: Floats) -> tuple[Floats, Floats]:
        shares = logistic(product(rows, at))
        gradient = cross_product((weights * (shares - positive))[:, None], rows)[0] + penalty * at
        curvature = gram(rows, weights * shares * (1.0 - shares))
        return gradient, curvature + np.diag(penalty + LEAST_CURVATURE * total(weights))

    return least_within_bounds(cost, derivatives, np.zeros(rows.shape[1]), bounded)


def least_within_bounds(
    cost: Callable[[Floats], float],
    derivatives: Callable[[Floats], tuple[Floats, Floats]],
    start: Floats,
    bounded: NDArray[np.bool_],
) -> Floats:
    """Return the weights (n,) that minimise a convex cost; the `bounded` ones are at least 0.

    A bounded weight stays at 0 while its gradient is positive; the others take Newton's step, halved until the cost
    falls (D. Bertsekas, Projected Newton Methods, SIAM Journal on Control and Optimization 20(2), 1982).

    derivatives  returns the gradient (n,) and a curvature (n, n), positive definite
    start        (n,) weights of the first step
    """
    now = start
    value = cost(now)
    for _ in range(MOST_STEPS):
        gradient, curvature = derivatives(now)
        free = np.flatnonzero(~(bounded & (now <= 0.0) & (gradient > 0.0)))
        step = np.zeros(len(now))
        step[free] = product(inverse_matrix(curvature[np.ix_(free, free)]), gradient[free])
        before = value
        for _ in range(MOST_HALVINGS):
            moved = np.where(bounded, np.maximum(now - step, 0.0), now - step)
            lower = cost(moved)
            if lower < value:
                now = moved
                value = lower
                break
            step = step / 2.0
        if before - value <= CONVERGED * value:
            break
    return now


def _isotonic(margins: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the mean margin and the share of positive rows of each block of isotonic regression.

    A share is computed with half a row of each kind added, so that a block of few rows does not have 0 or 1. Blocks
    whose shares fall because of this are merged.
    """
    from scipy.optimize import isotonic_regression

    distinct, rows = np.unique(margins, return_inverse=True)
    counts = np.bincount(rows)
    hits = np.bincount(rows, positive.astype(np.float64))
    first = np.asarray(isotonic_regression(hits / counts, weights=counts).blocks)[:-1]
    pooled: list[Floats] = []  # of each block: its rows, its positive rows, and the sum of their margins
    for sums in np.add.reduceat(np.column_stack([counts, hits, distinct * counts]), first):
        pooled.append(sums)
        while len(pooled) > 1 and _smoothed(pooled[-2]) > _smoothed(pooled[-1]):
            pooled[-2:] = [pooled[-2] + pooled[-1]]
    means = np.array([margin / n_rows for n_rows, _, margin in pooled])
    shares = np.array([_smoothed(sums) for sums in pooled])
    rising = np.append(True, np.diff(means) > 0.0)
    return means[rising], shares[rising]


def _smoothed(sums: Floats) -> float:
    """Return the share of positive rows of a block of `_isotonic`."""
    return float((sums[1] + 0.5) / (sums[0] + 1.0))

"""A map from a few inputs to a probability: logistic, with coefficients of at least 0 where an order must be kept.

Where there are many positive rows, isotonic regression of the logistic score corrects its shape; the means of its
blocks are joined by lines, so that an order is kept between them as well (Oron and Flournoy, Centered Isotonic
Regression, Statistics in Biopharmaceutical Research 9(3), 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.elementary import array_exp, softplus
from rerank.runtime.products import cross_product, dot, gram, inverse, product
from rerank.runtime.schema import LARGEST, Array, Field, Record, SchemaError, Sizes
from rerank.types import Floats

MANY = 1000  # positive rows from which the shape is free
RIDGE = 1.0  # penalty of half a squared coefficient, beside the sum of the rows' costs
LOWEST = 1e-6  # least probability: float32 tells about a million smaller values apart, for the order of documents
LEAST_CURVATURE = 1e-12  # share of the rows' weights
MOST_STEPS, MOST_HALVINGS = 100, 40
CONVERGED = 1e-9  # share of the cost that a step still saves


@dataclass(frozen=True, eq=False)
class LogisticMap:
    """Coefficients of the inputs, and the points of the isotonic part, of which there are none with few positives.

    coefficients  (n_inputs + 1,), the intercept last
    margins       (n_points,), rising logistic scores; `shares` (n_points,) are their probabilities, not falling
    """

    coefficients: Floats
    margins: Floats
    shares: Floats

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
        weights    of the rows, (n_rows,); isotonic regression is for rows without
        shared     number of rows that have the same other inputs: together they say as much as one, and so the penalty
                   of these inputs is as many times as high
        """
        rows = _Rows(inputs, positive, n_ordered, np.ones(len(inputs)) if weights is None else weights, shared)
        coefficients = rows.coefficients()
        if weights is not None or positive.sum() < MANY:
            return cls(coefficients, np.empty(0), np.empty(0))
        return cls(coefficients, *_isotonic(_margins(inputs, coefficients), positive))

    def probabilities(self, inputs: Floats) -> Floats:
        """Return the probability of each row, (n_rows,): it does not fall where the ordered inputs rise."""
        margins = _margins(inputs, self.coefficients)
        shares = np.interp(margins, self.margins, self.shares) if len(self.margins) else logistic(margins)
        clipped: Floats = np.clip(shares, LOWEST, 1.0 - LOWEST)
        return clipped

    def to_dict(self) -> dict[str, Any]:
        """Return the map as plain JSON values."""
        return {name: getattr(self, name).tolist() for name in ("coefficients", "margins", "shares")}


@dataclass(frozen=True)
class StoredMap(Field):
    """A `LogisticMap` of `n_inputs` inputs, before which there are `n_ordered` with coefficients of at least 0."""

    n_ordered: int

    def read(self, value: Any, sizes: Sizes) -> LogisticMap:
        """Return the map."""
        shares = Array(np.float64, "n_points", low=0.0, high=1)
        points = {"margins": Array(np.float64, binds="n_points"), "shares": shares}
        coefficients = Array(np.float64, lambda sizes: self.n_ordered + sizes["n_inputs"] + 1)
        stored = LogisticMap(**Record({"coefficients": coefficients, **points}).read(value, sizes))
        if (stored.coefficients[: self.n_ordered] < 0.0).any():
            raise SchemaError("coefficients of at least 0", "others", path="coefficients")
        for name, least in (("margins", np.nextafter(0.0, 1.0)), ("shares", 0.0)):
            if (np.diff(getattr(stored, name)) < least).any():
                raise SchemaError("numbers that rise", "others", path=name)
        return stored


def logistic(margins: Floats) -> Floats:
    """Return 1 / (1 + exp(-margin)) of each margin."""
    small = array_exp(-np.abs(margins))
    shares: Floats = np.where(margins >= 0.0, 1.0, small) / (1.0 + small)
    return shares


def _margins(inputs: Floats, coefficients: Floats) -> Floats:
    """Return the logistic score of each row: sums are in the order of the inputs, so that rounding keeps an order."""
    margins = np.zeros(len(inputs))
    for column, coefficient in zip(inputs.T, coefficients[:-1], strict=True):
        margins = margins + coefficient * column
    clipped: Floats = np.clip(margins + coefficients[-1], -LARGEST, LARGEST)
    return clipped


@dataclass(frozen=True, eq=False)
class _Rows:
    """What a logistic model learns from; the arguments are those of `LogisticMap.fit`."""

    inputs: Floats
    positive: NDArray[np.bool_]
    n_ordered: int
    weights: Floats
    shared: float

    def coefficients(self) -> Floats:
        """Minimise the penalised cost by Newton steps, projected onto the bounds.

        A bounded coefficient stays at 0 while its gradient is positive; the others take Newton's step, halved until the
        cost falls (D. Bertsekas, Projected Newton Methods, SIAM Journal on Control and Optimization 20(2), 1982).
        """
        rows, weights = np.column_stack([self.inputs, np.ones(len(self.inputs))]), self.weights
        number = np.arange(rows.shape[1])
        bounded = number < self.n_ordered
        penalty = np.where(bounded, RIDGE, RIDGE * self.shared) * (number < rows.shape[1] - 1)
        sign = np.where(self.positive, -1.0, 1.0)

        def cost(at: Floats) -> float:
            return dot(weights, softplus(sign * product(rows, at))) + 0.5 * dot(penalty, at * at)

        now = np.zeros(rows.shape[1])
        value = cost(now)
        for _ in range(MOST_STEPS):
            shares = logistic(product(rows, now))
            gradient = cross_product((weights * (shares - self.positive))[:, None], rows)[0] + penalty * now
            free = np.flatnonzero(~(bounded & (now <= 0.0) & (gradient > 0.0)))
            curvature = gram(rows[:, free], weights * shares * (1.0 - shares))
            hessian = curvature + np.diag(penalty[free] + LEAST_CURVATURE * weights.sum())
            step = np.zeros(len(now))
            step[free] = product(inverse(hessian), gradient[free])
            moved, lower = _shorter(cost, now, value, step, bounded)
            saved, now, value = value - lower, moved, lower
            if saved <= CONVERGED * value:
                break
        return now


def _shorter(cost: Any, now: Floats, value: float, step: Floats, bounded: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Return coefficients of a lower cost along a step, and the cost; the old ones where there are none."""
    for _ in range(MOST_HALVINGS):
        moved = now - step
        moved[bounded] = np.maximum(moved[bounded], 0.0)
        lower = cost(moved)
        if lower < value:
            return moved, lower
        step = step / 2.0
    return now, value


def _isotonic(margins: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the mean margin and the share of positive rows of each block of isotonic regression.

    Shares are those of half a row more of each kind, so that no block of few rows says 0 or 1.
    """
    from scipy.optimize import isotonic_regression

    distinct, rows = np.unique(margins, return_inverse=True)
    counts, hits = np.bincount(rows), np.bincount(rows, positive.astype(np.float64))
    first = np.asarray(isotonic_regression(hits / counts, weights=counts).blocks)[:-1]
    n_rows, n_positive = np.add.reduceat(counts, first), np.add.reduceat(hits, first)
    means = np.add.reduceat(distinct * counts, first) / n_rows
    shares = np.maximum.accumulate((n_positive + 0.5) / (n_rows + 1.0))
    kept = np.append(True, np.diff(means) > 0.0)
    return means[kept], shares[kept]

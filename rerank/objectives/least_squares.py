"""Least squares on the labels, the cost of MART for regression.

    L = 1/2 (F - l)^2,    -dL/dF = l - F,    d2L/dF^2 = 1

so that a leaf's Newton step is the mean residual. A query's weight is the weight of each of its rows.

`least_squares` in `tests/oracles/objectives.py` and `tests/oracles/limits.py` is the slow form.

References
----------
J. Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics 29, 2001.
C. Burges, MSR-TR-2010-82, section 5.

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.objectives.base import LabelObjective
from rerank.objectives.registry import register
from rerank.types import Floats

LARGEST = float(np.finfo(np.float64).max)


@register("least-squares")
@dataclass(frozen=True, eq=False)
class LeastSquares(LabelObjective):
    """Half the squared distance of scores from labels; parameters as in `LabelObjective`."""

    def cost(self, scores: Floats) -> float:
        """Return the sum of the rows' costs at `scores` (n_rows,) float64."""
        with np.errstate(over="ignore"):
            squares = np.minimum((scores - self.labels) ** 2, LARGEST)  # finite, so that a weight of 0 times it is 0
            return float(0.5 * np.sum(self._row_weights() * squares))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        hess[:] = self._row_weights()
        grad[:] = hess * (scores - self.labels)

    def constant(self) -> float:
        """Return the mean label."""
        weights = self._row_weights()
        return float(np.average(self.labels, weights=weights)) if weights.any() else 0.0

    def _row_weights(self) -> Floats:
        """Return the weight of each row's query, (n_rows,) float64."""
        return np.repeat(self.weights, np.diff(self.query_ptr))

"""Two-class logistic cost.

With y = 1 for a positive label, else -1, and ybar = 2 y sigma / (1 + exp(2 y sigma F)):

    L        = log(1 + exp(-2 y sigma F))
    -dL/dF   = ybar
    d2L/dF^2 = |ybar| (2 sigma - |ybar|)

so that a leaf's Newton step is sum ybar / sum |ybar| (2 sigma - |ybar|), as in section 6. A query's weight is the
weight of each of its rows.

`logistic` in `tests/oracles/objectives.py` and `tests/oracles/limits.py` is the slow form.

References
----------
C. Burges, MSR-TR-2010-82, section 6.

"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rerank.objectives.base import LabelObjective
from rerank.objectives.registry import register
from rerank.runtime.elementary import array_exp, array_log, softplus
from rerank.types import Floats

LARGEST = float(np.finfo(np.float64).max)
LEAST_SHARE = 1e-6  # of a class in `constant`: it would be infinite where all rows are of one class


@register("logistic")
@dataclass(frozen=True, eq=False)
class Logistic(LabelObjective):
    """Two-class logistic cost.

    Parameters
    ----------
    query_ptr, weights, labels
        As in `LabelObjective`; labels above 0 are positive.
    sigma : float
        Half the slope of the logistic, 1 / score unit.

    """

    sigma: float = 1.0

    def cost(self, scores: Floats) -> float:
        """Return the sum of the rows' costs at `scores` (n_rows,) float64."""
        return float(np.sum(self._row_weights * softplus(-self._margins(scores))))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        response = 2.0 * self.sigma * array_exp(-softplus(self._margins(scores)))  # |ybar|
        grad[:] = -self._row_weights * self._classes * response
        hess[:] = self._row_weights * response * (2.0 * self.sigma - response)

    def constant(self) -> float:
        """Return the score at which all rows together cost least: ln(w+ / w-) / (2 sigma), w the classes' weights."""
        weights, positive = self._row_weights, self._classes > 0.0
        share = weights[positive].sum() / weights.sum() if weights.any() else 0.5
        share = min(max(share, LEAST_SHARE), 1.0 - LEAST_SHARE)
        return float(array_log(share / (1.0 - share)) / (2.0 * self.sigma))

    def _margins(self, scores: Floats) -> Floats:
        """Return 2 y sigma F, finite for any finite score, so that a weight of 0 times its cost is 0."""
        with np.errstate(over="ignore"):
            return np.clip(2.0 * self.sigma * self._classes * scores, -LARGEST, LARGEST)

    @cached_property
    def _classes(self) -> Floats:
        """1 for a positive label, else -1, (n_rows,) float64."""
        return np.where(self.labels > 0.0, 1.0, -1.0)

    @cached_property
    def _row_weights(self) -> Floats:
        """What each row's cost is multiplied by, (n_rows,) float64."""
        return np.repeat(self.weights, np.diff(self.query_ptr))

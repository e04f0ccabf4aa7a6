"""LogistRank's cost: pointwise logistic, with larger weights for the best labels.

With y = 1 for the upper half of the grades (label >= half of the best label), else -1, and scale 3 for the best label,
2 for the next, 1 for the others:

    L       = scale log(1 + exp(-y F))
    -dL/dF  = ytilde = scale y / (1 + exp(y F))
    hess    = |ytilde (2 - |ytilde|)|
    F_0     = mean of y

Conventions. Below the half, scale is 1, as for the paper's two lowest of five grades, so that two grades have 3 and 1.
With scale 3 |ytilde| can exceed 2, where 2 - |ytilde| is negative: hence the absolute value of the product. hess is
that of the paper, not the second derivative; it is 0 at |ytilde| = 2, where `min_child_weight` keeps leaves from being
unbounded. A query's weight is that of each of its rows.

`logistrank` in `tests/oracles/objectives.py` is the slow form.

References
----------
D. Yin et al., Ranking Relevance in Yahoo Search, KDD 2016.

"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rerank.objectives.base import LabelObjective
from rerank.objectives.registry import register
from rerank.runtime.elementary import array_exp, softplus
from rerank.types import Floats


@register("logistrank")
@dataclass(frozen=True, eq=False)
class LogistRankObjective(LabelObjective):
    """Pointwise logistic cost, scaled by label; parameters as in `LabelObjective`."""

    def cost(self, scores: Floats) -> float:
        """Return the sum of the rows' costs at `scores` (n_rows,) float64."""
        return float(np.sum(self._row_weights * self._scales * softplus(-self._classes * scores)))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64: the first derivative at `scores`, and the paper's curvature."""
        response = self._scales * array_exp(-softplus(self._classes * scores))  # |ytilde|
        grad[:] = -self._row_weights * self._classes * response
        hess[:] = self._row_weights * np.abs(response * (2.0 - response))

    def constant(self) -> float:
        """Return the mean of y, -1 to 1."""
        weights = self._row_weights
        return float(np.average(self._classes, weights=weights)) if weights.any() else 0.0

    @cached_property
    def _classes(self) -> Floats:
        """1 for the upper half of the grades, else -1, (n_rows,) float64."""
        best = self.labels.max(initial=0.0)
        return np.where((self.labels > 0.0) & (self.labels >= best / 2.0), 1.0, -1.0)

    @cached_property
    def _scales(self) -> Floats:
        """What each row's cost is multiplied by for its label, (n_rows,) float64."""
        from_best = self.labels.max(initial=0.0) - self.labels
        return np.where(self._classes > 0.0, np.maximum(3.0 - from_best, 1.0), 1.0)

    @cached_property
    def _row_weights(self) -> Floats:
        """The weight of each row's query, (n_rows,) float64."""
        return np.repeat(self.weights, np.diff(self.query_ptr))

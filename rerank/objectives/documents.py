"""Costs of single documents: least squares, two-class logistic, balanced, and LogistRank's.

A row weighs as its query does, times its own weight. `tests/oracles/objectives.py` and `tests/oracles/limits.py` have
the slow forms.

References
----------
J. Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics 29, 2001.
C. Burges, MSR-TR-2010-82, sections 2 (RankNet), 5 and 6.
D. Yin et al., Ranking Relevance in Yahoo Search, KDD 2016.

"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rerank.objectives.base import LabelCost, LabelObjective, register
from rerank.runtime.elementary import array_exp, array_log, softplus
from rerank.runtime.sums import mean, total
from rerank.types import Floats


@register("least-squares")
@dataclass(frozen=True, eq=False)
class LeastSquares(LabelObjective):
    """Half the squared distance of scores from labels, MART's cost for regression; parameters as in `LabelObjective`.

        L = 1/2 (F - l)^2,    -dL/dF = l - F,    d2L/dF^2 = 1

    so that a leaf's Newton step is the mean residual.
    """

    weighs_rows: ClassVar[bool] = True

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        hess[:] = self.row_weights
        grad[:] = hess * (scores - self.labels)

    def constant(self) -> float:
        """Return the mean label."""
        weights = self.row_weights
        return mean(self.labels, weights) if weights.any() else 0.0


LARGEST_MARGIN = 1e300  # finite, so that 0 times its cost is 0
LEAST_SHARE = 1e-6  # of a class in `constant`, which would be infinite where all rows are of one class


@register("logistic")
@dataclass(frozen=True, eq=False)
class Logistic(LabelCost):
    """Two-class logistic cost.

    With y = 1 for a positive label, else -1, and ybar = 2 y sigma / (1 + exp(2 y sigma F)):

        L        = log(1 + exp(-2 y sigma F))
        -dL/dF   = ybar
        d2L/dF^2 = |ybar| (2 sigma - |ybar|)

    so that a leaf's Newton step is sum ybar / sum |ybar| (2 sigma - |ybar|), as in Burges 2010, section 6.

    Parameters
    ----------
    query_ptr, weights, labels
        As in `LabelObjective`; labels above 0 are positive.
    sigma : float
        Half the slope of the logistic, 1 / score unit.

    """

    weighs_rows: ClassVar[bool] = True

    sigma: float = 1.0

    def cost_and_gradients(self, scores: Floats, grad: Floats, hess: Floats) -> float:
        """Return the cost, and fill grad and hess with its derivatives."""
        margins = np.clip(2.0 * self.sigma * self._classes * scores, -LARGEST_MARGIN, LARGEST_MARGIN)
        response = 2.0 * self.sigma * array_exp(-softplus(margins))  # |ybar|
        grad[:] = -self.row_weights * self._classes * response
        hess[:] = self.row_weights * response * (2.0 * self.sigma - response)
        return total(self.row_weights * softplus(-margins))

    def constant(self) -> float:
        """Return the score at which all rows together cost least: ln(w+ / w-) / (2 sigma), w the classes' weights."""
        weights = self.row_weights
        share = total(weights[self._classes > 0.0]) / total(weights) if weights.any() else 0.5
        share = min(max(share, LEAST_SHARE), 1.0 - LEAST_SHARE)
        return float(array_log(share / (1.0 - share)) / (2.0 * self.sigma))

    @cached_property
    def _classes(self) -> Floats:
        """1 for a positive label, else -1, (n_rows,) float64."""
        return np.where(self.labels > 0.0, 1.0, -1.0)


@register("balanced-logistic")
@dataclass(frozen=True, eq=False)
class BalancedLogistic(Logistic):
    """Two-class logistic cost, each class with half of the weight (Burges 2010, section 6.1, equation 15).

    Parameters as in `Logistic`. With n+ rows of positive label and n- others, a row has the weight w = 1 / n+ or
    1 / n-, so that both classes count equally. w multiplies the terms of both sums of a leaf:

        sum w ybar / sum w |ybar| (2 sigma - |ybar|)

    which is not the step of weighted responses, sum (w ybar) / sum |w ybar| (2 sigma - |w ybar|). Conventions: n+ and
    n- are sums of row weights, and w is multiplied by half of n+ + n-, so that it is 1 where n+ = n-.
    """

    @cached_property
    def row_weights(self) -> Floats:
        """Weight of each row's cost, (n_rows,) float64."""
        rows = super().row_weights
        half = total(rows) / 2.0
        weights = rows.copy()
        for members in (self._classes > 0.0, self._classes < 0.0):
            weights[members] *= half / total(rows[members]) if rows[members].any() else 1.0
        return weights


@register("logistrank")
@dataclass(frozen=True, eq=False)
class LogistRankObjective(LabelObjective):
    """Pointwise logistic cost with larger weights for the best labels; parameters as in `LabelObjective`.

    With y = 1 for the upper half of the grades (label >= half of the best label), else -1, and scale 3 for the best
    label, 2 for the next, 1 for the others:

        L       = scale log(1 + exp(-y F))
        -dL/dF  = ytilde = scale y / (1 + exp(y F))
        hess    = |ytilde (2 - |ytilde|)|
        F_0     = mean of y

    Conventions. Below the half, scale is 1, as for the paper's two lowest of five grades; with two grades the scales
    are 3 and 1. With scale 3, |ytilde| can exceed 2, where 2 - |ytilde| is negative: hence the absolute value of the
    product. hess is that of the paper, not the second derivative; it is 0 at |ytilde| = 2, where `min_child_weight`
    keeps leaves from being unbounded.
    """

    weighs_rows: ClassVar[bool] = True

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64: the first derivative at `scores`, and the paper's curvature."""
        response = self._scales * array_exp(-softplus(self._classes * scores))  # |ytilde|
        grad[:] = -self.row_weights * self._classes * response
        hess[:] = self.row_weights * np.abs(response * (2.0 - response))

    def constant(self) -> float:
        """Return the mean of y, -1 to 1."""
        weights = self.row_weights
        return mean(self._classes, weights) if weights.any() else 0.0

    @cached_property
    def _classes(self) -> Floats:
        """1 for the upper half of the grades, else -1, (n_rows,) float64."""
        best = self.labels.max(initial=0.0)
        return np.where((self.labels > 0.0) & (self.labels >= best / 2.0), 1.0, -1.0)

    @cached_property
    def _scales(self) -> Floats:
        """Scale of each row's cost by its label, (n_rows,) float64."""
        from_best = self.labels.max(initial=0.0) - self.labels
        return np.where(self._classes > 0.0, np.maximum(3.0 - from_best, 1.0), 1.0)

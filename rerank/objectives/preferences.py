"""Pairwise logistic cost of given pairs, each with the probability that its first document is better.

RankNet asks for nothing but pairs (Burges 2010, section 2): they may contradict each other, return, and carry a
measured probability Pbar in place of 0, 1/2 and 1. With P = 1 / (1 + exp(-sigma (s_i - s_j))):

    C          = -Pbar log P - (1 - Pbar) log(1 - P) = (1 - Pbar) sigma (s_i - s_j) + log(1 + exp(-sigma (s_i - s_j)))
    lambda_ij  = sigma (P - Pbar)
    d2C/ds_i^2 = sigma^2 P (1 - P)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.objectives.base import Objective
from rerank.types import Floats, Ints

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class PreferencePairs(Objective):
    """Pairwise logistic cost of listed pairs.

    first_row, second_row  (n_pairs,) int64, rows of one query
    probability            (n_pairs,) float64, 0 to 1, that the first is better
    weights                (n_pairs,) float64, multiplied into the cost of each pair
    sigma                  slope of the logistic, 1 / score unit
    """

    first_row: Ints
    second_row: Ints
    probability: Floats
    weights: Floats
    sigma: float = 1.0

    def cost(self, scores: Floats) -> float:
        """Return the sum of the pairs' costs at `scores` (n_rows,) float64."""
        margins = self._margins(scores)
        with np.errstate(over="ignore"):  # beyond float64 a cost is infinite
            return float(self.weights @ ((1.0 - self.probability) * margins + np.logaddexp(0.0, -margins)))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        modelled = np.exp(-np.logaddexp(0.0, -self._margins(scores)))
        pulls = self.weights * self.sigma * (modelled - self.probability)
        curvatures = self.weights * self.sigma**2 * modelled * (1.0 - modelled)
        n_rows = len(scores)
        grad[:] = np.bincount(self.first_row, pulls, n_rows) - np.bincount(self.second_row, pulls, n_rows)
        hess[:] = np.bincount(self.first_row, curvatures, n_rows) + np.bincount(self.second_row, curvatures, n_rows)

    def _margins(self, scores: Floats) -> Floats:
        """Return sigma (s_i - s_j), finite for finite scores of any size."""
        with np.errstate(over="ignore"):
            return np.clip(self.sigma * (scores[self.first_row] - scores[self.second_row]), -LARGEST, LARGEST)

"""Costs of listed pairs, each with the probability that its first document is better: logistic, and exponential.

RankNet needs pairs only: they may contradict each other, occur several times, and have a measured probability Pbar
instead of 0, 1/2 and 1. With P = 1 / (1 + exp(-sigma (s_i - s_j))):

    C          = -Pbar log P - (1 - Pbar) log(1 - P) = (1 - Pbar) sigma (s_i - s_j) + log(1 + exp(-sigma (s_i - s_j)))
    lambda_ij  = sigma (P - Pbar)
    d2C/ds_i^2 = sigma^2 P (1 - P)

RankBoost's exponential cost counts a pair in either direction, by its probability:

    C          = Pbar exp(-(s_i - s_j)) + (1 - Pbar) exp(s_i - s_j)

References
----------
C. Burges, MSR-TR-2010-82, section 2 (RankNet).
Y. Freund et al., An Efficient Boosting Algorithm for Combining Preferences, JMLR 4, 2003 (RankBoost).

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.objectives.base import Objective
from rerank.runtime.numerics import array_exp, softplus
from rerank.types import Floats, Ints

LARGEST = float(np.finfo(np.float64).max)
WIDEST = 600.0  # difference of scores: exp(710) overflows


@dataclass(frozen=True, eq=False)
class PreferencePairs(Objective):
    """Pairwise logistic cost of listed pairs.

    Parameters
    ----------
    first_row, second_row : int64 arrays of shape (n_pairs,)
        Rows of one query.
    probability : float64 array of shape (n_pairs,)
        That the first is better, 0 to 1.
    weights : float64 array of shape (n_pairs,)
        Multiplied into the cost of each pair.
    sigma : float
        Slope of the logistic, 1 / score unit.

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
            return float(np.sum(self.weights * ((1.0 - self.probability) * margins + softplus(-margins))))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        modelled = array_exp(-softplus(-self._margins(scores)))
        slopes = self.weights * self.sigma * (modelled - self.probability)
        curvatures = self.weights * self.sigma**2 * modelled * (1.0 - modelled)
        n_rows = len(scores)
        grad[:] = np.bincount(self.first_row, slopes, n_rows) - np.bincount(self.second_row, slopes, n_rows)
        hess[:] = np.bincount(self.first_row, curvatures, n_rows) + np.bincount(self.second_row, curvatures, n_rows)

    def _margins(self, scores: Floats) -> Floats:
        """Return sigma (s_i - s_j), finite for finite scores of any size."""
        with np.errstate(over="ignore"):
            return np.clip(self.sigma * (scores[self.first_row] - scores[self.second_row]), -LARGEST, LARGEST)


@dataclass(frozen=True, eq=False)
class ExponentialPairs(Objective):
    """Pairwise exponential cost of listed pairs; first_row, second_row, probability, weights as in `PreferencePairs`.

    Differences of scores beyond WIDEST count as WIDEST.
    """

    first_row: Ints
    second_row: Ints
    probability: Floats
    weights: Floats

    def cost(self, scores: Floats) -> float:
        """Return the sum of the pairs' costs at `scores` (n_rows,) float64."""
        right, wrong = self._shares(scores)
        return float((right + wrong).sum())

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 with the cost's derivatives at `scores` (n_rows,) float64."""
        right, wrong = self._shares(scores)
        n_rows = len(scores)
        slopes = wrong - right
        curvatures = right + wrong
        grad[:] = np.bincount(self.first_row, slopes, n_rows) - np.bincount(self.second_row, slopes, n_rows)
        hess[:] = np.bincount(self.first_row, curvatures, n_rows) + np.bincount(self.second_row, curvatures, n_rows)

    def agreement(self, scores: Floats, chosen: NDArray[np.bool_]) -> tuple[float, float]:
        """Return W+ and W-: the weight of the pairs that h in {0, 1}, chosen (n_rows,), orders rightly, and wrongly."""
        right, wrong = self._shares(scores)
        up = chosen[self.first_row] & ~chosen[self.second_row]
        down = chosen[self.second_row] & ~chosen[self.first_row]
        return float(right[up].sum() + wrong[down].sum()), float(right[down].sum() + wrong[up].sum())

    def _shares(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the cost of each pair as first over second, and as second over first, (n_pairs,) float64."""
        gaps = np.clip(scores[self.first_row] - scores[self.second_row], -WIDEST, WIDEST)
        return (
            self.weights * self.probability * array_exp(-gaps),
            self.weights * (1.0 - self.probability) * array_exp(gaps),
        )

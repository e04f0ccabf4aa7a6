"""YetiLoss for nDCG: pairs that are neighbours in rankings with noise, weighted by what swapping them changes.

    C = 1/T sum over T rankings and their neighbours i, j with l_i > l_j of |dM_ij| log(1 + exp(s_j - s_i))

A ranking is that of s + log(u / (1 - u)), u uniform in (0, 1) for each document, drawn anew for every tree; dM_ij is
the change of nDCG (gain = label, all ranks) by swapping the two neighbours there. The derivatives are at the scores
without noise, and dM is taken as a constant. T is 10, as in CatBoost (`YetiRank:mode=NDCG`).

`yeti` in `tests/oracles/limits.py` is the slow form.

References
----------
I. Lyzhin et al., Which Tricks are Important for Learning to Rank?, ICML 2023 (arXiv 2204.01500).

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import prange

from rerank.objectives.base import JointObjective, RandomObjective, register
from rerank.runtime.elementary import array_log, exp, log1p, log2
from rerank.runtime.kernels import helper, kernel
from rerank.types import Floats

N_RANKINGS = 10


@register("yeti")
@dataclass(frozen=True, eq=False)
class YetiLoss(JointObjective, RandomObjective):
    """Pairs that are neighbours in rankings with noise; parameters as in `RandomObjective`."""

    def cost_and_gradients(self, scores: Floats, grad: Floats, hess: Floats) -> float:
        """Return the cost, and fill grad and hess, see `JointObjective`."""
        costs = np.zeros(len(self.weights))
        gains = np.maximum(self.labels, 0.0)
        _fill(self.query_ptr, scores, self.noise(), gains, self.weights, grad, hess, costs)
        return float(np.sum(costs * self.weights))

    def noise(self) -> Floats:
        """Return what is added to the scores in each ranking, (N_RANKINGS, n_rows) float64."""
        drawn = np.array([self._uniform(number) for number in range(N_RANKINGS)])
        return array_log(drawn + 2.0**-54) - array_log(1.0 - drawn)


@helper()
def _best_value(gain):  # type: ignore[no-untyped-def]
    """Return the DCG of the best order."""
    total, n = 0.0, gain.shape[0]
    ordered = np.sort(gain)
    for rank in range(n):
        total += ordered[n - 1 - rank] / log2(rank + 2.0)
    return total


@helper()
def _add_ranking(score, order, gain, factor, grad, hess):  # type: ignore[no-untyped-def]
    """Add the pairs of neighbours in an order (n,) to grad and hess (n,); return their cost."""
    cost = 0.0
    for rank in range(order.shape[0] - 1):
        i, j = order[rank], order[rank + 1]
        if gain[i] == gain[j]:
            continue
        delta = factor * abs(gain[i] - gain[j]) * (1.0 / log2(rank + 2.0) - 1.0 / log2(rank + 3.0))
        better, worse = (i, j) if gain[i] > gain[j] else (j, i)
        margin = score[better] - score[worse]
        small = exp(-abs(margin))
        rho = (small if margin > 0.0 else 1.0) / (1.0 + small)
        grad[better] -= delta * rho
        grad[worse] += delta * rho
        curvature = delta * small / (1.0 + small) / (1.0 + small)
        hess[better] += curvature
        hess[worse] += curvature
        cost += delta * (log1p(small) + max(-margin, 0.0))
    return cost


@helper()
def _add_rankings(score, noise, gain, weight, grad, hess):  # type: ignore[no-untyped-def]
    """Add all rankings of one query; return the unweighted cost."""
    value, best, cost, n_rankings = _best_value(gain), score.max(), 0.0, noise.shape[0]
    if value == 0.0:
        return 0.0
    for number in range(n_rankings):
        order = np.argsort(-(score - best + noise[number]), kind="mergesort")
        cost += _add_ranking(score, order, gain, 1.0 / (value * n_rankings), grad, hess)
    for i in range(score.shape[0]):
        grad[i] *= weight
        hess[i] *= weight
    return cost


@kernel(parallel=True)
def _fill(query_ptr, scores, noise, gains, weights, grad, hess, costs):  # type: ignore[no-untyped-def]
    """Fill gradient, curvature and each query's unweighted cost; a thread takes a query at a time."""
    for q in prange(query_ptr.shape[0] - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        grad[first:last] = 0.0
        hess[first:last] = 0.0
        if last > first:
            own = noise[:, first:last]
            rows = scores[first:last], own, gains[first:last]
            costs[q] = _add_rankings(rows[0], rows[1], rows[2], weights[q], grad[first:last], hess[first:last])

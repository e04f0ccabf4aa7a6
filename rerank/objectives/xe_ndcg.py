"""XE-NDCG: cross-entropy of the softmax of the scores from perturbed gains of the labels.

    C = -sum over i of phi_i log(e^s_i / sum e^s_j),    phi_i = (2^l_i - gamma_i) / sum (2^l_j - gamma_j)

with gamma_i uniform in [0, 1), drawn anew for every tree: it bounds 1 - nDCG with gain 2^l - 1. The derivatives are
those of C, and the diagonal of its second ones: LightGBM's `rank_xendcg` adds two terms of an approximate inverse of
the whole matrix to the gradient. Convention: a query whose labels are all equal costs nothing; for LightGBM it has
random targets.

`xe_ndcg` in `tests/oracles/limits.py` is the slow form.

References
----------
S. Bruch, An Alternative Cross Entropy Loss for Learning-to-Rank, WWW 2021 (arXiv 1911.09798).

"""

from __future__ import annotations

from dataclasses import dataclass
from math import log as log_of

import numpy as np
from numba import prange

from rerank.objectives.base import JointObjective, RandomObjective, register
from rerank.runtime.kernels import kernel
from rerank.runtime.numerics import array_exp, exp, log
from rerank.types import Floats, query_rows


@register("xe-ndcg")
@dataclass(frozen=True, eq=False)
class CrossEntropyNDCG(JointObjective, RandomObjective):
    """Cross-entropy from perturbed gains; parameters as in `RandomObjective`."""

    def cost_and_gradients(self, scores: Floats, grad: Floats, hess: Floats) -> float:
        """Return the cost, and fill grad and hess, see `JointObjective`."""
        costs = np.zeros(len(self.weights))
        _fill(self.query_ptr, scores, self.targets(), self.weights, grad, hess, costs)
        return float(np.sum(costs * self.weights))

    def targets(self) -> Floats:
        """Return phi of each row, (n_rows,) float64; 0 where all labels of the query are equal."""
        starts = self.query_ptr[:-1][np.diff(self.query_ptr) > 0]
        query = query_rows(self.query_ptr)
        best, least, total = (np.zeros(len(self.weights)) for _ in range(3))
        filled = np.diff(self.query_ptr) > 0
        best[filled] = np.maximum.reduceat(self.labels, starts) if len(starts) else 0.0
        least[filled] = np.minimum.reduceat(self.labels, starts) if len(starts) else 0.0
        ln2 = log_of(2.0)  # gains are divided by that of the best label, so that none overflows
        gains = array_exp(ln2 * (self.labels - best[query])) - self._uniform() * array_exp(-ln2 * best)[query]
        total[filled] = np.add.reduceat(gains, starts) if len(starts) else 0.0
        return np.where((best > least)[query], gains / total[query], 0.0)


@kernel(parallel=True)
def _fill(query_ptr, scores, targets, weights, grad, hess, costs):  # type: ignore[no-untyped-def]
    """Fill gradient, curvature and each query's unweighted cost; a thread takes a query at a time."""
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        last = query_ptr[q + 1]
        best = -np.inf
        of_targets = 0.0
        cost = 0.0
        for row in range(first, last):
            best = max(best, scores[row])
            of_targets += targets[row]
            grad[row], hess[row] = 0.0, 0.0
        if of_targets == 0.0:
            continue
        above = np.zeros(last - first + 1)  # sums of the exponentials before and after each row: no difference of them
        below = np.zeros(last - first + 1)
        total = 0.0
        for i in range(last - first):
            above[i + 1] = above[i] + exp(scores[first + i] - best)
        for i in range(last - first - 1, -1, -1):
            below[i] = below[i + 1] + exp(scores[first + i] - best)
        total = above[last - first]
        for i in range(last - first):
            row = first + i
            own = exp(scores[row] - best) / total
            others = (above[i] + below[i + 1]) / total
            grad[row] = weights[q] * (own - targets[row])
            hess[row] = weights[q] * own * others
            cost += targets[row] * (best - scores[row])
        costs[q] = cost + log(total)

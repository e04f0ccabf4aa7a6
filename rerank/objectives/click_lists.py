"""LambdaRank on the result lists of a click log: the labels of a list are its clicks, its documents rows of the data.

Documents are clicked where they are shown first; `bias` is what is done about it:

propensity  a pair (i clicked, j not) is multiplied by 1 / theta of i's position, its probability of examination
unbiased    pairs are multiplied by 1 / (t+ of i's position, t- of j's), both learned with the trees: with the cost
            C_ij = |dM_ij| log(1 + exp(-sigma (s_i - s_j))) of a pair, before each tree

                t+_k = (L+_k / L+_1)^(1/2),  L+_k = sum over i at k of C_ij / t-_j
                t-_k = (L-_k / L-_1)^(1/2),  L-_k = sum over j at k of C_ij / t+_i

            XGBoost's `lambdarank_unbiased`, whose `lambdarank_bias_norm` is 1
additive    gradients are those at s + b of the position, and b_k += eta G_k / (|H_k| + 0.001) after each tree, with the
            sums G_k, H_k of -gradient and curvature: LightGBM's `position`, with no regularization
ignored     the clicks are taken for labels

Conventions. Lists without a click, or of clicks alone, have no pairs. t+ and t- are 1 at the first position with pairs,
and at positions without pairs. Neither pairs nor lists are normalised: log2(1 + L) of a list would take back most of
the weight of its pairs.

`tests/oracles/click_lists.py` is the slow form.

References
----------
T. Joachims, A. Swaminathan and T. Schnabel, Unbiased Learning-to-Rank with Biased Feedback, WSDM 2017.
Z. Hu, Y. Wang, Q. Peng and H. Li, Unbiased LambdaMART: An Unbiased Pairwise Learning-to-Rank Algorithm, WWW 2019.

"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import prange

from rerank.objectives.base import Objective
from rerank.objectives.lambdarank import LambdaRankObjective
from rerank.objectives.swap_blocks import BlockLambdaRankObjective
from rerank.runtime.elementary import exp, log1p
from rerank.runtime.kernels import kernel
from rerank.types import Floats, Ints

BIASES = IGNORED, PROPENSITY, UNBIASED, ADDITIVE = "ignored", "propensity", "unbiased", "additive"
LEAST = 0.01  # of propensities: a pair has at most 100 times its weight
DAMPING = 0.001  # of LightGBM's step
PARTS = 64  # of the lists, whose sums are added in their order, for any number of threads


@dataclass(frozen=True, eq=False)
class ClickListsObjective(Objective):
    """The gradients of the lists of a log, added up by row.

    Parameters
    ----------
    rows : int64 array of shape (n_impressions,)
        Row of each impression.
    positions : int64 array of shape (n_impressions,)
        Position of each impression, from 0.
    lists : LambdaRankObjective or BlockLambdaRankObjective
        That of the impressions, with the clicks as labels. Its factors are overwritten where `bias` needs them;
        `unbiased` needs a `LambdaRankObjective`.
    bias : str
        One of BIASES.
    examination : float64 array of shape (n_positions,)
        theta of `propensity`.
    learning_rate : float
        eta of `additive`.

    """

    rows: Ints
    positions: Ints
    lists: LambdaRankObjective | BlockLambdaRankObjective
    bias: str
    examination: Floats
    learning_rate: float
    offsets: Floats = field(init=False)  # b
    propensities: Floats = field(init=False)  # (2, n_positions): t+ and t-

    def __post_init__(self) -> None:
        n_positions = len(self.examination)
        object.__setattr__(self, "offsets", np.zeros(n_positions))
        object.__setattr__(self, "propensities", np.ones((2, n_positions)))
        if self.bias == PROPENSITY:
            self.propensities[0] = np.clip(self.examination, LEAST, None)
            self._set_factors()

    def cost(self, scores: Floats) -> float:
        """Return the cost of the lists at the present propensities and offsets, for scores (n_rows,) float64."""
        return self.lists.cost(self._of_impressions(scores))

    def gradients(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """Fill grad and hess (n_rows,) float64 at `scores` (n_rows,) float64; propensities and offsets are learned."""
        own = self._of_impressions(scores)
        if self.bias == UNBIASED and isinstance(self.lists, LambdaRankObjective):
            self._learn_propensities(self.lists, own)
            self._set_factors()
        own_grad, own_hess = np.empty(len(own)), np.empty(len(own))
        self.lists.gradients(own, own_grad, own_hess)
        grad[:] = np.bincount(self.rows, own_grad, len(scores))
        hess[:] = np.bincount(self.rows, own_hess, len(scores))
        if self.bias == ADDITIVE:
            n_positions = len(self.offsets)
            slopes = np.bincount(self.positions, -own_grad, n_positions)
            self.offsets[:] += (
                self.learning_rate * slopes / (np.bincount(self.positions, own_hess, n_positions) + DAMPING)
            )

    def _of_impressions(self, scores: Floats) -> Floats:
        return scores[self.rows] + self.offsets[self.positions]

    def _set_factors(self) -> None:
        for factor, propensity in zip(self.lists.factors, self.propensities, strict=True):
            factor[:] = 1.0 / propensity[self.positions]

    def _learn_propensities(self, lists: LambdaRankObjective, scores: Floats) -> None:
        part_ptr = len(lists.weights) * np.arange(PARTS + 1) // PARTS
        sums = np.zeros((PARTS, 2, len(self.examination)))
        clicked = lists.swap.gains > 0.0
        scales, margins = lists.swap.inverse_norms * lists.weights, lists.sigma * scores
        discounts = lists.swap.discounts[: lists.truncation_level]
        of_lists = lists.query_ptr, part_ptr, discounts, scales
        longest = int(np.diff(lists.query_ptr).max())
        _add_costs(*of_lists, self.positions, clicked, margins, self.propensities, longest, sums)
        total = sums.sum(axis=0)
        known = total > 0.0
        first = np.take_along_axis(total, np.argmax(known, axis=1)[:, None], axis=1)
        ratios = np.divide(total, first, out=np.ones_like(total), where=known)
        self.propensities[:] = np.clip(np.sqrt(ratios), LEAST, None)


@kernel(parallel=True)
def _add_costs(list_ptr, part_ptr, discounts, scales, positions, clicked, scores, propensities, longest, sums):  # type: ignore[no-untyped-def]
    """Add the costs of the pairs of each part of the lists to sums (n_parts, 2, n_positions) float64: L+ and L-.

    discounts     (depth,) float64 by rank; scales (n_lists,) float64: their weights over the ideal of the measure
    positions     (n_impressions,) int64; clicked bool; scores float64, times sigma
    propensities  (2, n_positions) float64; longest: impressions of a list
    """
    for part in prange(part_ptr.shape[0] - 1):
        discount = np.empty(longest)
        for number in range(part_ptr[part], part_ptr[part + 1]):
            first, last = list_ptr[number], list_ptr[number + 1]
            for i in range(first, last):  # lists are short: counting beats sorting
                rank = 0
                for j in range(first, last):
                    rank += scores[j] > scores[i] or (scores[j] == scores[i] and j < i)
                discount[i - first] = discounts[rank] if rank < discounts.shape[0] else 0.0
            for i in range(first, last):
                if not clicked[i]:
                    continue
                for j in range(first, last):
                    if clicked[j]:
                        continue
                    margin = scores[i] - scores[j]
                    cost = log1p(exp(-margin)) if margin > -700.0 else -margin
                    cost *= scales[number] * abs(discount[i - first] - discount[j - first])
                    sums[part, 0, positions[i]] += cost / propensities[1, positions[j]]
                    sums[part, 1, positions[j]] += cost / propensities[0, positions[i]]

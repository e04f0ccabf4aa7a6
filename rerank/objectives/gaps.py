"""Swap deltas by the distance of two ranks: LambdaLoss++ and LambdaGap, in place of what a swap changes in a measure.

With G the gain, D_k = 1 / log2(1 + k) and i, j the ranks of two documents:

    lambdaloss++  |G_i - G_j| (|D_i - D_j| + mu (D_|i-j| - D_(|i-j|+1))) / ideal,    mu = 10
    lambdagap     1 where |i - j| >= k and one of the two labels is 0, else 0

The first is NDCG-Loss2++ of Wang et al. with the gains, discounts and ideal of a separable measure, the second
LambdaGap-X, for P@k; k is the cutoff of the measure. Convention: distances count from D_1 as in the paper; the authors'
change of LightGBM for LambdaGap counts from D_2.

`lambdaloss` and `lambdagap` in `tests/oracles/lambdas.py` are the slow forms.

References
----------
X. Wang et al., The LambdaLoss Framework for Ranking Metric Optimization, CIKM 2018.

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import prange

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.metrics.structures import RankedLists
from rerank.objectives.lambdarank import LambdaRankObjective
from rerank.objectives.swap_blocks import BlockLambdaRankObjective, SwapDeltas
from rerank.runtime.elementary import log2
from rerank.runtime.kernels import helper, kernel
from rerank.types import Floats, Ints

SWAP, LAMBDALOSS, LAMBDAGAP = DELTAS = "swap", "lambdaloss++", "lambdagap"
WEIGHT_OF_GAPS = 10.0  # mu


@dataclass(frozen=True)
class _Distances:
    """The deltas of LambdaLoss++."""

    measure: Measure

    def fill_swap_deltas(self, lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
        """Fill `out`, see `SwapDeltas`."""
        swap = self.measure.swap_weights(lists)
        if swap is None:
            raise RuntimeError("not a separable measure")
        _fill_distances(lists.query_ptr, swap.gains, swap.discounts, swap.inverse_norms, out_ptr, depth, out)


@dataclass(frozen=True)
class _Gaps:
    """The deltas of LambdaGap."""

    measure: Measure

    def fill_swap_deltas(self, lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
        """Fill `out`, see `SwapDeltas`."""
        _fill_gaps(lists.query_ptr, lists.labels, self.measure.cutoff or 1, out_ptr, depth, out)


def with_deltas(
    name: str,
    objective: LambdaRankObjective | BlockLambdaRankObjective,
    measure: Measure,
    lists: RankedLists,
    truncation_level: int,
) -> LambdaRankObjective | BlockLambdaRankObjective:
    """Return the LambdaRank objective of a measure with other deltas.

    name                     one of DELTAS
    lists, truncation_level  as for `lambdarank_for`, which returned the objective
    """
    if name == SWAP:
        return objective
    if name == LAMBDALOSS and not isinstance(objective, LambdaRankObjective):
        raise InvalidInputError(
            f"delta: expected a sum of gain times discount beside {name!r}, got {measure.name}. Train for e.g. nDCG@10."
        )
    if name == LAMBDAGAP and not measure.cutoff:
        raise InvalidInputError(
            f"delta: expected a measure with a cut-off beside {name!r}, got {measure.name}. Train for e.g. P@10."
        )
    deep = measure.cut_for_training(truncation_level)
    deltas: SwapDeltas = _Distances(deep) if name == LAMBDALOSS else _Gaps(measure)
    return BlockLambdaRankObjective(
        objective.query_ptr,
        objective.weights,
        lists.labels,
        lists.ideal_labels,
        lists.ideal_ptr,
        deltas,
        objective.sigma,
        truncation_level,
        objective.normalize,
        objective.factors,
    )


@helper()
def _fill_block(gain, discounts, inverse_norm, gaps, n_top, block):  # type: ignore[no-untyped-def]
    """Fill block (n_top * n,) of one query with the deltas of LambdaLoss++; gaps (n,) by distance."""
    n = gain.shape[0]
    for i in range(n_top):
        for j in range(n):
            swap = abs(discounts[i] - discounts[j])
            block[i * n + j] = abs(gain[i] - gain[j]) * (swap + gaps[abs(i - j)]) * inverse_norm


@kernel(parallel=True)
def _fill_distances(query_ptr, gains, discounts, inverse_norms, out_ptr, depth, out):  # type: ignore[no-untyped-def]
    """Fill out with the blocks of all queries; gains by rank, the rest as in `SwapWeights`."""
    for q in prange(query_ptr.shape[0] - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        gaps = np.zeros(last - first)
        for k in range(1, last - first):
            gaps[k] = WEIGHT_OF_GAPS * (1.0 / log2(k + 1.0) - 1.0 / log2(k + 2.0))
        block = out[out_ptr[q] : out_ptr[q + 1]]
        _fill_block(gains[first:last], discounts, inverse_norms[q], gaps, min(depth, last - first), block)


@kernel(parallel=True)
def _fill_gaps(query_ptr, labels, least, out_ptr, depth, out):  # type: ignore[no-untyped-def]
    """Fill out with the blocks of all queries: 1 where the distance is at least `least` and one label is 0."""
    for q in prange(query_ptr.shape[0] - 1):
        first = query_ptr[q]
        n = query_ptr[q + 1] - first
        for i in range(min(depth, n)):
            for j in range(n):
                counts = (labels[first + i] > 0.0) != (labels[first + j] > 0.0) and abs(i - j) >= least
                out[out_ptr[q] + i * n + j] = 1.0 if counts else 0.0

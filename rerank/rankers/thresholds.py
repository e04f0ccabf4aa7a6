"""W+ and W- of every threshold on every feature: the weight of the pairs that it orders rightly, and wrongly.

A weak ranker is h = 1 where a feature's bin lies above an edge. With the documents of a query by falling bin, each
edge moves some documents from h = 0 to h = 1; what one move does to W+ and W- follows from four sums by label, of
exp(-s) and exp(s) over the documents on either side. So the time is that of documents times labels, not of pairs.
Listed pairs (preferences) differ between the bins of their two documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rerank.objectives.pairwise_exponential import PairwiseExponential
from rerank.objectives.preferences import ExponentialPairs
from rerank.runtime.elementary import array_exp
from rerank.runtime.kernels import kernel
from rerank.types import Floats, Ints, query_rows

MISSING = 255  # the bin of a missing value
N_BINS = 256
WIDEST = 300.0  # from the middle of a query's scores: those further away count as this far


@dataclass(frozen=True, eq=False)
class Agreements:
    """What W+ and W- are computed from.

    bins    (n_features, n_rows) uint8, MISSING for a missing value
    orders  (n_features, n_rows) int32: rows of each query by falling bin, the missing ones first; empty for listed
            pairs
    levels  (n_rows,) int64: the label's number among those of its query, ascending
    """

    objective: PairwiseExponential | ExponentialPairs
    query_ptr: Ints
    bins: NDArray[np.uint8]
    orders: NDArray[np.int32]
    levels: Ints

    @classmethod
    def of(
        cls, objective: PairwiseExponential | ExponentialPairs, bins: NDArray[np.uint8], query_ptr: Ints
    ) -> Agreements:
        """Put the rows of each query in order, feature by feature."""
        if isinstance(objective, ExponentialPairs):
            return cls(objective, query_ptr, bins, np.empty((0, 0), np.int32), np.empty(0, np.int64))
        query, orders = query_rows(query_ptr), np.empty(bins.shape, dtype=np.int32)
        for feature, column in enumerate(bins):
            orders[feature] = np.lexsort((-column.astype(np.int16), query))
        by_label = np.lexsort((objective.labels, query))
        labels, queries = objective.labels[by_label], query[by_label]
        new = (np.diff(labels, prepend=np.nan) != 0.0) | (np.diff(queries, prepend=-1) != 0)
        numbers = np.cumsum(new) - 1
        levels = np.empty(len(query), dtype=np.int64)
        firsts = numbers[query_ptr[:-1].clip(max=len(numbers) - 1)]
        levels[by_label] = numbers - firsts[queries]
        return cls(objective, query_ptr, bins, orders, levels)

    def of_scores(self, scores: Floats) -> Floats:
        """Return W+ and W- at scores (n_rows,), (2, n_features, 2, 256): by feature, side of the missing, and edge."""
        out = np.zeros((2, len(self.bins), 2, N_BINS))
        if isinstance(self.objective, ExponentialPairs):
            shares = self.objective.shares(scores)
            _fill_of_pairs(self.bins, self.objective.first_row, self.objective.second_row, *shares, out)
        else:
            lists = self.bins, self.orders, self.query_ptr, self.levels
            n_levels = int(self.levels.max(initial=0)) + 1
            _fill_of_labels(*lists, self._growths(scores), self.objective.weights, n_levels, out)
        # out holds what each bin changes; an edge has the changes of all bins above it
        above = np.cumsum(out[..., ::-1], axis=-1)[..., ::-1]
        agreements: Floats = np.maximum(np.append(above[..., 1:], np.zeros((*above.shape[:-1], 1)), axis=-1), 0.0)
        return agreements

    def _growths(self, scores: Floats) -> Floats:
        """Return exp(score - the middle of its query's scores), (n_rows,) float64: pairs only know differences."""
        sizes = np.diff(self.query_ptr)
        starts = self.query_ptr[:-1][sizes > 0]
        middle = 0.5 * (np.minimum.reduceat(scores, starts) + np.maximum.reduceat(scores, starts))
        return array_exp(np.clip(scores - np.repeat(middle, sizes[sizes > 0]), -WIDEST, WIDEST))


@kernel(parallel=True)
def _fill_of_labels(bins, orders, query_ptr, levels, growths, weights, n_levels, out):  # type: ignore[no-untyped-def]
    """Add to out (2, n_features, 2, 256) what moving the rows of each bin to h = 1 adds to W+ and W-.

    growths  (n_rows,): exp(s), up to a factor a query
    """
    for feature in prange(bins.shape[0]):
        better = np.empty((2, n_levels))  # sums of exp(-s) by label, of rows with h = 0 and h = 1
        worse = np.empty((2, n_levels))  # sums of exp(s)
        for q in range(query_ptr.shape[0] - 1):
            first, last = query_ptr[q], query_ptr[q + 1]
            if last - first < 2 or weights[q] == 0.0:
                continue
            for side in range(2):
                better[:], worse[:] = 0.0, 0.0
                for row in range(first, last):
                    growth = growths[row]
                    better[0, levels[row]] += 1.0 / growth
                    worse[0, levels[row]] += growth
                for position in range(first, last):
                    row = orders[feature, position]
                    here = bins[feature, row]
                    if here == MISSING and side == 0:
                        continue
                    level = levels[row]
                    growth = growths[row]
                    right, wrong = 0.0, 0.0
                    for lower in range(level):
                        right += worse[0, lower] / growth
                        wrong -= worse[1, lower] / growth
                    for higher in range(level + 1, n_levels):
                        right -= better[1, higher] * growth
                        wrong += better[0, higher] * growth
                    out[0, feature, side, here] += weights[q] * right
                    out[1, feature, side, here] += weights[q] * wrong
                    better[0, level] -= 1.0 / growth
                    worse[0, level] -= growth
                    better[1, level] += 1.0 / growth
                    worse[1, level] += growth


@kernel(parallel=True)
def _fill_of_pairs(bins, first_row, second_row, right, wrong, out):  # type: ignore[no-untyped-def]
    """Add to out (2, n_features, 2, 256) what moving the rows of each bin to h = 1 adds to W+ and W-.

    right, wrong  (n_pairs,): weight of the pair as first over second, and as second over first
    """
    for feature in prange(bins.shape[0]):
        for side in range(2):
            for pair in range(first_row.shape[0]):
                one, other = int(bins[feature, first_row[pair]]), int(bins[feature, second_row[pair]])
                if side == 0 and one == MISSING:  # missing values stay below every edge
                    one = -1
                if side == 0 and other == MISSING:
                    other = -1
                if one == other:
                    continue
                high, low = max(one, other), min(one, other)
                plus, minus = (right[pair], wrong[pair]) if one > other else (wrong[pair], right[pair])
                out[0, feature, side, high] += plus
                out[1, feature, side, high] += minus
                if low >= 0:
                    out[0, feature, side, low] -= plus
                    out[1, feature, side, low] -= minus

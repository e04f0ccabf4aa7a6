"""Measures that sum gain times discount, and DCG."""

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure, SwapWeights
from rerank.metrics.parameters import MeasureParameter, declared
from rerank.metrics.ranked_lists import (
    RankedLists,
    hit_positions,
    inverse,
    measure_depth,
    ratio,
    totals,
)
from rerank.metrics.registry import register
from rerank.runtime.arithmetic import exp2_of, log2_of
from rerank.types import Floats, Ints

LINEAR = "log2"
EXPONENTIAL = "exp-log2"
MOST_EXPONENT = 500  # so that a sum of gains of 2^label - 1, and its square, stay within float64


@dataclass(frozen=True)
class DiscountedMeasure(Measure):
    """Sum over ranks of gain(label) * discount(rank), divided by a norm."""

    @abstractmethod
    def gain_of(self, labels: Floats) -> Floats:
        """Return the gain of each label."""

    @abstractmethod
    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return the discount of each 0-based rank, without a cutoff."""

    def norms(self, lists: RankedLists) -> Floats:
        """Return the divisor of each query's sum, (n_queries,) float64."""
        return np.ones(lists.n_queries)

    def scores(self, lists: RankedLists) -> Floats:
        """Return the value of every query."""
        return ratio(self.discounted_sums(lists.labels, lists.query_ptr), self.norms(lists))

    def cut_for_training(self, depth: int) -> Measure:
        """Return the measure with the cutoff `depth`, even if it has none: pairs below `depth` have no gradient."""
        return replace(self, cutoff=depth)

    def swap_weights(self, lists: RankedLists) -> SwapWeights:
        """Return gains, discounts and 1 / norm."""
        return SwapWeights(self.gain_of(lists.labels), self._by_rank(lists.query_ptr), inverse(self.norms(lists)))

    def discounted_sums(self, labels: Floats, query_ptr: Ints) -> Floats:
        """Return the sum of each query, (n_queries,) float64, for labels in rank order."""
        gains = self.gain_of(labels)
        query, rank, _ = hit_positions(gains != 0, query_ptr)
        return totals(query, gains[gains != 0] * self._by_rank(query_ptr)[rank - 1], len(query_ptr) - 1)

    def _by_rank(self, query_ptr: Ints) -> Floats:
        rank = np.arange(np.diff(query_ptr).max(initial=0))
        return np.where(rank < measure_depth(query_ptr, self.cutoff), self.discount_of(rank), 0.0)


@register("DCG", aliases={"dcg_burges": {"dcg": EXPONENTIAL}})
@dataclass(frozen=True)
class DCG(DiscountedMeasure):
    """sum gain / log2(1 + rank).

    The gain is the label (`dcg='log2'`, the default, as in trec_eval) or 2^label - 1 (`dcg='exp-log2'`); a negative
    label has gain 0. Ranks count from 1, and every rank is discounted (Järvelin and Kekäläinen do not discount the
    first two).

    References
    ----------
    K. Järvelin and J. Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4), 2002. For
    2^label - 1: C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 3.

    """

    dcg: str = declared(MeasureParameter(LINEAR, f"dcg='{LINEAR}' or '{EXPONENTIAL}'", choices=(LINEAR, EXPONENTIAL)))

    def gain_of(self, labels: Floats) -> Floats:
        """Return the label, or 2^label - 1."""
        positive = np.maximum(labels, 0.0)
        if self.dcg == LINEAR:
            return positive
        largest = positive.max(initial=0.0)
        if largest > MOST_EXPONENT:
            raise InvalidInputError(
                f"{self.name}: expected labels up to {MOST_EXPONENT} for gains of 2^label - 1, got {largest:g}. Scale "
                "the labels, or take dcg='log2'."
            )
        return exp2_of(positive) - 1.0

    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return 1 / log2(1 + rank), for ranks from 1."""
        return 1.0 / log2_of(rank + 2.0)

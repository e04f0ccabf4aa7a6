"""The base class of measures that sum gain times discount."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rerank.metrics.base import Measure
from rerank.metrics.lists import hit_positions, ratio, totals
from rerank.metrics.structures import RankedLists, SwapWeights
from rerank.types import Floats, Ints


@dataclass(frozen=True)
class DiscountedMeasure(Measure):
    """Sum over ranks of gain(label) * discount(rank), divided by a norm."""

    @abstractmethod
    def gain_of(self, labels: Floats) -> Floats:
        """Return the gain of each label."""

    @abstractmethod
    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return the discount of each 0-based rank, without a cutoff."""

    def norms(self, ideal_labels: Floats, ideal_ptr: Ints) -> Floats:
        """Return the norm of each query, by which its sum is divided, (n_queries,) float64."""
        return np.ones(len(ideal_ptr) - 1)

    def scores(self, lists: RankedLists) -> Floats:
        """Return the value of every query."""
        return ratio(
            self.discounted_sums(lists.labels, lists.query_ptr), self.norms(lists.ideal_labels, lists.ideal_ptr)
        )

    def cut_for_training(self, depth: int) -> Measure:
        """Return the measure with the cutoff `depth`, even if it has none: pairs below `depth` have no gradient."""
        return replace(self, cutoff=depth)

    def swap_weights(self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints) -> SwapWeights:
        """Return gains, discounts and 1 / norm."""
        norms = self.norms(ideal_labels, ideal_ptr)
        return SwapWeights(self.gain_of(labels), self._by_rank(query_ptr), ratio(np.ones_like(norms), norms))

    def discounted_sums(self, labels: Floats, query_ptr: Ints) -> Floats:
        """Return the sum of each query, (n_queries,) float64, for labels in rank order."""
        gains = self.gain_of(labels)
        query, rank, _ = hit_positions(gains != 0, query_ptr)
        return totals(query, gains[gains != 0] * self._by_rank(query_ptr)[rank - 1], len(query_ptr) - 1)

    def _by_rank(self, query_ptr: Ints) -> Floats:
        rank = np.arange(np.diff(query_ptr).max(initial=0))
        discounts = self.discount_of(rank)
        return discounts if self.cutoff is None else np.where(rank < self.cutoff, discounts, 0.0)

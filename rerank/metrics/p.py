"""Precision at a cutoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.metrics.base import Measure
from rerank.metrics.lists import sums, within
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists, SwapWeights
from rerank.types import Floats, Ints


@register("P", trec_cut="P", aliases={"Precision": "P"})
@dataclass(frozen=True)
class P(BinaryMeasure):
    """Share of relevant documents among the first k; a list shorter than k is still divided by k (trec_eval)."""

    needs_cutoff: ClassVar[bool] = True

    def scores(self, lists: RankedLists) -> Floats:
        """Return the precision of every query."""
        hits = self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)
        return sums(hits, lists.query_ptr) / self._depth

    def cut_for_training(self, depth: int) -> Measure:
        """Return this measure: only swaps across its own cutoff change it."""
        return self

    def swap_weights(self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints) -> SwapWeights:
        """Return relevance as gain, and a discount of 1 / k down to rank k."""
        longest = int(np.diff(query_ptr).max(initial=0))
        discounts = (np.arange(longest) < self._depth) / self._depth
        return SwapWeights(self.relevant(labels).astype(np.float64), discounts, np.ones(len(query_ptr) - 1))

    @property
    def _depth(self) -> int:
        return self.cutoff or 1  # needs_cutoff: there is one

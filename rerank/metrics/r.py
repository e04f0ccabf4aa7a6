"""Recall at a cutoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.metrics.base import Measure
from rerank.metrics.lists import n_relevant, ratio, sums, within
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists, SwapWeights
from rerank.types import Floats, Ints


@register("R", trec_cut="recall", aliases={"Recall": "R"})
@dataclass(frozen=True)
class R(BinaryMeasure):
    """Share of all relevant documents, retrieved or not, that are among the first k (trec_eval)."""

    needs_cutoff: ClassVar[bool] = True

    def scores(self, lists: RankedLists) -> Floats:
        """Return the recall of every query."""
        hits = self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)
        return ratio(sums(hits, lists.query_ptr), n_relevant(lists, self.rel))

    def cut_for_training(self, depth: int) -> Measure:
        """Return this measure: only swaps across its own cutoff change it."""
        return self

    def swap_weights(self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints) -> SwapWeights:
        """Return relevance as gain, a discount of 1 down to rank k, and 1 / number of relevant documents."""
        longest = int(np.diff(query_ptr).max(initial=0))
        all_relevant = sums(self.relevant(ideal_labels), ideal_ptr)
        discounts = (np.arange(longest) < (self.cutoff or 0)).astype(np.float64)
        return SwapWeights(
            self.relevant(labels).astype(np.float64), discounts, ratio(np.ones_like(all_relevant), all_relevant)
        )

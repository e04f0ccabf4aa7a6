"""Precision at a cutoff, relative to the highest possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.metrics.lists import n_relevant, ratio, sums, within
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists
from rerank.types import Floats


@register("RelP", trec_cut="relative_P")
@dataclass(frozen=True)
class RelP(BinaryMeasure):
    """Relevant documents among the first k, divided by min(k, R): precision up to rank R, recall below it."""

    needs_cutoff: ClassVar[bool] = True
    refuses_training: ClassVar[bool] = True  # P has the same optimal orders; train for P

    def scores(self, lists: RankedLists) -> Floats:
        """Return the relative precision of every query."""
        hits = self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)
        best = np.minimum(n_relevant(lists, self.rel), self.cutoff or 0)  # needs_cutoff: there is one
        return ratio(sums(hits, lists.query_ptr), best)

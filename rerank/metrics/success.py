"""Success at a cutoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.metrics.lists import sums, within
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists
from rerank.types import Floats


@register("Success", trec_cut="success", cutoffs=(1, 5, 10))
@dataclass(frozen=True)
class Success(BinaryMeasure):
    """1 if a relevant document is among the first k, else 0."""

    needs_cutoff: ClassVar[bool] = True
    refuses_training: ClassVar[bool] = True  # few swaps change it; train for RR

    def scores(self, lists: RankedLists) -> Floats:
        """Return the success of every query."""
        hits = self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)
        return np.minimum(sums(hits, lists.query_ptr), 1.0)

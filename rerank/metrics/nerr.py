"""nERR: expected reciprocal rank divided by that of the ideal order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.metrics.err import ERR
from rerank.metrics.lists import ratio
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists
from rerank.types import Floats, Ints


@register("nERR")
@dataclass(frozen=True)
class NERR(ERR):
    """ERR divided by the ERR of the ideal order, with the same max_rel and cutoff, as in TREC's ndeval.

    The ideal order contains every judged document, retrieved or not. A query without a relevant document has 0.
    ir_measures' NERR8 to NERR11 ("nearly ERR") are other measures.
    """

    def scores(self, lists: RankedLists) -> Floats:
        """Return the value of every query."""
        return ratio(self.expected(lists.labels, lists.query_ptr), self.expected(lists.ideal_labels, lists.ideal_ptr))

    def scales(self, ideal_labels: Floats, ideal_ptr: Ints) -> Floats:
        """Return 1 / ERR of the ideal order."""
        ideal = self.expected(ideal_labels, ideal_ptr)
        return ratio(np.ones_like(ideal), ideal)

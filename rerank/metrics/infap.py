"""Inferred average precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.metrics.lists import has_judgement, in_pool, n_relevant, ranks, ratio, relevant_so_far, totals
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists
from rerank.types import Floats, query_rows

EPSILON = 1e-5  # trec_eval's


@register("infAP", trec="infAP")
@dataclass(frozen=True)
class InfAP(BinaryMeasure):
    """Average precision estimated from a judged sample of the pool; a negative label marks the rest of the pool.

    The precision at a relevant document is estimated from the judged documents above it. Documents outside the pool are
    not relevant.

    References
    ----------
    E. Yilmaz and J. Aslam, Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM 2006.

    """

    takes_cutoff: ClassVar[bool] = False
    asks_judged: ClassVar[bool] = True  # the estimate uses the pool

    def scores(self, lists: RankedLists) -> Floats:
        """Return the inferred average precision of every query."""
        hits = np.flatnonzero(self.relevant(lists.labels))
        query, above = query_rows(lists.query_ptr)[hits], ranks(lists.query_ptr)[hits]
        pooled = relevant_so_far(in_pool(lists), lists.query_ptr)[hits] - 1
        relevant = relevant_so_far(self.relevant(lists.labels), lists.query_ptr)[hits] - 1
        judged = relevant_so_far(has_judgement(lists), lists.query_ptr)[hits] - 1
        share = (relevant + EPSILON) / (judged + 2 * EPSILON)
        return ratio(totals(query, (1.0 + pooled * share) / (above + 1), lists.n_queries), n_relevant(lists, self.rel))

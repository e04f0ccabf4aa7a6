"""Average precision, its geometric mean, and its estimate from a judged sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.metrics.base import GEOMETRIC, BinaryMeasure
from rerank.metrics.lists import (
    has_judgement,
    hit_positions,
    in_pool,
    inverse,
    measure_depth,
    n_relevant,
    ranks,
    ratio,
    relevant_so_far,
    totals,
)
from rerank.metrics.registry import register
from rerank.metrics.structures import PrefixSum, RankedLists, reciprocal_ranks
from rerank.types import Floats, Ints, query_rows


@register("AP", trec="map", trec_cut="map_cut", aliases={"MAP": "AP"})
@dataclass(frozen=True)
class AP(BinaryMeasure):
    """Mean over all relevant documents of the precision at their rank; a document not retrieved has 0 (trec_eval)."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return the average precision of every query."""
        query, rank, number = hit_positions(self.hits(lists), lists.query_ptr)
        return ratio(totals(query, number / rank, lists.n_queries), n_relevant(lists, self.rel))

    def fill_swap_deltas(self, lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
        """Fill out with |ΔAP|."""
        from rerank.metrics.swaps.kernels import fill_ap

        scales, cutoff = inverse(n_relevant(lists, self.rel)), measure_depth(lists.query_ptr, self.cutoff)
        fill_ap(self.relevant(lists.labels), lists.query_ptr, scales, cutoff, depth, out, out_ptr)

    def prefix_sum(self, lists: RankedLists) -> PrefixSum:
        """Return the prefix-sum form: (1 + relevant documents above) / rank for each relevant document."""
        relevant, norms = self.relevant(lists.labels).astype(np.float64), inverse(n_relevant(lists, self.rel))
        discounts = reciprocal_ranks(lists.query_ptr, self.cutoff)
        return PrefixSum(relevant, relevant, np.ones(len(relevant)), discounts, norms)


@register("GMAP", trec="gm_map")
@dataclass(frozen=True)
class GMAP(BinaryMeasure):
    """Geometric mean of average precision; values below 0.00001 are raised to it (trec_eval)."""

    averaging: ClassVar[str] = GEOMETRIC

    def scores(self, lists: RankedLists) -> Floats:
        """Return the average precision of every query."""
        return AP(cutoff=self.cutoff, rel=self.rel).scores(lists)


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

"""Average precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.metrics.lists import hit_positions, measure_depth, n_relevant, ratio, sums, totals, within
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import PrefixSum, RankedLists, reciprocal_ranks
from rerank.types import Floats, Ints


@register("AP", trec="map", trec_cut="map_cut", aliases={"MAP": "AP"})
@dataclass(frozen=True)
class AP(BinaryMeasure):
    """Mean over all relevant documents of the precision at their rank; a document not retrieved has 0 (trec_eval)."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return the average precision of every query."""
        hits = self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)
        query, rank, number = hit_positions(hits, lists.query_ptr)
        return ratio(totals(query, number / rank, lists.n_queries), n_relevant(lists, self.rel))

    def fill_swap_deltas(self, lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
        """Fill out with |ΔAP|."""
        from rerank.metrics.swaps.ap import fill_ap

        all_relevant = n_relevant(lists, self.rel)
        scales = ratio(np.ones_like(all_relevant), all_relevant)
        cutoff = measure_depth(lists.query_ptr, self.cutoff)
        fill_ap(self.relevant(lists.labels), lists.query_ptr, scales, cutoff, depth, out, out_ptr)

    def prefix_sum(self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints) -> PrefixSum:
        """Return the prefix-sum form: (1 + relevant documents above) / rank for each relevant document."""
        relevant = self.relevant(labels).astype(np.float64)
        discounts = reciprocal_ranks(measure_depth(query_ptr, None), self.cutoff)
        all_relevant = sums(self.relevant(ideal_labels), ideal_ptr)
        norms = ratio(np.ones_like(all_relevant), all_relevant)
        return PrefixSum(relevant, relevant, np.ones(len(labels)), discounts, norms)

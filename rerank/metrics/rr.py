"""Reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.metrics.lists import hit_positions, measure_depth, totals, within
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import PrefixSum, RankedLists, reciprocal_ranks
from rerank.types import Floats, Ints


@register("RR", trec="recip_rank", aliases={"MRR": "RR"})
@dataclass(frozen=True)
class RR(BinaryMeasure):
    """1 / rank of the first relevant document; 0 if there is none up to the cutoff."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return the reciprocal rank of every query."""
        hits = self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)
        query, rank, number = hit_positions(hits, lists.query_ptr)
        return totals(query, (number == 1) / rank, lists.n_queries)

    def fill_swap_deltas(self, lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
        """Fill out with |ΔRR|."""
        from rerank.metrics.swaps.rr import fill_rr

        cutoff = measure_depth(lists.query_ptr, self.cutoff)
        fill_rr(self.relevant(lists.labels), lists.query_ptr, cutoff, depth, out, out_ptr)

    def prefix_sum(self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints) -> PrefixSum:
        """Return the prefix-sum form: 1 / rank for a relevant document without a relevant one above it."""
        relevant = self.relevant(labels).astype(np.float64)
        discounts = reciprocal_ranks(measure_depth(query_ptr, None), self.cutoff)
        return PrefixSum(relevant, np.zeros(len(labels)), 1.0 - relevant, discounts, np.ones(len(query_ptr) - 1))

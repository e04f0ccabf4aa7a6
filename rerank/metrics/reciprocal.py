"""Reciprocal rank, expected reciprocal rank, and the latter divided by that of the ideal order."""

from dataclasses import dataclass

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import BinaryMeasure, Measure, PrefixSum
from rerank.metrics.parameters import MeasureParameter, declared
from rerank.metrics.ranked_lists import (
    RankedLists,
    hit_positions,
    inverse,
    measure_depth,
    ranks,
    ratio,
    reciprocal_ranks,
    relevant_so_far,
    sums,
    totals,
    within,
)
from rerank.metrics.registry import register
from rerank.runtime.arithmetic import exp2_of
from rerank.types import Floats, Ints

GREATEST_MAX_REL = 50  # above about this, float64 cannot represent 1 - (2^max_rel - 1) / 2^max_rel


@register("RR", trec="recip_rank", aliases={"MRR": {}, "reciprocal_rank": {}, "mean_reciprocal_rank": {}})
@dataclass(frozen=True)
class RR(BinaryMeasure):
    """1 / rank of the first relevant document; 0 if there is none up to the cutoff."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return the reciprocal rank of every query."""
        query, rank, number = hit_positions(self.hits(lists), lists.query_ptr)
        return totals(query, (number == 1) / rank, lists.n_queries)

    def fill_swap_deltas(self, lists: RankedLists, out: Floats, out_ptr: Ints) -> None:
        """Fill `out` with |ΔRR|."""
        from rerank.metrics.swaps import fill_rr

        fill_rr(self.relevant(lists.labels), lists.query_ptr, measure_depth(lists.query_ptr, self.cutoff), out, out_ptr)

    def prefix_sum(self, lists: RankedLists) -> PrefixSum:
        """Return the prefix-sum form: 1 / rank for a relevant document without a relevant one above it."""
        relevant = self.relevant(lists.labels).astype(np.float64)
        discounts = reciprocal_ranks(lists.query_ptr, self.cutoff)
        return PrefixSum(relevant, np.zeros(len(relevant)), 1.0 - relevant, discounts, np.ones(lists.n_queries))


@register("ERR")
@dataclass(frozen=True)
class ERR(Measure):
    """Sum over ranks r of 1/r R_r prod_{i < r} (1 - R_i), with R = (2^label - 1) / 2^max_rel.

    R is the probability that a document satisfies the user, who then stops. max_rel is the highest grade of the scale,
    not of the data, so that values do not depend on the topics: 4 as in TREC's gdeval (ir_measures' ERR). A label above
    it is refused, as by gdeval; a negative one has R = 0.

    References
    ----------
    O. Chapelle, D. Metzler, Y. Zhang and P. Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009; C.
    Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 3.

    """

    max_rel: int = declared(MeasureParameter(4, f"max_rel from 1 to {GREATEST_MAX_REL}", high=GREATEST_MAX_REL))

    def scores(self, lists: RankedLists) -> Floats:
        """Return the expected reciprocal rank of every query."""
        return self.expected(lists.labels, lists.query_ptr)

    def fill_swap_deltas(self, lists: RankedLists, out: Floats, out_ptr: Ints) -> None:
        """Fill `out` with |ΔERR| of all pairs, in quadratic time for each list (Burges 2010, section 3)."""
        from rerank.metrics.swaps import fill_err

        fill_err(
            self.stopping(lists.labels),
            lists.query_ptr,
            self.scales(lists),
            measure_depth(lists.query_ptr, self.cutoff),
            out,
            out_ptr,
        )

    def prefix_sum(self, lists: RankedLists) -> PrefixSum:
        """Return the prefix-sum form: R / rank for each document, times the probability that the user reaches it."""
        stopping = self.stopping(lists.labels)
        discounts = reciprocal_ranks(lists.query_ptr, self.cutoff)
        return PrefixSum(stopping, np.zeros(len(stopping)), 1.0 - stopping, discounts, self.scales(lists))

    def scales(self, lists: RankedLists) -> Floats:
        """Return the factor of the value of each query, (n_queries,) float64."""
        return np.ones(lists.n_queries)

    def stopping(self, labels: Floats) -> Floats:
        """Return the probability R that each document satisfies the user."""
        best = labels.max(initial=0.0)
        if best > self.max_rel:
            needed = int(np.ceil(best))
            remedy = "Scale the labels" if needed > GREATEST_MAX_REL else f"Write e.g. {self.symbol}(max_rel={needed})"
            raise InvalidInputError(
                f"{self.name}: expected labels up to max_rel={self.max_rel}, got {best:g}. {remedy}."
            )
        return (exp2_of(np.maximum(labels, 0.0)) - 1.0) / 2.0**self.max_rel

    def expected(self, labels: Floats, query_ptr: Ints) -> Floats:
        """Return the ERR of each query, (n_queries,) float64, for labels in rank order."""
        stopping = self.stopping(labels)
        stops = np.flatnonzero((stopping > 0.0) & within(query_ptr, self.cutoff))  # no user stops at the other rows
        query = np.searchsorted(query_ptr, stops, side="right") - 1
        position = relevant_so_far(stopping > 0.0, query_ptr)[stops]  # from 1
        continuing = np.ones((len(query_ptr) - 1, int(position.max(initial=0)) + 1))
        continuing[query, position] = 1.0 - stopping[stops]
        reached = np.cumprod(continuing, axis=1)[query, position - 1]
        values = np.zeros(len(labels))
        values[stops] = stopping[stops] * reached / (ranks(query_ptr)[stops] + 1)
        return sums(values, query_ptr)


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

    def scales(self, lists: RankedLists) -> Floats:
        """Return 1 / ERR of the ideal order."""
        return inverse(self.expected(lists.ideal_labels, lists.ideal_ptr))

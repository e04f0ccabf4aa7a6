"""Average precision, its geometric mean, and its estimate from a judged sample."""

from dataclasses import dataclass

import numpy as np

from rerank.metrics.base import GEOMETRIC, BinaryMeasure, PrefixSum
from rerank.metrics.parameters import REL
from rerank.metrics.ranked_lists import (
    RankedLists,
    has_judgement,
    hit_positions,
    in_pool,
    inverse,
    measure_depth,
    n_relevant,
    ratio,
    reciprocal_ranks,
    relevant_so_far,
    totals,
)
from rerank.metrics.registry import measure, register
from rerank.types import Floats, Ints

EPSILON = 1e-5  # trec_eval's


@register("AP", trec="map", trec_cut="map_cut", aliases={"average_precision": {}, "mean_average_precision": {}})
@dataclass(frozen=True)
class AP(BinaryMeasure):
    """Mean over all relevant documents of the precision at their rank; a document not retrieved has 0 (trec_eval)."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return the average precision of every query."""
        query, rank, number = hit_positions(self.hits(lists), lists.query_ptr)
        return ratio(totals(query, number / rank, lists.n_queries), n_relevant(lists, self.rel))

    def fill_swap_deltas(self, lists: RankedLists, out: Floats, out_ptr: Ints) -> None:
        """Fill out with |ΔAP|."""
        from rerank.metrics.swaps import fill_ap

        fill_ap(
            self.relevant(lists.labels),
            lists.query_ptr,
            inverse(n_relevant(lists, self.rel)),
            measure_depth(lists.query_ptr, self.cutoff),
            out,
            out_ptr,
        )

    def prefix_sum(self, lists: RankedLists) -> PrefixSum:
        """Return the prefix-sum form: (1 + relevant documents above) / rank for each relevant document."""
        relevant = self.relevant(lists.labels).astype(np.float64)
        norms = inverse(n_relevant(lists, self.rel))
        discounts = reciprocal_ranks(lists.query_ptr, self.cutoff)
        return PrefixSum(relevant, relevant, np.ones(len(relevant)), discounts, norms)


@measure("GMAP", trec="gm_map", averaging=GEOMETRIC)
def geometric_ap(lists: RankedLists, cutoff: int | None = None, rel: int = REL) -> Floats:
    """Geometric mean of average precision; values below 0.00001 are raised to it (trec_eval)."""
    return AP(cutoff=cutoff, rel=rel).scores(lists)


@measure("infAP", trec="infAP", asks_judged=True)  # the estimate uses the pool
def inferred_ap(lists: RankedLists, rel: int = REL) -> Floats:
    """Average precision estimated from a judged sample of the pool; a negative label marks the rest of the pool.

    The precision at a relevant document is estimated from the judged documents above it. Documents outside the pool are
    not relevant.

    References
    ----------
    E. Yilmaz and J. Aslam, Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM 2006.

    """
    hits = lists.labels >= rel
    query, rank, number = hit_positions(hits, lists.query_ptr)
    pooled, judged = (
        relevant_so_far(some, lists.query_ptr)[hits] - 1 for some in (in_pool(lists), has_judgement(lists))
    )
    share = (number - 1 + EPSILON) / (judged + 2 * EPSILON)
    return ratio(totals(query, (1.0 + pooled * share) / rank, lists.n_queries), n_relevant(lists, rel))

"""Average precision, its geometric mean, and its estimate from a judged sample.

Reciprocal rank, expected reciprocal rank, and the latter divided by that of the ideal order.

Measures that count pairs of documents in the right order. A pair is a retrieved document and a better one, retrieved or
not. A document that is not retrieved is below all retrieved ones, so that its pairs are in the wrong order.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import (
    GEOMETRIC,
    REL,
    BinaryMeasure,
    Measure,
    MeasureParameter,
    PrefixSum,
    RankedLists,
    declared,
    has_judgement,
    hit_positions,
    in_pool,
    inverse,
    measure_depth,
    n_judged_zero,
    n_relevant,
    ranks,
    ratio,
    reciprocal_ranks,
    relevant_so_far,
    sums,
    totals,
    within,
)
from rerank.metrics.registry import measure, register
from rerank.runtime.arithmetic import exp2_of
from rerank.types import Floats, Ints, query_rows

EPSILON = 1e-5  # trec_eval's
GREATEST_MAX_REL = 50  # above it, float64 cannot represent 1 - (2^max - 1) / 2^max


@register("AP", trec="map", trec_cut="map_cut", aliases={"MAP": {}})
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

        scales = inverse(n_relevant(lists, self.rel))
        fill_ap(
            self.relevant(lists.labels),
            lists.query_ptr,
            scales,
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
    rows = (in_pool(lists), has_judgement(lists))
    pooled, judged = (relevant_so_far(some, lists.query_ptr)[hits] - 1 for some in rows)
    share = (number - 1 + EPSILON) / (judged + 2 * EPSILON)
    return ratio(totals(query, (1.0 + pooled * share) / rank, lists.n_queries), n_relevant(lists, rel))


@register("RR", trec="recip_rank", aliases={"MRR": {}})
@dataclass(frozen=True)
class RR(BinaryMeasure):
    """1 / rank of the first relevant document; 0 if there is none up to the cutoff."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return the reciprocal rank of every query."""
        query, rank, number = hit_positions(self.hits(lists), lists.query_ptr)
        return totals(query, (number == 1) / rank, lists.n_queries)

    def fill_swap_deltas(self, lists: RankedLists, out: Floats, out_ptr: Ints) -> None:
        """Fill out with |ΔRR|."""
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
        """Fill out with |ΔERR|, all pairs of a list in quadratic time (Burges 2010, section 3)."""
        from rerank.metrics.swaps import fill_err

        scales = self.scales(lists)
        fill_err(
            self.stopping(lists.labels),
            lists.query_ptr,
            scales,
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
            raise InvalidInputError(
                f"{self.name}: expected labels up to max_rel={self.max_rel}, got {best:g}. "
                f"Write e.g. {self.symbol}(max_rel={int(np.ceil(best))})."
            )
        return (exp2_of(np.maximum(labels, 0.0)) - 1.0) / 2.0**self.max_rel

    def expected(self, labels: Floats, query_ptr: Ints) -> Floats:
        """Return the ERR of each query, (n_queries,) float64, for labels in rank order."""
        stopping = self.stopping(labels)
        stops = np.flatnonzero((stopping > 0.0) & within(query_ptr, self.cutoff))  # every user passes the others
        query = np.searchsorted(query_ptr, stops, side="right") - 1
        position = relevant_so_far(stopping > 0.0, query_ptr)[stops]
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


def _pairs_in_order(lists: RankedLists) -> tuple[Floats, Floats]:
    """Return the number of pairs in the right order and of all pairs of each query, (n_queries,) float64 each."""
    in_order = np.zeros(lists.n_queries)
    n_pairs = np.zeros(lists.n_queries)
    for label in np.unique(lists.labels):
        worse = lists.labels == label
        in_order += sums(worse * relevant_so_far(lists.labels > label, lists.query_ptr), lists.query_ptr)
        n_pairs += sums(worse, lists.query_ptr) * sums(lists.ideal_labels > label, lists.ideal_ptr)
    return in_order, n_pairs


def _balances(lists: RankedLists) -> Floats:
    """Return the number of worse minus better documents above each document, (n_rows,) float64."""
    balances = np.zeros(len(lists.labels))
    for label in np.unique(lists.labels):
        equal = lists.labels == label
        below, above = (relevant_so_far(some, lists.query_ptr) for some in (lists.labels < label, lists.labels > label))
        balances[equal] = (below - above)[equal]
    return balances


@register("PairAccuracy")
@dataclass(frozen=True)
class PairAccuracy(Measure):
    """1 - pairwise inversions / pairs of documents with different labels; higher is better.

    An inversion is a document ranked above a better one. A better document that is not retrieved is inverted with every
    worse one that is. A negative label counts as 0. A query without a pair of different labels has 0. With two grades
    this is AUC.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 4, on the inversions that
    RankNet minimises.

    """

    takes_cutoff: ClassVar[bool] = False

    def grades(self, labels: Floats) -> Floats:
        """Return what tells the documents of a pair apart, for labels."""
        return np.maximum(labels, 0.0)

    def scores(self, lists: RankedLists) -> Floats:
        """Return the share of every query."""
        return ratio(*_pairs_in_order(self._graded(lists)))

    def fill_swap_deltas(self, lists: RankedLists, out: Floats, out_ptr: Ints) -> None:
        """Fill out with |Δ| of the share."""
        from rerank.metrics.swaps import fill_pairs

        lists = self._graded(lists)
        scales = inverse(_pairs_in_order(lists)[1])
        fill_pairs(lists.labels, _balances(lists), lists.query_ptr, scales, out, out_ptr)

    def _graded(self, lists: RankedLists) -> RankedLists:
        return replace(lists, labels=self.grades(lists.labels), ideal_labels=self.grades(lists.ideal_labels))


@register("AUC")
@dataclass(frozen=True)
class AUC(PairAccuracy):
    """Share of the pairs of a relevant and a retrieved non-relevant document with the relevant one above the other.

    If all n0 relevant documents are retrieved, this is (S0 - n0 (n0 + 1) / 2) / (n0 n1), where n1 documents are not
    relevant and S0 is the sum of the ranks of the relevant ones, counted from the bottom, from 1. A relevant document
    that is not retrieved is below all retrieved ones. Documents of equal score keep their ranks in the run; they do
    not count as half a pair. A query without such a pair has 0.

    References
    ----------
    D. Hand and R. Till, A Simple Generalisation of the Area Under the ROC Curve for Multiple Class Classification
    Problems, Machine Learning 45, 2001, section 2.

    """

    rel: int = declared(REL)

    def grades(self, labels: Floats) -> Floats:
        """Return whether each document is relevant."""
        return (labels >= self.rel).astype(np.float64)

    def prefix_sum(self, lists: RankedLists) -> PrefixSum:
        """Return the prefix-sum form: minus the number of non-relevant documents above each relevant one."""
        relevant = self.grades(lists.labels)
        pairs = sums(1.0 - relevant, lists.query_ptr) * n_relevant(lists, self.rel)
        discounts = np.ones(measure_depth(lists.query_ptr, None))
        return PrefixSum(-relevant, 1.0 - relevant, np.ones(len(relevant)), discounts, inverse(pairs), initial=0.0)


@measure("Bpref", trec="bpref", aliases={"BPref": {}}, asks_judged=True)  # only documents that are judged count
def bpref(lists: RankedLists, rel: int = REL) -> Floats:
    """Mean over all R relevant documents of 1 - min(n, R) / min(N, R); a document not retrieved has 0.

    n is the number of documents above it that are judged not relevant, of N in the qrels. Unjudged documents, and those
    with a negative label, are ignored.

    References
    ----------
    C. Buckley and E. Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004; with min(N, R) as in
    trec_eval.

    """
    hits = np.flatnonzero(lists.labels >= rel)
    query = query_rows(lists.query_ptr)[hits]
    all_relevant = n_relevant(lists, rel)
    not_relevant = n_judged_zero(lists) + np.diff(lists.ideal_ptr) - all_relevant
    above = relevant_so_far(has_judgement(lists) & (lists.labels < rel), lists.query_ptr)[hits]
    wrong = ratio(np.minimum(above, all_relevant[query]), np.minimum(not_relevant[query], all_relevant[query]))
    return ratio(totals(query, 1.0 - wrong, lists.n_queries), all_relevant)


@measure("GMBpref", trec="gm_bpref", asks_judged=True, averaging=GEOMETRIC)
def geometric_bpref(lists: RankedLists, rel: int = REL) -> Floats:
    """Geometric mean of bpref; values below 0.00001 are raised to it (trec_eval)."""
    return bpref(rel=rel).scores(lists)  # type: ignore[no-any-return]

"""Measures that count pairs of documents in the right order.

A pair is a retrieved document and a better one, retrieved or not. A document that is not retrieved is below all
retrieved ones, so that its pairs are in the wrong order.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rerank.metrics.base import GEOMETRIC, Measure, PrefixSum
from rerank.metrics.parameters import REL, declared
from rerank.metrics.ranked_lists import (
    RankedLists,
    has_judgement,
    inverse,
    measure_depth,
    n_judged_zero,
    n_relevant,
    ratio,
    relevant_so_far,
    sums,
    totals,
)
from rerank.metrics.registry import measure, register
from rerank.types import Floats, Ints, query_rows


def _pairs_in_order(lists: RankedLists) -> tuple[Floats, Floats]:
    """Return for each query the number of pairs in the right order and of all pairs, (n_queries,) float64 each."""
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

    An inversion is a document ranked above a better one. A document that is not retrieved is below every retrieved one.
    A negative label counts as 0. A query without a pair of different labels has 0. With two grades this is AUC.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 4, on the inversions that
    RankNet minimises.

    """

    takes_cutoff: ClassVar[bool] = False

    def grades(self, labels: Floats) -> Floats:
        """Return the grade of each label; two documents of different grades make a pair."""
        return np.maximum(labels, 0.0)

    def scores(self, lists: RankedLists) -> Floats:
        """Return the share of every query."""
        return ratio(*_pairs_in_order(self._graded(lists)))

    def fill_swap_deltas(self, lists: RankedLists, out: Floats, out_ptr: Ints) -> None:
        """Fill `out` with the absolute change of the share."""
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


@measure("Bpref", trec="bpref", asks_judged=True)  # only documents that are judged count
def bpref(lists: RankedLists, rel: int = REL) -> Floats:
    """Mean over all R relevant documents of 1 - min(n, R) / min(N, R); a document not retrieved has 0.

    n documents above it, and N in the qrels, are judged not relevant. Unjudged documents, and those
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

"""nDCG, at a cutoff or averaged over ranks that depend on the query (trec_eval's ndcg_rel and Rndcg)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.discounted import DCG, LINEAR
from rerank.metrics.gains import PLAIN, Gains, GradedMeasure, graded
from rerank.metrics.lists import n_relevant, ranks, ratio, running_sums, totals
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists
from rerank.runtime.arithmetic import log2_of
from rerank.types import Floats, Ints, query_rows


@register("nDCG", trec="ndcg", trec_cut="ndcg_cut", trec_parameter="gains", aliases={"NDCG": "nDCG"})
@dataclass(frozen=True)
class NDCG(DCG):
    """DCG divided by the DCG of the ideal order, with the same gain and cutoff.

    `gains` replaces the gains of some labels. The ideal order contains every judged document, retrieved or not, up to
    the same cutoff. A query without a relevant document has 0, as in trec_eval (1 in LightGBM).

    References
    ----------
    K. Järvelin and J. Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4), 2002.

    """

    gains: Gains = PLAIN

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gains", Gains.of(self.gains))
        if self.gains.pairs and self.dcg != LINEAR:
            raise InvalidInputError(f"nDCG: expected gains or dcg={self.dcg!r}, got both. Leave one out.")

    @property
    def needs_judged(self) -> bool:
        """Whether documents that are judged 0 have a gain."""
        return self.gains.pays_zero

    @property
    def trainable(self) -> bool:
        """Whether moving a larger label up never lowers the value: `gains` need not be monotonic."""
        return not self.gains.pairs

    def scores(self, lists: RankedLists) -> Floats:
        """Return the nDCG of every query."""
        if self.gains.pairs:
            gained, ideal, ideal_ptr = graded(lists, self.gains)
            lists = replace(lists, labels=gained, ideal_labels=ideal, ideal_ptr=ideal_ptr)
        return super().scores(lists)

    def gain_of(self, labels: Floats) -> Floats:
        """Return the label, or 2^label - 1; with `gains`, `scores` has replaced the labels already."""
        return labels if self.gains.pairs else super().gain_of(labels)

    def norms(self, lists: RankedLists) -> Floats:
        """Return the DCG of each query's ideal order."""
        return self.discounted_sums(lists.ideal_labels, lists.ideal_ptr)


@dataclass(frozen=True, eq=False)
class _Curves:
    """DCG up to every rank, of the ranking and of the ideal order.

    dcg, ideal_dcg  (n_rows,), (n_ideal,) float64
    gained, ideal   (n_rows,), (n_ideal,) float64 gains
    """

    dcg: Floats
    query_ptr: Ints
    ideal_dcg: Floats
    ideal_ptr: Ints
    gained: Floats
    ideal: Floats

    @classmethod
    def of(cls, measure: GradedMeasure, lists: RankedLists) -> _Curves:
        """Return the sums of the gains of every query, discounted by log2(1 + rank)."""
        gained, ideal, ideal_ptr = graded(lists, measure.gains)
        curve, best = _curve(gained, lists.query_ptr), _curve(ideal, ideal_ptr)
        return cls(curve, lists.query_ptr, best, ideal_ptr, gained, ideal)

    def at(self, query: Ints, depth: Ints) -> Floats:
        """Return the nDCG of queries at depths from 1; a curve is constant beyond its end, and 0 if it is empty."""
        return ratio(_read(self.dcg, self.query_ptr, query, depth), _read(self.ideal_dcg, self.ideal_ptr, query, depth))


@register("nDCGrel", trec="ndcg_rel", trec_parameter="gains")
@dataclass(frozen=True)
class NDCGRel(GradedMeasure):
    """Mean of nDCG over the ranks of all documents of positive gain; those not retrieved count with the final nDCG."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return the nDCG of every query, averaged."""
        curves = _Curves.of(self, lists)
        counts = np.diff(curves.ideal_ptr)
        hits = np.flatnonzero(curves.gained > 0)
        query = query_rows(lists.query_ptr)[hits]
        n_retrieved = np.bincount(query, minlength=lists.n_queries)
        total = totals(query, curves.at(query, ranks(lists.query_ptr)[hits] + 1), lists.n_queries)
        total += (counts - n_retrieved) * _final(curves)
        return ratio(np.maximum(total, 0.0), counts.astype(np.float64))


@register("RnDCG", trec="Rndcg", trec_parameter="gains", aliases={"Rndcg": "RnDCG"})
@dataclass(frozen=True)
class RnDCG(GradedMeasure):
    """Mean of nDCG at the last rank of each ideal gain, and at the end of a list that is at least two ranks longer.

    With 5 documents of gain 2 and 10 of gain 1, the ranks are 5, 15 and the last. 0 if no label is at least `rel`.
    """

    rel: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.rel, int) or self.rel < 1:
            raise InvalidInputError(f"RnDCG: expected rel of at least 1, got {self.rel!r}.")

    def scores(self, lists: RankedLists) -> Floats:
        """Return the nDCG of every query, averaged."""
        curves = _Curves.of(self, lists)
        query, depth = query_rows(curves.ideal_ptr), ranks(curves.ideal_ptr) + 1
        last = np.flatnonzero((np.diff(curves.ideal, append=0.0) != 0) | (np.diff(query, append=-1) != 0))
        total = totals(query[last], curves.at(query[last], depth[last]), lists.n_queries)
        points = np.bincount(query[last], minlength=lists.n_queries)
        further = np.diff(lists.query_ptr) > np.diff(curves.ideal_ptr) + 1
        total, points = total + further * _final(curves), points + further
        return np.where(n_relevant(lists, self.rel) > 0, ratio(total, points.astype(np.float64)), 0.0)


def _curve(gains: Floats, query_ptr: Ints) -> Floats:
    return running_sums(gains / log2_of(ranks(query_ptr) + 2.0), query_ptr)


def _read(curve: Floats, query_ptr: Ints, query: Ints, depth: Ints) -> Floats:
    depth = np.minimum(depth, np.diff(query_ptr)[query])
    return np.append(curve, 0.0)[np.where(depth > 0, query_ptr[query] + depth - 1, len(curve))]


def _final(curves: _Curves) -> Floats:
    """Return DCG over ideal DCG, each of the whole list."""
    query = np.arange(len(curves.query_ptr) - 1)
    deepest = np.maximum(np.diff(curves.query_ptr), np.diff(curves.ideal_ptr))
    return curves.at(query, deepest)

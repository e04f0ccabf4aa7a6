"""nDCG, at a cutoff or averaged over ranks that depend on the query (trec_eval's ndcg_rel and Rndcg)."""

from dataclasses import dataclass, replace

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.discounted import DCG, EXPONENTIAL, LINEAR
from rerank.metrics.gains import GAINS, GRADED, Gains, graded
from rerank.metrics.parameters import REL, declared
from rerank.metrics.ranked_lists import (
    RankedLists,
    hit_positions,
    n_relevant,
    ranks,
    ratio,
    running_sums,
    totals,
)
from rerank.metrics.registry import measure, register
from rerank.runtime.arithmetic import log2_of
from rerank.types import Floats, Ints, query_rows


@register(
    "nDCG", trec="ndcg", trec_cut="ndcg_cut", trec_parameter="gains", aliases={"ndcg_burges": {"dcg": EXPONENTIAL}}
)
@dataclass(frozen=True)
class NDCG(DCG):
    """DCG divided by the DCG of the ideal order, with the same gain and cutoff.

    `gains` replaces the gains of some labels. The ideal order contains every judged document, retrieved or not, up to
    the same cutoff. A query without a relevant document has 0, as in trec_eval (1 in LightGBM).

    References
    ----------
    K. Järvelin and J. Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4), 2002.

    """

    gains: Gains = declared(GAINS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gains.pairs and self.dcg != LINEAR:
            raise InvalidInputError(f"nDCG: expected gains or dcg={self.dcg!r}, got both. Leave one out.")

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
        """Return the DCG of each query's ideal order, which is computed once for the same lists."""
        if self not in lists.norms:
            lists.norms[self] = self.discounted_sums(lists.ideal_labels, lists.ideal_ptr)
        return lists.norms[self]


def _dcg_at(gains: Floats, query_ptr: Ints, query: Ints, depth: Ints) -> Floats:
    """Return the DCG of queries at depths from 1: beyond its end, a list keeps its last DCG; an empty list has 0."""
    curve = np.append(running_sums(gains / log2_of(ranks(query_ptr) + 2.0), query_ptr), 0.0)
    reached = np.minimum(depth, np.diff(query_ptr)[query])
    return curve[np.where(reached > 0, query_ptr[query] + reached - 1, -1)]


def _sum_and_final(
    lists: RankedLists, gained: Floats, ideal: Floats, ideal_ptr: Ints, query: Ints, depth: Ints
) -> tuple[Floats, Floats]:
    """Return for each query the sum of its nDCG at the given depths, and the nDCG of its whole list.

    query, depth  (n_points,) int64: each point is a query and a depth from 1
    """
    deepest = np.maximum(np.diff(lists.query_ptr), np.diff(ideal_ptr))
    points = np.append(query, np.arange(lists.n_queries)), np.append(depth, deepest)
    values = ratio(_dcg_at(gained, lists.query_ptr, *points), _dcg_at(ideal, ideal_ptr, *points))
    return totals(query, values[: len(query)], lists.n_queries), values[len(query) :]


@measure("nDCGrel", trec="ndcg_rel", **GRADED)
def ndcg_of_relevant(lists: RankedLists, gains: Gains = GAINS) -> Floats:
    """Mean of nDCG over the ranks of all documents of positive gain; one not retrieved has the nDCG of the list."""
    gained, ideal, ideal_ptr = graded(lists, gains)
    query, rank, _ = hit_positions(gained > 0, lists.query_ptr)
    total, final = _sum_and_final(lists, gained, ideal, ideal_ptr, query, rank)
    counts = np.diff(ideal_ptr)
    total += (counts - np.bincount(query, minlength=lists.n_queries)) * final
    return ratio(np.maximum(total, 0.0), counts.astype(np.float64))


@measure("RnDCG", trec="Rndcg", **GRADED)
def r_ndcg(lists: RankedLists, gains: Gains = GAINS, rel: int = REL) -> Floats:
    """Mean of nDCG at the last rank of each ideal gain, and at the end of a list that is at least two ranks longer.

    With 5 documents of gain 2 and 10 of gain 1, the ranks are 5, 15 and the last. 0 if no label is at least `rel`.
    """
    gained, ideal, ideal_ptr = graded(lists, gains)
    query = query_rows(ideal_ptr)
    last = np.flatnonzero((np.diff(ideal, append=0.0) != 0) | (np.diff(query, append=-1) != 0))
    total, final = _sum_and_final(lists, gained, ideal, ideal_ptr, query[last], ranks(ideal_ptr)[last] + 1)
    further = np.diff(lists.query_ptr) > np.diff(ideal_ptr) + 1
    points = np.bincount(query[last], minlength=lists.n_queries) + further
    return np.where(n_relevant(lists, rel) > 0, ratio(total + further * final, points.astype(np.float64)), 0.0)

"""nDCG, at a cutoff or averaged over ranks that depend on the query (trec_eval's ndcg_rel and Rndcg).

Measures that sum gain times discount: DCG and rank-biased precision.

Gains of labels, if they are not the labels themselves (trec_eval's `ndcg.1=3,2=9`), and the measure G.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import (
    BELOW_ONE,
    LEAST_ABOVE_ZERO,
    OPTIONAL_REL,
    REAL,
    REL,
    Measure,
    MeasureParameter,
    RankedLists,
    SwapWeights,
    declared,
    has_judgement,
    hit_positions,
    inverse,
    measure_depth,
    n_judged_zero,
    n_relevant,
    ranks,
    ratio,
    running_sums,
    sums,
    totals,
)
from rerank.metrics.registry import measure, register
from rerank.runtime.arithmetic import exp2_of, log2_of, powers
from rerank.types import Floats, Ints, pointers, query_rows

LINEAR = "log2"
EXPONENTIAL = "exp-log2"
MOST_EXPONENT = 500  # a sum of gains, and its square, stay within float64
PERSISTENCE: Any = MeasureParameter(0.8, "p between 0 and 1", REAL, LEAST_ABOVE_ZERO, BELOW_ONE)


@dataclass(frozen=True)
class DiscountedMeasure(Measure):
    """Sum over ranks of gain(label) * discount(rank), divided by a norm."""

    @abstractmethod
    def gain_of(self, labels: Floats) -> Floats:
        """Return the gain of each label."""

    @abstractmethod
    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return the discount of each 0-based rank, without a cutoff."""

    def norms(self, lists: RankedLists) -> Floats:
        """Return the norm of each query, by which its sum is divided, (n_queries,) float64."""
        return np.ones(lists.n_queries)

    def scores(self, lists: RankedLists) -> Floats:
        """Return the value of every query."""
        return ratio(self.discounted_sums(lists.labels, lists.query_ptr), self.norms(lists))

    def cut_for_training(self, depth: int) -> Measure:
        """Return the measure with the cutoff `depth`, even if it has none: pairs below `depth` have no gradient."""
        return replace(self, cutoff=depth)

    def swap_weights(self, lists: RankedLists) -> SwapWeights:
        """Return gains, discounts and 1 / norm."""
        return SwapWeights(self.gain_of(lists.labels), self._by_rank(lists.query_ptr), inverse(self.norms(lists)))

    def discounted_sums(self, labels: Floats, query_ptr: Ints) -> Floats:
        """Return the sum of each query, (n_queries,) float64, for labels in rank order."""
        gains = self.gain_of(labels)
        query, rank, _ = hit_positions(gains != 0, query_ptr)
        return totals(query, gains[gains != 0] * self._by_rank(query_ptr)[rank - 1], len(query_ptr) - 1)

    def _by_rank(self, query_ptr: Ints) -> Floats:
        rank = np.arange(np.diff(query_ptr).max(initial=0))
        return np.where(rank < measure_depth(query_ptr, self.cutoff), self.discount_of(rank), 0.0)


@register("DCG")
@dataclass(frozen=True)
class DCG(DiscountedMeasure):
    """sum gain / log2(1 + rank).

    The gain is the label (`dcg='log2'`, the default, as in trec_eval) or 2^label - 1 (`dcg='exp-log2'`); a negative
    label has gain 0. Ranks count from 1, and every rank is discounted (Järvelin and Kekäläinen do not discount the
    first two).

    References
    ----------
    K. Järvelin and J. Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4), 2002. For
    2^label - 1: C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 3.

    """

    dcg: str = declared(MeasureParameter(LINEAR, f"dcg='{LINEAR}' or '{EXPONENTIAL}'", choices=(LINEAR, EXPONENTIAL)))

    def gain_of(self, labels: Floats) -> Floats:
        """Return the label, or 2^label - 1."""
        positive = np.maximum(labels, 0.0)
        if self.dcg == LINEAR:
            return positive
        largest = positive.max(initial=0.0)
        if largest > MOST_EXPONENT:
            raise InvalidInputError(
                f"{self.name}: expected labels up to {MOST_EXPONENT} for gains of 2^label - 1, got {largest:g}. Scale "
                "the labels, or take dcg='log2'."
            )
        return exp2_of(positive) - 1.0

    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return 1 / log2(1 + rank), for ranks from 1."""
        return 1.0 / log2_of(rank + 2.0)


@register("RBP", aliases={"rbp": {"p": 0.9}})
@dataclass(frozen=True)
class RBP(DiscountedMeasure):
    """(1 - p) sum gain p^(rank - 1): the expected gain of a user who continues with probability p.

    The gain is 1 for a label of at least `rel` (as in the paper), or the label itself without `rel` (as in
    ir_measures), so that the value may exceed 1 (trec_eval's `rbp` scales the labels of a query to the range from 0
    to 1). A negative label has gain 0. `RBPResidual` is the possible gain of unjudged documents.

    References
    ----------
    A. Moffat and J. Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM TOIS 27(1), 2008.

    """

    p: float = declared(PERSISTENCE)
    rel: int | None = declared(OPTIONAL_REL)

    def gain_of(self, labels: Floats) -> Floats:
        """Return relevance, or the label."""
        return np.maximum(labels, 0.0) if self.rel is None else (labels >= self.rel).astype(np.float64)

    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return (1 - p) p^rank, for ranks from 0."""
        return (1.0 - self.p) * powers(float(self.p), rank)


@measure("RBPResidual", aliases={"rbp_resid": {"p": 0.9}}, asks_judged=True)
def residual(lists: RankedLists, p: float = PERSISTENCE) -> Floats:
    """(1 - p) * sum of p^(rank - 1) over unjudged documents, plus p^n for the documents below the n retrieved ones.

    A negative label is not a judgement. A query without any document has 0, as in every other measure. (trec_eval
    omits p^n for a list without unjudged documents, which then has 0.)

    References
    ----------
    A. Moffat and J. Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM TOIS 27(1), 2008,
    section 4.

    """
    depth = np.diff(lists.query_ptr)
    unknown = np.flatnonzero(~has_judgement(lists))
    weights = np.zeros(len(lists.labels))
    weights[unknown] = (1.0 - p) * powers(p, ranks(lists.query_ptr)[unknown])
    return np.where(depth > 0, sums(weights, lists.query_ptr) + powers(p, depth), 0.0)


@dataclass(frozen=True)
class Gains:
    """Gains by label, `{1: 3, 2: 9}`; the gain of any other label is the label, of a negative label 0.

    Gains may be negative. Judged documents of label 0 may have a gain; unjudged ones have none (trec_eval).
    """

    pairs: tuple[tuple[int, float], ...] = ()

    @classmethod
    def of(cls, gains: Gains | Mapping[int, float]) -> Gains:
        """Return gains as they are, or made of a plain `{label: gain}`."""
        if isinstance(gains, cls):
            return gains
        if not isinstance(gains, Mapping) or not all(
            isinstance(label, int) and isinstance(gain, int | float) and np.isfinite(gain)
            for label, gain in gains.items()
        ):
            raise InvalidInputError(f"gains: expected {{label: gain}}, got {gains!r}. Write e.g. gains={{1:3,2:9}}.")
        return cls(tuple(sorted(gains.items())))

    def __repr__(self) -> str:
        """Return the gains as they are written in the name of a measure."""
        return "{" + ",".join(f"{label}:{gain:g}" for label, gain in self.pairs) + "}"

    @property
    def pays_zero(self) -> bool:
        """Whether documents that are judged 0 have a gain."""
        return any(label == 0 and gain for label, gain in self.pairs)

    def of_labels(self, labels: Floats) -> Floats:
        """Return the gain of each label, if all documents are judged."""
        gains = np.maximum(labels, 0.0)
        for label, gain in self.pairs:
            gains[labels == label] = gain
        return gains


PLAIN = Gains()
GAINS: Any = MeasureParameter(PLAIN, "{label: gain}", convert=Gains.of)
GRADED: dict[str, Any] = {"trec_parameter": "gains", "refuses_training": True}  # a larger label may lower the value


def graded(lists: RankedLists, gains: Gains) -> tuple[Floats, Floats, Ints]:
    """Return the gain of every row, and all positive gains of a query, best first, with their `query_ptr`."""
    if not gains.pairs:
        return np.maximum(lists.labels, 0.0), lists.ideal_labels, lists.ideal_ptr
    gained = gains.of_labels(lists.labels)
    if gains.pays_zero:
        gained *= has_judgement(lists)
    of_zero = n_judged_zero(lists).astype(np.int64) if gains.pays_zero else np.zeros(lists.n_queries, dtype=np.int64)
    query = np.concatenate([query_rows(lists.ideal_ptr), np.repeat(np.arange(lists.n_queries), of_zero)])
    ideal = gains.of_labels(np.concatenate([lists.ideal_labels, np.zeros(of_zero.sum())]))
    query = query[ideal > 0]
    ideal = ideal[ideal > 0]
    return gained, ideal[np.lexsort((-ideal, query))], pointers(np.bincount(query, minlength=lists.n_queries))


@measure("G", trec="G", **GRADED)
def sum_of_gains(lists: RankedLists, gains: Gains = GAINS) -> Floats:
    """Sum of gain / log2(2 + cost - gain so far), divided by the sum of all positive gains.

    The gains are those of the whole list. The cost at a rank is the sum of the ideal gains up to that rank, each at
    least 1.
    """
    gained, ideal, ideal_ptr = graded(lists, gains)
    rank = ranks(lists.query_ptr)
    cost = np.ones(len(gained))
    reached = np.flatnonzero(rank < np.diff(ideal_ptr)[query_rows(lists.query_ptr)])
    cost[reached] = np.maximum(ideal[ideal_ptr[query_rows(lists.query_ptr)[reached]] + rank[reached]], 1.0)
    missed = running_sums(cost, lists.query_ptr) - running_sums(gained, lists.query_ptr)
    return ratio(sums(gained / log2_of(2.0 + missed), lists.query_ptr), sums(ideal, ideal_ptr))


@measure("binG", trec="binG")
def binary_gains(lists: RankedLists, rel: int = REL) -> Floats:
    """Mean over all relevant documents of 1 / log2(2 + non-relevant documents above); 0 for those not retrieved."""
    query, rank, number = hit_positions(lists.labels >= rel, lists.query_ptr)
    return ratio(totals(query, 1.0 / log2_of(2.0 + rank - number), lists.n_queries), n_relevant(lists, rel))


@register("nDCG", trec="ndcg", trec_cut="ndcg_cut", trec_parameter="gains", aliases={"NDCG": {}})
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
        """Return the DCG of each query's ideal order."""
        return self.discounted_sums(lists.ideal_labels, lists.ideal_ptr)


def _dcg_at(gains: Floats, query_ptr: Ints, query: Ints, depth: Ints) -> Floats:
    """Return the DCG of queries at depths from 1; it is constant beyond the end of a list, and 0 if that is empty."""
    curve = np.append(running_sums(gains / log2_of(ranks(query_ptr) + 2.0), query_ptr), 0.0)
    reached = np.minimum(depth, np.diff(query_ptr)[query])
    return curve[np.where(reached > 0, query_ptr[query] + reached - 1, -1)]


def _sum_and_final(
    lists: RankedLists, gained: Floats, ideal: Floats, ideal_ptr: Ints, query: Ints, depth: Ints
) -> tuple[Floats, Floats]:
    """Return the sum of the nDCG of each query over some depths of it, and the nDCG of all of its list."""
    deepest = np.maximum(np.diff(lists.query_ptr), np.diff(ideal_ptr))
    points = np.append(query, np.arange(lists.n_queries)), np.append(depth, deepest)
    values = ratio(_dcg_at(gained, lists.query_ptr, *points), _dcg_at(ideal, ideal_ptr, *points))
    return totals(query, values[: len(query)], lists.n_queries), values[len(query) :]


@measure("nDCGrel", trec="ndcg_rel", **GRADED)
def ndcg_of_relevant(lists: RankedLists, gains: Gains = GAINS) -> Floats:
    """Mean of nDCG over the ranks of all documents of positive gain; those not retrieved count with the final nDCG."""
    gained, ideal, ideal_ptr = graded(lists, gains)
    query, rank, _ = hit_positions(gained > 0, lists.query_ptr)
    total, final = _sum_and_final(lists, gained, ideal, ideal_ptr, query, rank)
    counts = np.diff(ideal_ptr)
    total += (counts - np.bincount(query, minlength=lists.n_queries)) * final
    return ratio(np.maximum(total, 0.0), counts.astype(np.float64))


@measure("RnDCG", trec="Rndcg", aliases={"Rndcg": {}}, **GRADED)
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

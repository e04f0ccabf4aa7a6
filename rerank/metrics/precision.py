"""Precision and recall at a rank, and success, and interpolated precision at levels of recall.

Measures of the set of retrieved documents, and counts of queries and documents; order does not matter.

Shares of judged and unjudged documents in a ranking, and its labels as text.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import (
    LEAST_ABOVE_ZERO,
    OPTIONAL_REL,
    REAL,
    REL,
    TEXT,
    TOTAL,
    BinaryMeasure,
    Measure,
    MeasureParameter,
    RankedLists,
    SwapWeights,
    has_judgement,
    hit_positions,
    in_pool,
    inverse,
    measure_depth,
    n_relevant,
    ranks,
    ratio,
    sums,
    within,
)
from rerank.metrics.registry import measure, register
from rerank.types import Floats, pointers, query_rows
from rerank.types.ids import Ids

MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
RECALLS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
NEAREST = "nearest"
UP = "up"
ROUNDING: Any = MeasureParameter(NEAREST, f"rounding='{NEAREST}' or '{UP}'", choices=(NEAREST, UP))
RECALL: Any = MeasureParameter(None, "recall from 0 to 1", REAL, 0, 1)


@register("P", trec_cut="P", aliases={"Precision": {}})
@dataclass(frozen=True)
class P(BinaryMeasure):
    """Share of relevant documents among the first k; a list shorter than k is still divided by k (trec_eval)."""

    needs_cutoff: ClassVar[bool] = True

    def sizes(self, lists: RankedLists) -> Floats:
        """Return by what the number of relevant documents of each query is divided."""
        return np.full(lists.n_queries, float(self.cutoff or 1))  # needs_cutoff: there is one

    def scores(self, lists: RankedLists) -> Floats:
        """Return the share of every query."""
        return ratio(sums(self.hits(lists), lists.query_ptr), self.sizes(lists))

    def cut_for_training(self, depth: int) -> Measure:
        """Return this measure: only swaps across its own cutoff change it."""
        return self

    def swap_weights(self, lists: RankedLists) -> SwapWeights:
        """Return relevance as gain, a discount of 1 down to rank k, and 1 / size."""
        discounts = (np.arange(measure_depth(lists.query_ptr, None)) < (self.cutoff or 1)).astype(np.float64)
        return SwapWeights(self.relevant(lists.labels).astype(np.float64), discounts, inverse(self.sizes(lists)))


@register("R", trec_cut="recall", aliases={"Recall": {}})
@dataclass(frozen=True)
class R(P):
    """Share of all relevant documents, retrieved or not, that are among the first k (trec_eval)."""

    def sizes(self, lists: RankedLists) -> Floats:
        """Return the number of relevant documents of each query."""
        return n_relevant(lists, self.rel)


def _n_hits(lists: RankedLists, cutoff: int | None, rel: int) -> Floats:
    """Return how many documents of each query up to the cutoff have at least the label `rel`."""
    return sums((lists.labels >= rel) & within(lists.query_ptr, cutoff), lists.query_ptr)


@measure("RelP", trec_cut="relative_P", refuses_training=True)  # P has the same optimal orders; train for P
def relative_precision(lists: RankedLists, cutoff: int, rel: int = REL) -> Floats:
    """Relevant documents among the first k, divided by min(k, R): precision up to rank R, recall below it."""
    return ratio(_n_hits(lists, cutoff, rel), np.minimum(n_relevant(lists, rel), cutoff))


MULT: Any = MeasureParameter(1.0, "mult above 0", REAL, LEAST_ABOVE_ZERO, float(np.finfo(np.float64).max))


@measure(
    "Rprec",
    trec="Rprec",
    trec_cut="Rprec_mult",
    cut_parameter="mult",
    cutoffs=MULTIPLES,
    aliases={"RPrec": {}},
)
def r_precision(lists: RankedLists, rel: int = REL, mult: float = MULT) -> Floats:
    """Share of relevant documents among the first mult * R, rounded up if the fraction is at least .1.

    The divisor is that rank, even if the list is shorter (trec_eval).
    """
    depth = np.floor(mult * n_relevant(lists, rel) + 0.9)
    above = ranks(lists.query_ptr) < depth[query_rows(lists.query_ptr)]
    return ratio(sums((lists.labels >= rel) & above, lists.query_ptr), depth)


@measure("Success", trec_cut="success", cutoffs=(1, 5, 10), refuses_training=True)  # few swaps change it; train for RR
def success(lists: RankedLists, cutoff: int, rel: int = REL) -> Floats:
    """1 if a relevant document is among the first k, else 0."""
    return np.minimum(_n_hits(lists, cutoff, rel), 1.0)


@measure("IPrec", trec_cut="iprec_at_recall", cut_parameter="recall", cutoffs=RECALLS, at="recall")
def interpolated(lists: RankedLists, rel: int = REL, rounding: str = ROUNDING, recall: float = RECALL) -> Floats:
    """Interpolated precision at recall r: the highest precision at or below the rank that reaches that recall.

    That is the rank of relevant document number r * R of R, rounded to the nearest (trec_eval since version 10,
    `rounding='nearest'`, the default) or up if the fraction is at least .1 (trec_eval 9, and so pytrec_eval and
    ir_measures, `rounding='up'`). The level of recall follows the `@`.
    """
    return mean_interpolated(rel=rel, rounding=rounding, recalls=(recall,)).scores(lists)  # type: ignore[no-any-return]


def _levels(recalls: Any) -> tuple[float, ...]:
    """Return levels of recall."""
    levels = tuple(recalls) if isinstance(recalls, tuple | list) else ()
    if not levels:
        raise InvalidInputError(
            f"AvgIPrec: expected recalls, got {recalls!r}. Write e.g. AvgIPrec(recalls=(0.2,0.5,0.8))."
        )
    return tuple(RECALL.read("AvgIPrec", recall) for recall in levels)


LEVELS: Any = MeasureParameter(RECALLS, "recalls", convert=_levels)


@measure("AvgIPrec", trec="11pt_avg", trec_parameter="recalls")
def mean_interpolated(
    lists: RankedLists, rel: int = REL, rounding: str = ROUNDING, recalls: tuple[float, ...] = LEVELS
) -> Floats:
    """Mean of the interpolated precision at several levels of recall, eleven by default."""
    query, rank, number = hit_positions(lists.labels >= rel, lists.query_ptr)
    hit_ptr = pointers(np.bincount(query, minlength=lists.n_queries))
    highest = np.append(number / rank, 0.0)  # the highest precision at or below each relevant document
    for start, end in pairwise(hit_ptr.tolist()):
        highest[start:end] = np.maximum.accumulate(highest[start:end][::-1])[::-1]
    all_relevant = n_relevant(lists, rel)
    total = np.zeros(lists.n_queries)
    for recall in (
        recalls
    ):  # 0 where a list does not reach it; in this order, while the order of np.sum depends on the number of queries
        n_hits = np.floor(recall * all_relevant + (0.5 if rounding == NEAREST else 0.9)).astype(np.int64)
        position = hit_ptr[:-1] + np.maximum(n_hits, 1) - 1
        total += np.where(position < hit_ptr[1:], highest[np.minimum(position, len(highest) - 1)], 0.0)
    return total / len(recalls)


ORDER_FREE: dict[str, Any] = {"refuses_training": True}
COUNT: dict[str, Any] = {"refuses_training": True, "averaging": TOTAL}


def _counts(lists: RankedLists, rel: int) -> tuple[Floats, Floats, Floats]:
    """Return the relevant documents retrieved, those retrieved, and the relevant ones of each query."""
    return _n_hits(lists, None, rel), np.diff(lists.query_ptr).astype(np.float64), n_relevant(lists, rel)


RELATIVE: Any = MeasureParameter(False, "relative=True or False", choices=(True, False))


@measure(
    "SetP",
    trec="set_P",
    aliases={"set_relative_P": {"relative": True}, "SetRelP": {"relative": True}},
    **ORDER_FREE,
)
def set_precision(lists: RankedLists, rel: int = REL, relative: bool = RELATIVE) -> Floats:
    """Share of relevant documents among those retrieved; `relative` to the highest possible for as many documents."""
    n_hits, retrieved, relevant = _counts(lists, rel)
    return ratio(n_hits, np.minimum(retrieved, relevant) if relative else retrieved)


@measure("SetR", trec="set_recall", **ORDER_FREE)
def set_recall(lists: RankedLists, rel: int = REL) -> Floats:
    """Share of relevant documents that are retrieved."""
    return ratio(_n_hits(lists, None, rel), n_relevant(lists, rel))


@measure("SetAP", trec="set_map", **ORDER_FREE)
def set_ap(lists: RankedLists, rel: int = REL) -> Floats:
    """SetP * SetR."""
    n_hits, retrieved, relevant = _counts(lists, rel)
    return ratio(n_hits * n_hits, retrieved * relevant)


BETA: Any = MeasureParameter(1.0, "beta of at least 0", REAL, 0, float(np.finfo(np.float64).max))


@measure("SetF", trec="set_F", trec_parameter="beta", **ORDER_FREE)
def set_f(lists: RankedLists, rel: int = REL, beta: float = BETA) -> Floats:
    """(beta + 1) P R / (beta P + R): trec_eval and ir_measures do not square beta, van Rijsbergen (1979) does."""
    n_hits, retrieved, relevant = _counts(lists, rel)
    precision = ratio(n_hits, retrieved)
    recall = ratio(n_hits, relevant)
    return ratio((beta + 1.0) * precision * recall, beta * precision + recall)


def _four(worth: Any) -> tuple[float, ...]:
    """Return four numbers."""
    if not isinstance(worth, tuple | list) or len(worth) != 4 or not all(isinstance(part, REAL) for part in worth):
        raise InvalidInputError(
            f"Utility: expected four numbers as worth, got {worth!r}. Write e.g. Utility(worth=(2,-1,0,0))."
        )
    return tuple(worth)


WORTH: Any = MeasureParameter((1.0, -1.0, 0.0, 0.0), "four numbers as worth", convert=_four)
N_DOCS: Any = MeasureParameter(0, "a number of documents as n_docs", low=0)


@measure("Utility", trec="utility", trec_parameter="worth", **ORDER_FREE)
def utility(lists: RankedLists, rel: int = REL, worth: tuple[float, ...] = WORTH, n_docs: int = N_DOCS) -> Floats:
    """worth[0] * relevant retrieved + worth[1] * others retrieved + worth[2] * relevant missed + worth[3] * the rest.

    The rest is counted in a collection of `n_docs` documents, 0 by default (trec_eval's -N). Unjudged documents are
    not relevant.
    """
    n_hits, retrieved, relevant = _counts(lists, rel)
    rest = n_docs + n_hits - retrieved - relevant
    a, b, c, d = worth
    return a * n_hits + b * (retrieved - n_hits) + c * (relevant - n_hits) + d * rest


@measure("NumQ", trec="num_q", **COUNT)
def n_queries(lists: RankedLists) -> Floats:
    """1 for each query."""
    return np.ones(lists.n_queries)


@measure("NumRet", trec="num_ret", aliases={"num_rel_ret": {"rel": 1}, "NumRelRet": {"rel": 1}}, **COUNT)
def n_retrieved(lists: RankedLists, rel: int | None = OPTIONAL_REL) -> Floats:
    """Number of documents retrieved; with `rel`, of those with at least that label."""
    if rel is None:
        return np.diff(lists.query_ptr).astype(np.float64)
    return sums(lists.labels >= rel, lists.query_ptr)


@measure("NumRel", trec="num_rel", **COUNT)
def n_of_relevant(lists: RankedLists, rel: int = REL) -> Floats:
    """Number of relevant documents, retrieved or not."""
    return n_relevant(lists, rel)


@measure("NumNonrelRet", trec="num_nonrel_judged_ret", asks_judged=True, **COUNT)
def n_not_relevant(lists: RankedLists, rel: int = REL) -> Floats:
    """Number of retrieved documents that are judged not relevant, without unjudged ones and negative labels."""
    return sums(has_judgement(lists) & (lists.labels < rel), lists.query_ptr)


@measure("Judged", asks_judged=True)
def judged(lists: RankedLists, cutoff: int | None = None) -> Floats:
    """Share of the first k documents, or of all, that are in the qrels, with any label (ir_measures).

    The divisor is at most the length of the list. Ties are broken as in trec_eval, which ir_measures reverses.
    """
    depth = np.diff(lists.query_ptr).astype(np.float64)
    known = sums(in_pool(lists) & within(lists.query_ptr, cutoff), lists.query_ptr)
    return ratio(known, depth if cutoff is None else np.minimum(depth, cutoff))


@measure("Unjudged", trec_cut="unj", cutoffs=(5, 10, 20), asks_judged=True)
def unjudged(lists: RankedLists, cutoff: int) -> Floats:
    """Share of unjudged documents among the first k; a negative label is not a judgement (trec_eval's `unj`)."""
    return sums(~has_judgement(lists) & within(lists.query_ptr, cutoff), lists.query_ptr) / cutoff


@measure("RelString", trec="relstring", trec_parameter="cutoff", averaging=TEXT, asks_judged=True)
def label_string(lists: RankedLists, cutoff: int = 10) -> Ids:
    """Text with one character for each of the first k documents, 10 by default (trec_eval); it has no mean.

    The character is the label from 0 to 9, `>` for a larger one, `.` for a negative one (in the pool, not judged) and
    `-` for a document that is not in the qrels.
    """
    digits = np.maximum(lists.labels, 0).astype(np.int64).astype("U1")
    letters = np.select([~in_pool(lists), lists.labels < 0, lists.labels > 9], ["-", ".", ">"], digits).tolist()
    bounds = pairwise(lists.query_ptr.tolist())
    return np.array(["".join(letters[start : min(end, start + cutoff)]) for start, end in bounds], dtype=np.str_)

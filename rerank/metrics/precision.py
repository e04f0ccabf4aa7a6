"""Precision and recall at a rank, and success, and interpolated precision at levels of recall."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import BinaryMeasure, Measure, SwapWeights
from rerank.metrics.parameters import LEAST_ABOVE_ZERO, REAL, REL, MeasureParameter
from rerank.metrics.ranked_lists import (
    RankedLists,
    hit_positions,
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

MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
RECALLS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
NEAREST = "nearest"
UP = "up"
LEVEL_ROUNDING: Any = MeasureParameter(NEAREST, f"rounding='{NEAREST}' or '{UP}'", choices=(NEAREST, UP))
RECALL: Any = MeasureParameter(None, "recall from 0 to 1", REAL, 0, 1)


@register("P", trec_cut="P", aliases={"Precision": {}})
@dataclass(frozen=True)
class P(BinaryMeasure):
    """Share of relevant documents among the first k; a list shorter than k is still divided by k (trec_eval)."""

    needs_cutoff: ClassVar[bool] = True

    def sizes(self, lists: RankedLists) -> Floats:
        """Return the number that each query's number of relevant documents is divided by."""
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


@register("R", trec_cut="recall")
@dataclass(frozen=True)
class R(P):
    """Share of all relevant documents, retrieved or not, that are among the first k (trec_eval)."""

    def sizes(self, lists: RankedLists) -> Floats:
        """Return the number of relevant documents of each query."""
        return n_relevant(lists, self.rel)


def n_hits(lists: RankedLists, cutoff: int | None, rel: int) -> Floats:
    """Return how many documents of each query up to the cutoff have at least the label `rel`."""
    return sums((lists.labels >= rel) & within(lists.query_ptr, cutoff), lists.query_ptr)


@measure(
    "RelP",
    trec_cut="relative_P",
    aliases={"Recall_cap": {}, "R_cap": {}},  # of BEIR
    refuses_training=True,  # P has the same optimal orders; train for P
)
def relative_precision(lists: RankedLists, cutoff: int, rel: int = REL) -> Floats:
    """Relevant documents among the first k, divided by min(k, R): precision up to rank R, recall below it."""
    return ratio(n_hits(lists, cutoff, rel), np.minimum(n_relevant(lists, rel), cutoff))


MULT: Any = MeasureParameter(1.0, "mult above 0", REAL, LEAST_ABOVE_ZERO, float(np.finfo(np.float64).max))


@measure(
    "Rprec",
    trec="Rprec",
    trec_cut="Rprec_mult",
    cut_parameter="mult",
    cutoffs=MULTIPLES,
    aliases={"r-precision": {}},
)
def r_precision(lists: RankedLists, rel: int = REL, mult: float = MULT) -> Floats:
    """Share of relevant documents among the first mult * R, rounded up if the fraction is at least .1.

    The divisor is that rank, even if the list is shorter (trec_eval).
    """
    depth = np.floor(mult * n_relevant(lists, rel) + 0.9)
    above = ranks(lists.query_ptr) < depth[query_rows(lists.query_ptr)]
    return ratio(sums((lists.labels >= rel) & above, lists.query_ptr), depth)


@measure(
    "Success",
    trec_cut="success",
    cutoffs=(1, 5, 10),
    aliases={"hit_rate": {}, "Hit": {}, "HR": {}},
    refuses_training=True,  # few swaps change it; train for RR
)
def success(lists: RankedLists, cutoff: int, rel: int = REL) -> Floats:
    """1 if a relevant document is among the first k, else 0."""
    return np.minimum(n_hits(lists, cutoff, rel), 1.0)


@measure("IPrec", trec_cut="iprec_at_recall", cut_parameter="recall", cutoffs=RECALLS, at="recall")
def interpolated(lists: RankedLists, rel: int = REL, rounding: str = LEVEL_ROUNDING, recall: float = RECALL) -> Floats:
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
    lists: RankedLists, rel: int = REL, rounding: str = LEVEL_ROUNDING, recalls: tuple[float, ...] = LEVELS
) -> Floats:
    """Mean of the interpolated precision at several levels of recall, eleven by default."""
    query, rank, number = hit_positions(lists.labels >= rel, lists.query_ptr)
    hit_ptr = pointers(np.bincount(query, minlength=lists.n_queries))
    highest = np.append(number / rank, 0.0)  # the highest precision at or below each relevant document
    for start, end in pairwise(hit_ptr.tolist()):
        highest[start:end] = np.maximum.accumulate(highest[start:end][::-1])[::-1]
    all_relevant = n_relevant(lists, rel)
    total = np.zeros(lists.n_queries)
    # In a loop, for one order of the sum: np.sum has another one for another number of queries.
    for recall in recalls:
        n_hits = np.floor(recall * all_relevant + (0.5 if rounding == NEAREST else 0.9)).astype(np.int64)
        position = hit_ptr[:-1] + np.maximum(n_hits, 1) - 1
        # A list that does not reach the level adds 0.
        total += np.where(position < hit_ptr[1:], highest[np.minimum(position, len(highest) - 1)], 0.0)
    return total / len(recalls)

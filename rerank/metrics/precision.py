"""Precision and recall at a rank, and success, and interpolated precision at levels of recall."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import BinaryMeasure, Measure
from rerank.metrics.lists import hit_positions, inverse, measure_depth, n_relevant, ranks, ratio, sums
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists, SwapWeights
from rerank.types import Floats, Ints, pointers, query_rows


@register("P", trec_cut="P", aliases={"Precision": "P"})
@dataclass(frozen=True)
class P(BinaryMeasure):
    """Share of relevant documents among the first k; a list shorter than k is still divided by k (trec_eval)."""

    needs_cutoff: ClassVar[bool] = True

    def scores(self, lists: RankedLists) -> Floats:
        """Return the precision of every query."""
        return sums(self.hits(lists), lists.query_ptr) / self._depth

    def cut_for_training(self, depth: int) -> Measure:
        """Return this measure: only swaps across its own cutoff change it."""
        return self

    def swap_weights(self, lists: RankedLists) -> SwapWeights:
        """Return relevance as gain, and a discount of 1 / k down to rank k."""
        discounts = (np.arange(measure_depth(lists.query_ptr, None)) < self._depth) / self._depth
        return SwapWeights(self.relevant(lists.labels).astype(np.float64), discounts, np.ones(lists.n_queries))

    @property
    def _depth(self) -> int:
        return self.cutoff or 1  # needs_cutoff: there is one


@register("R", trec_cut="recall", aliases={"Recall": "R"})
@dataclass(frozen=True)
class R(BinaryMeasure):
    """Share of all relevant documents, retrieved or not, that are among the first k (trec_eval)."""

    needs_cutoff: ClassVar[bool] = True

    def scores(self, lists: RankedLists) -> Floats:
        """Return the recall of every query."""
        return ratio(sums(self.hits(lists), lists.query_ptr), n_relevant(lists, self.rel))

    def cut_for_training(self, depth: int) -> Measure:
        """Return this measure: only swaps across its own cutoff change it."""
        return self

    def swap_weights(self, lists: RankedLists) -> SwapWeights:
        """Return relevance as gain, a discount of 1 down to rank k, and 1 / number of relevant documents."""
        discounts = (np.arange(measure_depth(lists.query_ptr, None)) < (self.cutoff or 0)).astype(np.float64)
        gains = self.relevant(lists.labels).astype(np.float64)
        return SwapWeights(gains, discounts, inverse(n_relevant(lists, self.rel)))


@register("RelP", trec_cut="relative_P")
@dataclass(frozen=True)
class RelP(BinaryMeasure):
    """Relevant documents among the first k, divided by min(k, R): precision up to rank R, recall below it."""

    needs_cutoff: ClassVar[bool] = True
    refuses_training: ClassVar[bool] = True  # P has the same optimal orders; train for P

    def scores(self, lists: RankedLists) -> Floats:
        """Return the relative precision of every query."""
        best = np.minimum(n_relevant(lists, self.rel), self.cutoff or 0)  # needs_cutoff: there is one
        return ratio(sums(self.hits(lists), lists.query_ptr), best)


MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


@register(
    "Rprec",
    trec="Rprec",
    trec_cut="Rprec_mult",
    cut_parameter="mult",
    cutoffs=MULTIPLES,
    aliases={"RPrec": "Rprec"},
)
@dataclass(frozen=True)
class Rprec(BinaryMeasure):
    """Share of relevant documents among the first mult * R, rounded up if the fraction is at least .1.

    The divisor is that rank, even if the list is shorter (trec_eval).
    """

    mult: float = 1.0
    takes_cutoff: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.mult, int | float) or not 0 < self.mult < np.inf:
            raise InvalidInputError(f"Rprec: expected mult above 0, got {self.mult!r}. Write e.g. Rprec(mult=0.5).")

    def scores(self, lists: RankedLists) -> Floats:
        """Return the precision of every query."""
        depth = np.floor(self.mult * n_relevant(lists, self.rel) + 0.9)
        above = ranks(lists.query_ptr) < depth[query_rows(lists.query_ptr)]
        return ratio(sums(self.relevant(lists.labels) & above, lists.query_ptr), depth)


@register("Success", trec_cut="success", cutoffs=(1, 5, 10))
@dataclass(frozen=True)
class Success(BinaryMeasure):
    """1 if a relevant document is among the first k, else 0."""

    needs_cutoff: ClassVar[bool] = True
    refuses_training: ClassVar[bool] = True  # few swaps change it; train for RR

    def scores(self, lists: RankedLists) -> Floats:
        """Return the success of every query."""
        return np.minimum(sums(self.hits(lists), lists.query_ptr), 1.0)


RECALLS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
NEAREST, UP = "nearest", "up"


@dataclass(frozen=True)
class _Interpolated(BinaryMeasure):
    """Interpolated precision at recall r: the highest precision at or below the rank that reaches that recall.

    That is the rank of relevant document number r * R of R, rounded to the nearest (trec_eval since version 10,
    `rounding='nearest'`, the default) or up if the fraction is at least .1 (trec_eval 9, and so pytrec_eval and
    ir_measures, `rounding='up'`).
    """

    rounding: str = NEAREST
    takes_cutoff: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounding not in (NEAREST, UP):
            raise InvalidInputError(
                f"{self.symbol}: expected rounding='{NEAREST}' or '{UP}', got {self.rounding!r}. Write one of them."
            )

    def check_recall(self, recall: object) -> None:
        """Refuse anything but a number from 0 to 1."""
        if not isinstance(recall, int | float) or not 0 <= recall <= 1:
            raise InvalidInputError(
                f"{self.symbol}: expected recall from 0 to 1, got {recall!r}. Write e.g. IPrec@0.5."
            )

    def at_recall(self, curve: tuple[Floats, Ints], all_relevant: Floats, recall: float) -> Floats:
        """Return the interpolated precision of every query; 0 if its recall stays below."""
        precision, hit_ptr = curve
        n_hits = np.floor(recall * all_relevant + (0.5 if self.rounding == NEAREST else 0.9)).astype(np.int64)
        position = hit_ptr[:-1] + np.maximum(n_hits, 1) - 1
        return np.where(position < hit_ptr[1:], np.append(precision, 0.0)[np.minimum(position, len(precision))], 0.0)

    def curve(self, lists: RankedLists) -> tuple[Floats, Ints]:
        """Return for each relevant row the highest precision at or below it, and the `query_ptr` of those rows."""
        query, rank, number = hit_positions(self.relevant(lists.labels), lists.query_ptr)
        hit_ptr = pointers(np.bincount(query, minlength=lists.n_queries))
        return _highest_below(number / rank, hit_ptr), hit_ptr


@register("IPrec", trec_cut="iprec_at_recall", cut_parameter="recall", cutoffs=RECALLS)
@dataclass(frozen=True)
class IPrec(_Interpolated):
    """Interpolated precision at one level of recall, which follows the `@`."""

    recall: float | None = None
    at: ClassVar[str] = "recall"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_recall(self.recall)

    def scores(self, lists: RankedLists) -> Floats:
        """Return the interpolated precision of every query."""
        return self.at_recall(self.curve(lists), n_relevant(lists, self.rel), self.recall or 0.0)


@register("AvgIPrec", trec="11pt_avg", trec_parameter="recalls")
@dataclass(frozen=True)
class AvgIPrec(_Interpolated):
    """Mean of the interpolated precision at several levels of recall, eleven by default."""

    recalls: tuple[float, ...] = RECALLS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.recalls, Iterable):
            raise InvalidInputError(
                f"AvgIPrec: expected recalls, got {self.recalls!r}. Write e.g. AvgIPrec(recalls=(0.2,0.5,0.8))."
            )
        object.__setattr__(self, "recalls", tuple(self.recalls))
        if not self.recalls:
            raise InvalidInputError("AvgIPrec: expected recalls, got none. Write e.g. AvgIPrec(recalls=(0.2,0.5,0.8)).")
        for recall in self.recalls:
            self.check_recall(recall)

    def scores(self, lists: RankedLists) -> Floats:
        """Return the averaged precision of every query."""
        curve, all_relevant = self.curve(lists), n_relevant(lists, self.rel)
        total = np.zeros(lists.n_queries)
        for recall in self.recalls:  # in this order, while the order of np.sum depends on the number of queries
            total += self.at_recall(curve, all_relevant, recall)
        return total / len(self.recalls)


def _highest_below(precision: NDArray[np.float64], hit_ptr: Ints) -> Floats:
    highest = precision.copy()
    for start, end in pairwise(hit_ptr.tolist()):
        highest[start:end] = np.maximum.accumulate(precision[start:end][::-1])[::-1]
    return highest

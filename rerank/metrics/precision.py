"""Precision and recall at a rank, and success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import BinaryMeasure, Measure
from rerank.metrics.lists import n_relevant, ranks, ratio, sums, within
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists, SwapWeights
from rerank.types import Floats, Ints, query_rows


@register("P", trec_cut="P", aliases={"Precision": "P"})
@dataclass(frozen=True)
class P(BinaryMeasure):
    """Share of relevant documents among the first k; a list shorter than k is still divided by k (trec_eval)."""

    needs_cutoff: ClassVar[bool] = True

    def scores(self, lists: RankedLists) -> Floats:
        """Return the precision of every query."""
        hits = self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)
        return sums(hits, lists.query_ptr) / self._depth

    def cut_for_training(self, depth: int) -> Measure:
        """Return this measure: only swaps across its own cutoff change it."""
        return self

    def swap_weights(self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints) -> SwapWeights:
        """Return relevance as gain, and a discount of 1 / k down to rank k."""
        longest = int(np.diff(query_ptr).max(initial=0))
        discounts = (np.arange(longest) < self._depth) / self._depth
        return SwapWeights(self.relevant(labels).astype(np.float64), discounts, np.ones(len(query_ptr) - 1))

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
        hits = self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)
        return ratio(sums(hits, lists.query_ptr), n_relevant(lists, self.rel))

    def cut_for_training(self, depth: int) -> Measure:
        """Return this measure: only swaps across its own cutoff change it."""
        return self

    def swap_weights(self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints) -> SwapWeights:
        """Return relevance as gain, a discount of 1 down to rank k, and 1 / number of relevant documents."""
        longest = int(np.diff(query_ptr).max(initial=0))
        all_relevant = sums(self.relevant(ideal_labels), ideal_ptr)
        discounts = (np.arange(longest) < (self.cutoff or 0)).astype(np.float64)
        return SwapWeights(
            self.relevant(labels).astype(np.float64), discounts, ratio(np.ones_like(all_relevant), all_relevant)
        )


@register("RelP", trec_cut="relative_P")
@dataclass(frozen=True)
class RelP(BinaryMeasure):
    """Relevant documents among the first k, divided by min(k, R): precision up to rank R, recall below it."""

    needs_cutoff: ClassVar[bool] = True
    refuses_training: ClassVar[bool] = True  # P has the same optimal orders; train for P

    def scores(self, lists: RankedLists) -> Floats:
        """Return the relative precision of every query."""
        hits = self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)
        best = np.minimum(n_relevant(lists, self.rel), self.cutoff or 0)  # needs_cutoff: there is one
        return ratio(sums(hits, lists.query_ptr), best)


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
        hits = self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)
        return np.minimum(sums(hits, lists.query_ptr), 1.0)

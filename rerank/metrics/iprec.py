"""Interpolated precision at levels of recall, and its mean."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import BinaryMeasure
from rerank.metrics.lists import hit_positions, n_relevant
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists
from rerank.types import Floats, Ints, pointers

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

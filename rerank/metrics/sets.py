"""Measures of the set of retrieved documents, which do not depend on their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.lists import n_relevant, ratio, sums
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists
from rerank.types import Floats


@dataclass(frozen=True)
class _SetMeasure(BinaryMeasure):
    """A measure of three counts: relevant and retrieved, retrieved, and relevant documents."""

    takes_cutoff: ClassVar[bool] = False
    refuses_training: ClassVar[bool] = True  # no order changes it

    def counts(self, lists: RankedLists) -> tuple[Floats, Floats, Floats]:
        """Return relevant and retrieved, retrieved, and relevant documents of every query."""
        n_hits = sums(self.relevant(lists.labels), lists.query_ptr)
        return n_hits, np.diff(lists.query_ptr).astype(np.float64), n_relevant(lists, self.rel)


@register("SetP", trec="set_P", aliases={"set_relative_P": "SetP(relative=True)", "SetRelP": "SetP(relative=True)"})
@dataclass(frozen=True)
class SetP(_SetMeasure):
    """Share of relevant documents among those retrieved; `relative` to the highest possible for as many documents."""

    relative: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.relative, bool):
            raise InvalidInputError(f"SetP: expected relative=True or False, got {self.relative!r}.")

    def scores(self, lists: RankedLists) -> Floats:
        """Return the precision of every query."""
        n_hits, retrieved, relevant = self.counts(lists)
        return ratio(n_hits, np.minimum(retrieved, relevant) if self.relative else retrieved)


@register("SetR", trec="set_recall")
@dataclass(frozen=True)
class SetR(_SetMeasure):
    """Share of relevant documents that are retrieved."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return the recall of every query."""
        n_hits, _, relevant = self.counts(lists)
        return ratio(n_hits, relevant)


@register("SetAP", trec="set_map")
@dataclass(frozen=True)
class SetAP(_SetMeasure):
    """SetP * SetR."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return the product of precision and recall of every query."""
        n_hits, retrieved, relevant = self.counts(lists)
        return ratio(n_hits * n_hits, retrieved * relevant)


@register("SetF", trec="set_F", trec_parameter="beta")
@dataclass(frozen=True)
class SetF(_SetMeasure):
    """(beta + 1) P R / (beta P + R): trec_eval and ir_measures do not square beta, van Rijsbergen (1979) does."""

    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.beta, int | float) or not 0 <= self.beta < np.inf:
            raise InvalidInputError(f"SetF: expected beta of at least 0, got {self.beta!r}. Write e.g. SetF(beta=2.0).")

    def scores(self, lists: RankedLists) -> Floats:
        """Return the weighted harmonic mean of precision and recall of every query."""
        n_hits, retrieved, relevant = self.counts(lists)
        precision, recall = ratio(n_hits, retrieved), ratio(n_hits, relevant)
        return ratio((self.beta + 1.0) * precision * recall, self.beta * precision + recall)

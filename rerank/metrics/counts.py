"""Counts of queries and documents, which are summed over queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import TOTAL, Measure
from rerank.metrics.lists import has_judgement, n_relevant, sums
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists
from rerank.types import Floats


@register("NumQ", trec="num_q")
@dataclass(frozen=True)
class NumQ(Measure):
    """1 for each query."""

    averaging: ClassVar[str] = TOTAL
    takes_cutoff: ClassVar[bool] = False
    refuses_training: ClassVar[bool] = True  # no order changes it

    def scores(self, lists: RankedLists) -> Floats:
        """Return 1 for every query."""
        return np.ones(lists.n_queries)


@register("NumRet", trec="num_ret", aliases={"num_rel_ret": "NumRet(rel=1)", "NumRelRet": "NumRet(rel=1)"})
@dataclass(frozen=True)
class NumRet(Measure):
    """Number of documents retrieved; with `rel`, of those with at least that label."""

    rel: int | None = None
    averaging: ClassVar[str] = TOTAL
    takes_cutoff: ClassVar[bool] = False
    refuses_training: ClassVar[bool] = True  # no order changes it

    def __post_init__(self) -> None:
        if self.rel is not None and (not isinstance(self.rel, int) or self.rel < 1):
            raise InvalidInputError(f"NumRet: expected rel of at least 1, got {self.rel!r}.")

    def scores(self, lists: RankedLists) -> Floats:
        """Return the number of documents of every query."""
        if self.rel is None:
            return np.diff(lists.query_ptr).astype(np.float64)
        return sums(lists.labels >= self.rel, lists.query_ptr)


@register("NumRel", trec="num_rel")
@dataclass(frozen=True)
class NumRel(BinaryMeasure):
    """Number of relevant documents, retrieved or not."""

    averaging: ClassVar[str] = TOTAL
    takes_cutoff: ClassVar[bool] = False
    refuses_training: ClassVar[bool] = True  # no order changes it

    def scores(self, lists: RankedLists) -> Floats:
        """Return the number of relevant documents of every query."""
        return n_relevant(lists, self.rel)


@register("NumNonrelRet", trec="num_nonrel_judged_ret")
@dataclass(frozen=True)
class NumNonrelRet(BinaryMeasure):
    """Number of retrieved documents that are judged not relevant, without unjudged ones and negative labels."""

    averaging: ClassVar[str] = TOTAL
    takes_cutoff: ClassVar[bool] = False
    asks_judged: ClassVar[bool] = True  # only documents that are judged count

    def scores(self, lists: RankedLists) -> Floats:
        """Return the number of such documents of every query."""
        return sums(has_judgement(lists) & (lists.labels < self.rel), lists.query_ptr)

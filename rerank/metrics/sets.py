"""Measures of the set of retrieved documents, and counts of queries and documents; order does not matter."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import TOTAL, BinaryMeasure, Measure
from rerank.metrics.lists import has_judgement, n_relevant, ratio, sums
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists
from rerank.types import Floats


@dataclass(frozen=True)
class _OrderFree(Measure):
    """A measure that no order of the documents changes."""

    takes_cutoff: ClassVar[bool] = False
    refuses_training: ClassVar[bool] = True


@dataclass(frozen=True)
class _Count(_OrderFree):
    """A number that is summed over the queries."""

    averaging: ClassVar[str] = TOTAL


@dataclass(frozen=True)
class _SetMeasure(_OrderFree, BinaryMeasure):
    """A measure of three counts: relevant and retrieved, retrieved, and relevant documents."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return the value of every query."""
        n_hits = sums(self.relevant(lists.labels), lists.query_ptr)
        return self.of_counts(n_hits, np.diff(lists.query_ptr).astype(np.float64), n_relevant(lists, self.rel))

    @abstractmethod
    def of_counts(self, n_hits: Floats, retrieved: Floats, relevant: Floats) -> Floats:
        """Return the value of every query from its counts, (n_queries,) float64 each."""


@register("SetP", trec="set_P", aliases={"set_relative_P": "SetP(relative=True)", "SetRelP": "SetP(relative=True)"})
@dataclass(frozen=True)
class SetP(_SetMeasure):
    """Share of relevant documents among those retrieved; `relative` to the highest possible for as many documents."""

    relative: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.relative, bool):
            raise InvalidInputError(f"SetP: expected relative=True or False, got {self.relative!r}.")

    def of_counts(self, n_hits: Floats, retrieved: Floats, relevant: Floats) -> Floats:
        """Return the precision of every query."""
        return ratio(n_hits, np.minimum(retrieved, relevant) if self.relative else retrieved)


@register("SetR", trec="set_recall")
@dataclass(frozen=True)
class SetR(_SetMeasure):
    """Share of relevant documents that are retrieved."""

    def of_counts(self, n_hits: Floats, retrieved: Floats, relevant: Floats) -> Floats:
        """Return the recall of every query."""
        return ratio(n_hits, relevant)


@register("SetAP", trec="set_map")
@dataclass(frozen=True)
class SetAP(_SetMeasure):
    """SetP * SetR."""

    def of_counts(self, n_hits: Floats, retrieved: Floats, relevant: Floats) -> Floats:
        """Return the product of precision and recall of every query."""
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

    def of_counts(self, n_hits: Floats, retrieved: Floats, relevant: Floats) -> Floats:
        """Return the weighted harmonic mean of precision and recall of every query."""
        precision, recall = ratio(n_hits, retrieved), ratio(n_hits, relevant)
        return ratio((self.beta + 1.0) * precision * recall, self.beta * precision + recall)


@register("NumQ", trec="num_q")
@dataclass(frozen=True)
class NumQ(_Count):
    """1 for each query."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return 1 for every query."""
        return np.ones(lists.n_queries)


@register("NumRet", trec="num_ret", aliases={"num_rel_ret": "NumRet(rel=1)", "NumRelRet": "NumRet(rel=1)"})
@dataclass(frozen=True)
class NumRet(_Count):
    """Number of documents retrieved; with `rel`, of those with at least that label."""

    rel: int | None = None

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
class NumRel(_Count, BinaryMeasure):
    """Number of relevant documents, retrieved or not."""

    def scores(self, lists: RankedLists) -> Floats:
        """Return the number of relevant documents of every query."""
        return n_relevant(lists, self.rel)


@register("NumNonrelRet", trec="num_nonrel_judged_ret")
@dataclass(frozen=True)
class NumNonrelRet(_Count, BinaryMeasure):
    """Number of retrieved documents that are judged not relevant, without unjudged ones and negative labels."""

    asks_judged: ClassVar[bool] = True  # only documents that are judged count

    def scores(self, lists: RankedLists) -> Floats:
        """Return the number of such documents of every query."""
        return sums(has_judgement(lists) & (lists.labels < self.rel), lists.query_ptr)


@register("Utility", trec="utility", trec_parameter="worth")
@dataclass(frozen=True)
class Utility(_SetMeasure):
    """worth[0] * relevant retrieved + worth[1] * others retrieved + worth[2] * relevant missed + worth[3] * the rest.

    The rest is counted in a collection of `n_docs` documents, 0 by default (trec_eval's -N). Unjudged documents are
    not relevant.
    """

    worth: tuple[float, ...] = (1.0, -1.0, 0.0, 0.0)
    n_docs: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "worth", tuple(self.worth) if isinstance(self.worth, Iterable) else (self.worth,))
        if not isinstance(self.n_docs, int) or self.n_docs < 0:
            raise InvalidInputError(
                f"Utility: expected a number of documents as n_docs, got {self.n_docs!r}. Write Utility(n_docs=1000)."
            )
        if len(self.worth) != 4 or not all(isinstance(part, int | float) for part in self.worth):
            raise InvalidInputError(
                f"Utility: expected four numbers as worth, got {self.worth!r}. Write e.g. Utility(worth=(2,-1,0,0))."
            )

    def of_counts(self, n_hits: Floats, retrieved: Floats, relevant: Floats) -> Floats:
        """Return the utility of every query."""
        rest = self.n_docs + n_hits - retrieved - relevant
        a, b, c, d = self.worth
        return a * n_hits + b * (retrieved - n_hits) + c * (relevant - n_hits) + d * rest

"""Precision and recall at a rank, and success, and interpolated precision at levels of recall.

Measures of the set of retrieved documents, and counts of queries and documents; order does not matter.

Shares of judged and unjudged documents in a ranking, and its labels as text.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import (
    TEXT,
    TOTAL,
    BinaryMeasure,
    Measure,
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
from rerank.metrics.registry import register
from rerank.types import Floats, Ints, pointers, query_rows
from rerank.types.ids import Ids

MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
RECALLS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
NEAREST = "nearest"
UP = "up"


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
        curve = self.curve(lists)
        all_relevant = n_relevant(lists, self.rel)
        total = np.zeros(lists.n_queries)
        for recall in self.recalls:  # in this order, while the order of np.sum depends on the number of queries
            total += self.at_recall(curve, all_relevant, recall)
        return total / len(self.recalls)


def _highest_below(precision: NDArray[np.float64], hit_ptr: Ints) -> Floats:
    highest = precision.copy()
    for start, end in pairwise(hit_ptr.tolist()):
        highest[start:end] = np.maximum.accumulate(precision[start:end][::-1])[::-1]
    return highest


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
        precision = ratio(n_hits, retrieved)
        recall = ratio(n_hits, relevant)
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


@register("Judged")
@dataclass(frozen=True)
class Judged(Measure):
    """Share of the first k documents, or of all, that are in the qrels, with any label (ir_measures).

    The divisor is at most the length of the list. Ties are broken as in trec_eval, which ir_measures reverses.
    """

    asks_judged: ClassVar[bool] = True  # it is what it measures

    def scores(self, lists: RankedLists) -> Floats:
        """Return the share of every query."""
        above = within(lists.query_ptr, self.cutoff)
        depth = np.diff(lists.query_ptr).astype(np.float64)
        known = sums(in_pool(lists) & above, lists.query_ptr)
        return ratio(known, depth if self.cutoff is None else np.minimum(depth, self.cutoff))


@register("Unjudged", trec_cut="unj", cutoffs=(5, 10, 20))
@dataclass(frozen=True)
class Unjudged(Measure):
    """Share of unjudged documents among the first k; a negative label is not a judgement (trec_eval's `unj`)."""

    asks_judged: ClassVar[bool] = True  # it is what it measures

    def __post_init__(self) -> None:
        if self.cutoff is None:
            raise InvalidInputError("Unjudged: expected a cutoff, got none. Write e.g. Unjudged@10.")

    def scores(self, lists: RankedLists) -> Floats:
        """Return the share of every query."""
        unknown = ~has_judgement(lists) & within(lists.query_ptr, self.cutoff)
        return sums(unknown, lists.query_ptr) / (self.cutoff or 1)  # there is one


@register("RelString", trec="relstring", trec_parameter="cutoff")
@dataclass(frozen=True)
class RelString(Measure):
    """Text with one character for each of the first k documents, 10 by default (trec_eval); it has no mean.

    The character is the label from 0 to 9, `>` for a larger one, `.` for a negative one (in the pool, not judged) and
    `-` for a document that is not in the qrels.
    """

    cutoff: int | None = 10
    averaging: ClassVar[str] = TEXT
    asks_judged: ClassVar[bool] = True  # it marks documents that are not in the qrels

    def scores(self, lists: RankedLists) -> Ids:  # type: ignore[override]
        """Return the text of every query, (n_queries,) of text."""
        if self.cutoff is None:
            raise InvalidInputError("RelString: expected a cutoff, got none. Write e.g. RelString@10.")
        letters = np.where(lists.labels > 9, ">", np.maximum(lists.labels, 0).astype(np.int64).astype("U1"))
        letters = np.where(lists.labels < 0, ".", letters)
        letters = np.where(in_pool(lists), letters, "-").tolist()
        bounds = pairwise(lists.query_ptr.tolist())
        return np.array(
            ["".join(letters[start : min(end, start + self.cutoff)]) for start, end in bounds], dtype=np.str_
        )

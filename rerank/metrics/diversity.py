"""Measures of diversity: how many subtopics of the query the first documents are relevant to.

They read judgements of subtopics (`SubtopicQrels`), of which those with a label of at least `rel` count, and equal
TREC's ndeval and ir_measures' pyndeval, up to this: they do not divide ERR_IA@1 and alpha_DCG@1 by their norm, so that
these exceed 1 there, and pyndeval orders documents of equal scores by ascending id.

    gain(r)   sum over the subtopics of the document at rank r of (1 - alpha)^(documents above with the subtopic)
    norm      of `collection-independent` measures: the sum of as many documents that have all subtopics
    ideal     judged documents by the greatest gain, one after the other; equal ones by id, descending

References
----------
C. Clarke et al., Novelty and Diversity in Information Retrieval Evaluation, SIGIR 2008 (alpha-nDCG, equations 4 to 7).
O. Chapelle et al., Intent-Based Diversification of Web Search Results, Information Retrieval 14, 2011 (ERR-IA).
C. Zhai, W. Cohen and J. Lafferty, Beyond Independent Relevance, SIGIR 2003 (subtopic recall).

"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import BinaryMeasure, RankedLists, SubtopicJudgements, ratio, totals
from rerank.metrics.registry import register
from rerank.runtime.arithmetic import log2_of
from rerank.types import Floats, Ints

_ERR_ALPHA = 0.5  # ndeval's, which ir_measures does not let users change


@dataclass(frozen=True)
class _Diversity(BinaryMeasure):
    """A measure of subtopics."""

    needs_cutoff: ClassVar[bool] = True
    asks_subtopics: ClassVar[bool] = True
    refuses_training: ClassVar[bool] = True

    def scores(self, lists: RankedLists) -> Floats:
        """Return the value of every query."""
        judged = lists.subtopics
        if judged is None:
            raise InvalidInputError(
                f"measure {self.name}: expected qrels of subtopics, got one label of each document. Measure it "
                "with `rerank evaluate` or `evaluate`, by qrels with rows of query, subtopic, document and label."
            )
        ranks = judged.rows - lists.query_ptr[np.searchsorted(lists.query_ptr, judged.rows, side="right") - 1]
        relevant = judged.labels >= self.rel
        counted = np.flatnonzero((ranks < (self.cutoff or 0)) & relevant[judged.pairs])
        return self.of_ranks(_Judged(judged, relevant), ranks[counted], judged.pairs[counted])

    @abstractmethod
    def of_ranks(self, judged: _Judged, ranks: Ints, pairs: Ints) -> Floats:
        """Return the value of every query, given the relevant judgements of its list within the cutoff.

        Shapes: ranks int64 (n_found,), from 0, ascending within a query; pairs int64 (n_found,).
        """


@dataclass(frozen=True, eq=False)
class _Judged:
    """The judgements, and whether each is relevant, (n_judgements,) bool."""

    all: SubtopicJudgements
    relevant: NDArray[np.bool_]

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.all.judged_ptr) - 1

    @property
    def query(self) -> Ints:
        """Query of each judgement."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.all.judged_ptr))

    def n_subtopics(self) -> Floats:
        """Return the number of subtopics of each query to which a document is relevant, (n_queries,) float64."""
        _, first = np.unique(self.all.subtopics[self.relevant], return_index=True)
        return np.bincount(self.query[self.relevant][first], minlength=self.n_queries).astype(np.float64)


@dataclass(frozen=True)
class _Novelty(_Diversity):
    """Sum over ranks of gain * discount, divided by that of documents that have all subtopics."""

    def discounts(self, depth: int) -> Floats:
        """Return the discount of each 0-based rank, (depth,) float64."""
        raise NotImplementedError

    @property
    def kept(self) -> float:
        """What a subtopic is worth after a document that is relevant to it: 1 - alpha."""
        return 1.0 - _ERR_ALPHA

    def of_ranks(self, judged: _Judged, ranks: Ints, pairs: Ints) -> Floats:
        """Return the value of every query."""
        depth = self.cutoff or 0
        discounts = self.discounts(depth)
        best = np.cumprod(np.append(1.0, np.full(depth - 1, self.kept)))
        norm = judged.n_subtopics() * float((best * discounts).sum())
        return ratio(self.sums(judged, ranks, pairs), norm)

    def sums(self, judged: _Judged, ranks: Ints, pairs: Ints) -> Floats:
        """Return the sum of gain * discount of every query."""
        subtopics = judged.all.subtopics[pairs]
        order = np.argsort(subtopics, kind="stable")
        _, first, counts = np.unique(subtopics[order], return_index=True, return_counts=True)
        before = np.empty(len(order), dtype=np.int64)
        before[order] = np.arange(len(order)) - np.repeat(first, counts)
        worth = np.cumprod(np.append(1.0, np.full(int(before.max(initial=0)), self.kept)))
        gains = worth[before] * self.discounts(self.cutoff or 0)[ranks]
        return totals(judged.query[pairs], gains, judged.n_queries)


@dataclass(frozen=True)
class _Normalised(_Novelty):
    """Sum over ranks of gain * discount, divided by that of the ideal order."""

    def of_ranks(self, judged: _Judged, ranks: Ints, pairs: Ints) -> Floats:
        """Return the value of every query."""
        ideal_ranks, ideal_pairs = _ideal(judged, self.cutoff or 0, self.kept)
        return ratio(self.sums(judged, ranks, pairs), self.sums(judged, ideal_ranks, ideal_pairs))


@dataclass(frozen=True)
class _ByLogarithm(_Novelty):
    """Discount 1 / log2(1 + rank), and alpha as a parameter."""

    alpha: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.alpha, float | int) or not 0 <= self.alpha < 1:
            raise InvalidInputError(f"{self.symbol}: expected alpha from 0 to below 1, got {self.alpha!r}.")

    @property
    def kept(self) -> float:
        """What a subtopic is worth after a document that is relevant to it: 1 - alpha."""
        return 1.0 - self.alpha

    def discounts(self, depth: int) -> Floats:
        """Return the discount of each 0-based rank, (depth,) float64."""
        return 1.0 / log2_of(np.arange(2.0, depth + 2.0))


@dataclass(frozen=True)
class _ByRank(_Novelty):
    """Discount 1 / rank."""

    def discounts(self, depth: int) -> Floats:
        """Return the discount of each 0-based rank, (depth,) float64."""
        return 1.0 / np.arange(1.0, depth + 1.0)


@register("alpha_DCG")
@dataclass(frozen=True)
class AlphaDCG(_ByLogarithm):
    """Alpha-DCG: gain of new subtopics, discounted by the logarithm of the rank; at most 1."""


@register("alpha_nDCG")
@dataclass(frozen=True)
class AlphaNDCG(_Normalised, _ByLogarithm):
    """Alpha-DCG, divided by that of the ideal order of the judged documents."""


@register("ERR_IA")
@dataclass(frozen=True)
class ERRIA(_ByRank):
    """Intent-aware expected reciprocal rank, with alpha .5 and all subtopics alike; at most 1."""


@register("nERR_IA")
@dataclass(frozen=True)
class NERRIA(_Normalised, _ByRank):
    """Intent-aware expected reciprocal rank, divided by that of the ideal order of the judged documents."""


@register("StRecall")
@dataclass(frozen=True)
class StRecall(_Diversity):
    """Share of the query's subtopics to which a document up to the cutoff is relevant."""

    def of_ranks(self, judged: _Judged, ranks: Ints, pairs: Ints) -> Floats:
        """Return the recall of every query."""
        _, first = np.unique(judged.all.subtopics[pairs], return_index=True)
        found = np.bincount(judged.query[pairs[first]], minlength=judged.n_queries).astype(np.float64)
        return ratio(found, judged.n_subtopics())


def _ideal(judged: _Judged, depth: int, kept: float) -> tuple[Ints, Ints]:
    """Return ranks and judgements of the first documents of each query's ideal order, query by query."""
    ranks: list[Ints] = [np.zeros(0, np.int64)]
    pairs: list[Ints] = [np.zeros(0, np.int64)]
    for first, last in zip(judged.all.judged_ptr[:-1], judged.all.judged_ptr[1:], strict=True):
        own = np.flatnonzero(judged.relevant[first:last]) + first
        if not len(own):
            continue
        documents, row = np.unique(judged.all.documents[own], return_inverse=True)
        subtopics, column = np.unique(judged.all.subtopics[own], return_inverse=True)
        worth = np.ones(len(subtopics))
        left = np.ones(len(documents), dtype=np.bool_)
        for rank in range(min(depth, len(documents))):
            gains = np.bincount(row, worth[column], len(documents))
            gains[~left] = -1.0
            best = len(gains) - 1 - int(gains[::-1].argmax())
            taken = np.flatnonzero(row == best)
            left[best] = False
            worth[column[taken]] *= kept
            ranks.append(np.full(len(taken), rank, dtype=np.int64))
            pairs.append(own[taken])
    return np.concatenate(ranks), np.concatenate(pairs)

"""Measures of diversity: how many subtopics of the query the first documents are relevant to.

They read judgements of subtopics (`SubtopicQrels`); a label of at least `rel` is relevant. Values equal those of TREC's
ndeval and of pyndeval (in ir_measures), with two exceptions: both tools leave ERR_IA@1 and alpha_DCG@1 undivided by the
norm, so that they can exceed 1, and pyndeval orders documents of equal scores by ascending id.

    gain(r)   sum over the subtopics of the document at rank r of (1 - alpha)^(documents above with the subtopic)
    norm      of alpha_DCG and ERR_IA: the value of `cutoff` documents that are each relevant to all subtopics
    ideal     of alpha_nDCG and nERR_IA: judged documents, at each rank the one of greatest gain; ties by id, descending

References
----------
C. Clarke et al., Novelty and Diversity in Information Retrieval Evaluation, SIGIR 2008 (alpha-nDCG, equations 4 to 7).
O. Chapelle et al., Intent-Based Diversification of Web Search Results, Information Retrieval 14, 2011 (ERR-IA).
C. Zhai, W. Cohen and J. Lafferty, Beyond Independent Relevance, SIGIR 2003 (subtopic recall).

"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.parameters import BELOW_ONE, REAL, REL, MeasureParameter
from rerank.metrics.ranked_lists import RankedLists, SubtopicJudgements, ratio, totals
from rerank.metrics.registry import measure
from rerank.runtime.arithmetic import log2_of
from rerank.types import Floats, Ints

ERR_ALPHA = 0.5  # ndeval's, which ir_measures does not let users change
ALPHA: Any = MeasureParameter(0.5, "alpha from 0 to below 1", REAL, 0, BELOW_ONE)
SUBTOPICS: dict[str, Any] = {"asks_subtopics": True, "refuses_training": True}


@dataclass(frozen=True, eq=False)
class _Judged:
    """The judgements, and the relevant ones of documents up to the cutoff.

    relevant  (n_judgements,) bool whether each judgement is relevant
    ranks     (n_found,) int64 rank of the document of each found judgement, from 0, ascending within a query
    pairs     (n_found,) int64 number of each found judgement
    """

    all: SubtopicJudgements
    relevant: NDArray[np.bool_]
    ranks: Ints
    pairs: Ints

    @classmethod
    def of(cls, name: str, lists: RankedLists, cutoff: int, rel: int) -> _Judged:
        """Return the judgements of the lists; `name` is the name of the measure, for errors."""
        judged = lists.subtopics
        if judged is None:
            raise InvalidInputError(
                f"measure {name}@{cutoff}: expected qrels of subtopics, got one label of each document. Measure it "
                "with `rerank evaluate` or `evaluate`, by qrels with rows of query, subtopic, document and label."
            )
        ranks = judged.rows - lists.query_ptr[np.searchsorted(lists.query_ptr, judged.rows, side="right") - 1]
        relevant = judged.labels >= rel
        counted = np.flatnonzero((ranks < cutoff) & relevant[judged.pairs])
        return cls(judged, relevant, ranks[counted], judged.pairs[counted])

    def n_subtopics(self, pairs: Ints) -> Floats:
        """Return the number of subtopics of each query among the judgements `pairs`, (n_queries,) float64."""
        _, first = np.unique(self.all.subtopics[pairs], return_index=True)
        return totals(self.query(pairs[first]), np.ones(len(first)), len(self.all.judged_ptr) - 1)

    def query(self, pairs: Ints) -> Ints:
        """Return the query of each judgement, (len(pairs),) int64."""
        return np.searchsorted(self.all.judged_ptr, pairs, side="right") - 1

    def sums(self, ranks: Ints, pairs: Ints, discounts: Floats, alpha: float) -> Floats:
        """Return the sum of gain * discount of every query, for judgements at 0-based ranks."""
        subtopics = self.all.subtopics[pairs]
        order = np.argsort(subtopics, kind="stable")
        _, first, counts = np.unique(subtopics[order], return_index=True, return_counts=True)
        before = np.empty(len(order), dtype=np.int64)
        before[order] = np.arange(len(order)) - np.repeat(first, counts)
        gains = _worth(int(before.max(initial=0)) + 1, alpha)[before] * discounts[ranks]
        return totals(self.query(pairs), gains, len(self.all.judged_ptr) - 1)

    def of_full_documents(self, discounts: Floats, alpha: float) -> Floats:
        """Return the value of every query, divided by that of documents that are each relevant to all subtopics."""
        best = float((_worth(len(discounts), alpha) * discounts).sum())
        norm = self.n_subtopics(np.flatnonzero(self.relevant)) * best
        return ratio(self.sums(self.ranks, self.pairs, discounts, alpha), norm)

    def of_ideal(self, discounts: Floats, alpha: float) -> Floats:
        """Return the value of every query, divided by that of the ideal order."""
        ideal = self.sums(*_ideal(self, len(discounts), 1.0 - alpha), discounts, alpha)
        return ratio(self.sums(self.ranks, self.pairs, discounts, alpha), ideal)


def _worth(depth: int, alpha: float) -> Floats:
    """Return the gain of a subtopic after 0, 1, 2 ... documents that are relevant to it, (depth,) float64."""
    return np.cumprod(np.append(1.0, np.full(depth - 1, 1.0 - alpha)))


def _by_logarithm(depth: int) -> Floats:
    """Return 1 / log2(1 + rank) of each rank, (depth,) float64."""
    return 1.0 / log2_of(np.arange(2.0, depth + 2.0))


def _by_rank(depth: int) -> Floats:
    """Return 1 / rank of each rank, (depth,) float64."""
    return 1.0 / np.arange(1.0, depth + 1.0)


@measure("alpha_DCG", **SUBTOPICS)
def alpha_dcg(lists: RankedLists, cutoff: int, rel: int = REL, alpha: float = ALPHA) -> Floats:
    """Alpha-DCG: gain of new subtopics, discounted by the logarithm of the rank; at most 1."""
    return _Judged.of("alpha_DCG", lists, cutoff, rel).of_full_documents(_by_logarithm(cutoff), alpha)


@measure("alpha_nDCG", **SUBTOPICS)
def alpha_ndcg(lists: RankedLists, cutoff: int, rel: int = REL, alpha: float = ALPHA) -> Floats:
    """Alpha-DCG, divided by that of the ideal order of the judged documents."""
    return _Judged.of("alpha_nDCG", lists, cutoff, rel).of_ideal(_by_logarithm(cutoff), alpha)


@measure("ERR_IA", **SUBTOPICS)
def err_ia(lists: RankedLists, cutoff: int, rel: int = REL) -> Floats:
    """Intent-aware expected reciprocal rank, with alpha .5 and all subtopics alike; at most 1."""
    return _Judged.of("ERR_IA", lists, cutoff, rel).of_full_documents(_by_rank(cutoff), ERR_ALPHA)


@measure("nERR_IA", **SUBTOPICS)
def nerr_ia(lists: RankedLists, cutoff: int, rel: int = REL) -> Floats:
    """Intent-aware expected reciprocal rank, divided by that of the ideal order of the judged documents."""
    return _Judged.of("nERR_IA", lists, cutoff, rel).of_ideal(_by_rank(cutoff), ERR_ALPHA)


@measure("StRecall", **SUBTOPICS)
def subtopic_recall(lists: RankedLists, cutoff: int, rel: int = REL) -> Floats:
    """Share of the query's subtopics to which a document up to the cutoff is relevant."""
    judged = _Judged.of("StRecall", lists, cutoff, rel)
    return ratio(judged.n_subtopics(judged.pairs), judged.n_subtopics(np.flatnonzero(judged.relevant)))


def _ideal(judged: _Judged, depth: int, remaining: float) -> tuple[Ints, Ints]:
    """Return ranks and judgements of the first `depth` documents of each query's ideal order, query by query.

    `remaining` is 1 - alpha, the factor of a subtopic's gain after each document that is relevant to it.
    """
    ranks: list[Ints] = [np.zeros(0, np.int64)]
    pairs: list[Ints] = [np.zeros(0, np.int64)]
    for first, last in zip(judged.all.judged_ptr[:-1], judged.all.judged_ptr[1:], strict=True):
        own = np.flatnonzero(judged.relevant[first:last]) + first
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
            worth[column[taken]] *= remaining
            ranks.append(np.full(len(taken), rank, dtype=np.int64))
            pairs.append(own[taken])
    return np.concatenate(ranks), np.concatenate(pairs)

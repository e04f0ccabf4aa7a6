"""Labels of many queries in rank order, and arithmetic within queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types import Floats, Ints, joined_rows, pointers


@dataclass(frozen=True, eq=False)
class SubtopicJudgements:
    """Judgements of subtopics: those of the ranked documents, and all of each query.

    rows        (n_pairs,) int64 row of a ranked document, ascending; one entry for each of its subtopics
    pairs       (n_pairs,) int64 judgement of each entry
    judged_ptr  (n_queries + 1,) int64 judgements of each query
    documents   (n_judgements,) int64 number of the document, ascending in the order of the ids
    subtopics   (n_judgements,) int64 number of the subtopic, which belongs to one query
    labels      (n_judgements,) int64 label of the document for the subtopic
    """

    rows: Ints
    pairs: Ints
    judged_ptr: Ints
    documents: Ints
    subtopics: Ints
    labels: Ints


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Labels of many queries in rank order.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,), dtype float64
        Labels in rank order, query by query. An unjudged document has 0.
    query_ptr : ndarray of shape (n_queries + 1,), dtype int64
        Rows of query q: [query_ptr[q], query_ptr[q + 1]).
    ideal_labels : ndarray of shape (n_ideal,), dtype float64
        All positive labels of each query, best first, retrieved or not.
    ideal_ptr : ndarray of shape (n_queries + 1,), dtype int64
        Ideal labels of query q: [ideal_ptr[q], ideal_ptr[q + 1]).
    judged : ndarray of shape (n_rows,), dtype bool, or None
        Whether the qrels contain the document; None if they contain all, or if no measure needs it.
    zeros : ndarray of shape (n_queries,), dtype float64, or None
        Number of documents of each query that the qrels label 0, retrieved or not; None counts those among the rows.
    subtopics : SubtopicJudgements or None
        Judgements of subtopics, for measures of diversity, which read nothing else but the lengths of the lists.

    Notes
    -----
    As in trec_eval, a document with a negative label was in the pool but not judged: it is not relevant, and measures
    that use judgements treat it as unjudged.

    """

    labels: Floats
    query_ptr: Ints
    ideal_labels: Floats
    ideal_ptr: Ints
    judged: NDArray[np.bool_] | None = None
    zeros: Floats | None = None
    subtopics: SubtopicJudgements | None = None
    norms: dict[Any, Floats] = field(default_factory=dict, init=False, repr=False)  # of the ideal labels, by measure

    @classmethod
    def of_query(cls, ranked_labels: Floats, ideal_labels: Floats) -> RankedLists:
        """Return the lists of one query, given its labels in rank order and all its positive labels, best first."""
        return cls(ranked_labels, pointers([len(ranked_labels)]), ideal_labels, pointers([len(ideal_labels)]))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ptr) - 1


def reciprocal_ranks(query_ptr: Ints, cutoff: int | None) -> Floats:
    """Return 1 / rank for each rank of the longest list, 0 beyond the cutoff; (n_ranks,) float64."""
    rank = np.arange(np.diff(query_ptr).max(initial=0))
    return np.where(rank < measure_depth(query_ptr, cutoff), 1.0 / (rank + 1.0), 0.0)


def ranks(query_ptr: Ints) -> Ints:
    """Return the 0-based rank of every row, (n_rows,) int64."""
    return np.arange(query_ptr[-1]) - np.repeat(query_ptr[:-1], np.diff(query_ptr))


def sums(values: NDArray[np.generic], query_ptr: Ints) -> Floats:
    """Return the sum of the values of each query, (n_queries,) float64, summed in the order of the rows."""
    rows = np.flatnonzero(values != 0)  # few: most documents are not relevant, and 0 changes no sum
    query = np.searchsorted(query_ptr, rows, side="right") - 1
    return np.bincount(query, weights=values[rows], minlength=len(query_ptr) - 1).astype(np.float64)


def totals(query: Ints, values: Floats, n_queries: int) -> Floats:
    """Return the sum of the values (n,) of each query number, summed in their order."""
    return np.bincount(query, values, n_queries).astype(np.float64)


def relevant_so_far(relevant: NDArray[np.bool_], query_ptr: Ints) -> Ints:
    """Return for every row the number of relevant rows of its query up to and including it."""
    running = np.concatenate([np.zeros(1, np.int64), np.cumsum(relevant)])
    return running[1:] - np.repeat(running[query_ptr[:-1]], np.diff(query_ptr))  # type: ignore[no-any-return]


def n_relevant(lists: RankedLists, rel: int) -> Floats:
    """Return how many documents of each query have at least the label `rel`, retrieved or not."""
    return sums(lists.ideal_labels >= rel, lists.ideal_ptr)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return numerator / denominator, 0 where the denominator is not above 0; infinity where it overflows."""
    with np.errstate(over="ignore"):
        return np.divide(numerator, denominator, out=np.zeros_like(numerator, dtype=np.float64), where=denominator > 0)


def inverse(values: Floats) -> Floats:
    """Return 1 / value, 0 where the value is not above 0."""
    return ratio(np.ones_like(values), values)


def hit_positions(hits: NDArray[np.bool_], query_ptr: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the query, the rank (from 1) and the number within the query (from 1) of each row that is a hit."""
    rows = np.flatnonzero(hits)  # few: most documents are not relevant
    query = np.searchsorted(query_ptr, rows, side="right") - 1
    before = pointers(np.bincount(query, minlength=len(query_ptr) - 1))
    return query, rows - query_ptr[query] + 1, np.arange(1, len(rows) + 1) - before[query]


def running_sums(values: Floats, query_ptr: Ints) -> Floats:
    """Return for every row the sum of the values of its query up to and including it."""
    running = np.empty(len(values))
    for start, end in pairwise(query_ptr.tolist()):  # a single sum would accumulate rounding errors over queries
        np.cumsum(values[start:end], out=running[start:end])
    return running


def in_pool(lists: RankedLists) -> NDArray[np.bool_]:
    """Return whether the document of each row is in the qrels, with any label."""
    return np.ones(len(lists.labels), dtype=np.bool_) if lists.judged is None else lists.judged


def has_judgement(lists: RankedLists) -> NDArray[np.bool_]:
    """Return whether each row has a label of at least 0; a negative label means `not judged` (trec_eval)."""
    return in_pool(lists) & (lists.labels >= 0)


def n_judged_zero(lists: RankedLists) -> Floats:
    """Return the number of documents of each query that are judged 0, retrieved or not."""
    return sums(has_judgement(lists) & (lists.labels == 0), lists.query_ptr) if lists.zeros is None else lists.zeros


def within(query_ptr: Ints, cutoff: int | None) -> NDArray[np.bool_]:
    """Return whether each row is within the cutoff."""
    counts = np.diff(query_ptr)
    if cutoff is None or cutoff >= counts.max(initial=0):
        return np.ones(query_ptr[-1], dtype=np.bool_)
    is_above = np.zeros(query_ptr[-1], dtype=np.bool_)
    is_above[joined_rows(query_ptr[:-1], np.minimum(counts, cutoff))[0]] = True
    return is_above


def measure_depth(query_ptr: Ints, cutoff: int | None) -> int:
    """Return the depth at which a measure stops: its cutoff, or the length of the longest list."""
    return int(np.diff(query_ptr).max(initial=0)) if cutoff is None else cutoff

"""Data structures that measures read and return: ranked labels, and measures in the form of arrays for kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.types import Floats, Ints, pointers


@dataclass(frozen=True, eq=False)
class SubtopicJudgements:
    """Judgements of subtopics: those of the ranked documents, and all of each query.

    rows        (n_pairs,) int64 row of a ranked document, ascending; one entry for each of its subtopics
    pairs       (n_pairs,) int64 judgement of each entry
    judged_ptr  (n_queries + 1,) int64 judgements of each query
    documents   (n_judgements,) int64 number of the document, ascending in the order of the ids
    subtopics   (n_judgements,) int64 number of the subtopic, which belongs to one query
    labels      (n_judgements,) int64
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
        Number of documents that the qrels label 0, retrieved or not; None is the number among the rows.
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

    @classmethod
    def of_query(cls, ranked_labels: Floats, ideal_labels: Floats) -> RankedLists:
        """Return the lists of one query, given its labels in rank order and all its positive labels, best first."""
        return cls(ranked_labels, pointers([len(ranked_labels)]), ideal_labels, pointers([len(ideal_labels)]))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ptr) - 1


@dataclass(frozen=True, eq=False)
class SwapWeights:
    """A separable measure: |ΔM_ij| = |gain_i - gain_j| * |discount_i - discount_j| * inverse_norm.

    gains          (n_rows,) float64 gain of the label of each row
    discounts      (longest list,) float64 by 0-based rank; 0 beyond the cutoff
    inverse_norms  (n_queries,) float64; 0 if the ideal is 0
    """

    gains: Floats
    discounts: Floats
    inverse_norms: Floats


@dataclass(frozen=True, eq=False)
class PrefixSum:
    """A measure in prefix-sum form: the term of each document depends only on the documents ranked above it.

    M = norm * sum_i gain_i * discount(rank_i) * (initial + sum_k add_k) * prod_k keep_k, over all k ranked above i.

    A separable measure has add 0 and keep 1. AP adds 1 for every relevant document above. In RR and ERR, keep is the
    probability that the user continues after a document.

    gains      (n_rows,) float64
    add, keep  (n_rows,) float64
    discounts  (longest list,) float64 by 0-based rank; 0 beyond the cutoff
    norms      (n_queries,) float64
    initial    initial value of the sum of add
    """

    gains: Floats
    add: Floats
    keep: Floats
    discounts: Floats
    norms: Floats
    initial: float = 1.0

    @classmethod
    def of_weights(cls, weights: SwapWeights) -> PrefixSum:
        """Return a separable measure."""
        rows = len(weights.gains)
        return cls(weights.gains, np.zeros(rows), np.ones(rows), weights.discounts, weights.inverse_norms)


def reciprocal_ranks(query_ptr: Ints, cutoff: int | None) -> Floats:
    """Return 1 / rank by 0-based rank up to the longest list, 0 beyond the cutoff."""
    ranks = np.arange(np.diff(query_ptr).max(initial=0))
    return np.where(ranks < (len(ranks) if cutoff is None else cutoff), 1.0 / (ranks + 1.0), 0.0)

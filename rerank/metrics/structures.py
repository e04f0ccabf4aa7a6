"""Data structures that measures read and return: ranked labels, and a measure as arrays that kernels can follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.types import Floats, Ints, pointers


@dataclass(frozen=True, eq=False)
class RankedLists:
    """Labels of many queries in rank order.

    labels        (n_rows,) float64 in rank order, query by query; an unjudged document has 0
    query_ptr     (n_queries + 1,) int64
    ideal_labels  (n_ideal,) float64: all positive labels of a query, best first, retrieved or not
    ideal_ptr     (n_queries + 1,) int64
    judged        (n_rows,) bool, whether the qrels hold the document; None: they hold all, or it does not matter
    zeros         (n_queries,) float64 documents that the qrels label 0, retrieved or not; None: those of the rows

    A negative label says, as for trec_eval, that a document was in the pool but not judged: it is not relevant, and to
    measures that ask for judgements it has none.
    """

    labels: Floats
    query_ptr: Ints
    ideal_labels: Floats
    ideal_ptr: Ints
    judged: NDArray[np.bool_] | None = None
    zeros: Floats | None = None

    @classmethod
    def of_query(cls, ranked_labels: Floats, ideal_labels: Floats) -> RankedLists:
        """Return the list of one query: its labels in rank order, and all its positive labels, best first."""
        return cls(ranked_labels, pointers([len(ranked_labels)]), ideal_labels, pointers([len(ideal_labels)]))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ptr) - 1


@dataclass(frozen=True, eq=False)
class SwapWeights:
    """A separable measure: |ΔM_ij| = |gain_i - gain_j| * |discount_i - discount_j| * inverse_norm.

    gains          (n_rows,) float64, what the label of each row is worth
    discounts      (longest list,) float64, by 0-based rank; 0 beyond the cutoff
    inverse_norms  (n_queries,) float64; 0 where the ideal is 0
    """

    gains: Floats
    discounts: Floats
    inverse_norms: Floats


@dataclass(frozen=True, eq=False)
class PrefixSum:
    """M = norm * sum_i gain_i * discount(rank_i) * (own + sum of add_k) * product of keep_k, over all k above i.

    A separable measure has add 0 and keep 1; AP adds a hit for every relevant document above; RR and ERR keep on
    only where no document above has stopped the reader.

    gains      (n_rows,) float64
    add, keep  (n_rows,) float64
    discounts  (longest list,) float64 by 0-based rank; 0 beyond the cutoff
    norms      (n_queries,) float64
    own        what the sum of add begins with
    """

    gains: Floats
    add: Floats
    keep: Floats
    discounts: Floats
    norms: Floats
    own: float = 1.0

    @classmethod
    def of_weights(cls, weights: SwapWeights) -> PrefixSum:
        """Return a separable measure."""
        rows = len(weights.gains)
        return cls(weights.gains, np.zeros(rows), np.ones(rows), weights.discounts, weights.inverse_norms)


def reciprocal_ranks(longest: int, cutoff: int | None) -> Floats:
    """Return 1 / rank by 0-based rank, 0 beyond the cutoff."""
    ranks = np.arange(longest)
    return np.where(ranks < (longest if cutoff is None else cutoff), 1.0 / (ranks + 1.0), 0.0)

"""Measures that sum gain times discount: DCG and rank-biased precision."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.metrics.lists import has_judgement, hit_positions, inverse, ranks, ratio, sums, totals
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists, SwapWeights
from rerank.runtime.arithmetic import exp2_of, log2_of, powers
from rerank.types import Floats, Ints


@dataclass(frozen=True)
class DiscountedMeasure(Measure):
    """Sum over ranks of gain(label) * discount(rank), divided by a norm."""

    @abstractmethod
    def gain_of(self, labels: Floats) -> Floats:
        """Return the gain of each label."""

    @abstractmethod
    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return the discount of each 0-based rank, without a cutoff."""

    def norms(self, lists: RankedLists) -> Floats:
        """Return the norm of each query, by which its sum is divided, (n_queries,) float64."""
        return np.ones(lists.n_queries)

    def scores(self, lists: RankedLists) -> Floats:
        """Return the value of every query."""
        return ratio(self.discounted_sums(lists.labels, lists.query_ptr), self.norms(lists))

    def cut_for_training(self, depth: int) -> Measure:
        """Return the measure with the cutoff `depth`, even if it has none: pairs below `depth` have no gradient."""
        return replace(self, cutoff=depth)

    def swap_weights(self, lists: RankedLists) -> SwapWeights:
        """Return gains, discounts and 1 / norm."""
        return SwapWeights(self.gain_of(lists.labels), self._by_rank(lists.query_ptr), inverse(self.norms(lists)))

    def discounted_sums(self, labels: Floats, query_ptr: Ints) -> Floats:
        """Return the sum of each query, (n_queries,) float64, for labels in rank order."""
        gains = self.gain_of(labels)
        query, rank, _ = hit_positions(gains != 0, query_ptr)
        return totals(query, gains[gains != 0] * self._by_rank(query_ptr)[rank - 1], len(query_ptr) - 1)

    def _by_rank(self, query_ptr: Ints) -> Floats:
        rank = np.arange(np.diff(query_ptr).max(initial=0))
        discounts = self.discount_of(rank)
        return discounts if self.cutoff is None else np.where(rank < self.cutoff, discounts, 0.0)


LINEAR, EXPONENTIAL = "log2", "exp-log2"
MOST_EXPONENT = 500  # a sum of gains, and its square, stay within float64


@register("DCG")
@dataclass(frozen=True)
class DCG(DiscountedMeasure):
    """sum gain / log2(1 + rank).

    The gain is the label (`dcg='log2'`, the default, as in trec_eval) or 2^label - 1 (`dcg='exp-log2'`); a negative
    label has gain 0. Ranks count from 1, and every rank is discounted (Järvelin and Kekäläinen do not discount the
    first two).

    References
    ----------
    K. Järvelin and J. Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4), 2002. For
    2^label - 1: C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 3.

    """

    dcg: str = LINEAR

    def __post_init__(self) -> None:
        if self.dcg not in (LINEAR, EXPONENTIAL):
            raise InvalidInputError(f"{self.symbol}: expected dcg='{LINEAR}' or '{EXPONENTIAL}', got {self.dcg!r}.")

    def gain_of(self, labels: Floats) -> Floats:
        """Return the label, or 2^label - 1."""
        positive = np.maximum(labels, 0.0)
        if self.dcg == LINEAR:
            return positive
        largest = positive.max(initial=0.0)
        if largest > MOST_EXPONENT:
            raise InvalidInputError(
                f"{self.name}: expected labels up to {MOST_EXPONENT} for gains of 2^label - 1, got {largest:g}. Scale "
                "the labels, or take dcg='log2'."
            )
        return exp2_of(positive) - 1.0

    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return 1 / log2(1 + rank), for ranks from 1."""
        return 1.0 / log2_of(rank + 2.0)


@register("RBP", aliases={"rbp": "RBP(p=0.9)"})
@dataclass(frozen=True)
class RBP(DiscountedMeasure):
    """(1 - p) sum gain p^(rank - 1): the expected gain of a user who continues with probability p.

    The gain is 1 for a label of at least `rel` (as in the paper), or the label itself without `rel` (as in
    ir_measures), so that the value may exceed 1 (trec_eval's `rbp` scales the labels of a query to the range from 0
    to 1). A negative label has gain 0. `RBPResidual` is the possible gain of unjudged documents.

    References
    ----------
    A. Moffat and J. Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM TOIS 27(1), 2008.

    """

    p: float = 0.8
    rel: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.p, bool) or not isinstance(self.p, float | int) or not 0.0 < self.p < 1.0:
            raise InvalidInputError(f"RBP: expected p between 0 and 1, got {self.p!r}. Write e.g. RBP(p=0.8).")
        if self.rel is not None and (not isinstance(self.rel, int) or self.rel < 1):
            raise InvalidInputError(f"RBP: expected rel of at least 1, got {self.rel!r}. Write e.g. RBP(rel=1).")

    def gain_of(self, labels: Floats) -> Floats:
        """Return relevance, or the label."""
        return np.maximum(labels, 0.0) if self.rel is None else (labels >= self.rel).astype(np.float64)

    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return (1 - p) p^rank, for ranks from 0."""
        return (1.0 - self.p) * powers(float(self.p), rank)


@register("RBPResidual", aliases={"rbp_resid": "RBPResidual(p=0.9)"})
@dataclass(frozen=True)
class RBPResidual(Measure):
    """(1 - p) * sum of p^(rank - 1) over unjudged documents, plus p^n for the documents below the n retrieved ones.

    A negative label is not a judgement. A query without any document has 0, as in every other measure. (trec_eval
    omits p^n for a list without unjudged documents, which then has 0.)

    References
    ----------
    A. Moffat and J. Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM TOIS 27(1), 2008,
    section 4.

    """

    p: float = 0.8
    takes_cutoff: ClassVar[bool] = False
    asks_judged: ClassVar[bool] = True  # it is computed from unjudged documents

    def __post_init__(self) -> None:
        if not isinstance(self.p, int | float) or not 0 < self.p < 1:
            raise InvalidInputError(f"RBPResidual: expected p between 0 and 1, got {self.p!r}. Write p=0.8.")

    def scores(self, lists: RankedLists) -> Floats:
        """Return the residual of every query."""
        depth = np.diff(lists.query_ptr)
        unknown = np.flatnonzero(~has_judgement(lists))
        weights = np.zeros(len(lists.labels))
        weights[unknown] = (1.0 - self.p) * powers(self.p, ranks(lists.query_ptr)[unknown])
        return np.where(depth > 0, sums(weights, lists.query_ptr) + powers(self.p, depth), 0.0)

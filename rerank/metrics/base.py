"""The base class of measures: the value of a ranked list, and how swapping two documents changes it.

A measure is a small frozen object with the name that ir_measures gives it (`nDCG@10`). Its inputs are the labels in
rank order and the ideal labels (all positive labels of the query, best first, from the qrels).

When two documents are swapped so that the one with the larger label moves up, a measure that can be trained for
rises or stays equal. |ΔM| is 0 for documents of equal label or equal gain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, shown
from rerank.metrics.parameters import REL, declared
from rerank.metrics.ranked_lists import RankedLists, within
from rerank.metrics.recomputed import fill_by_recomputing
from rerank.runtime.arithmetic import exp2_of, log2_of
from rerank.runtime.sums import mean, total
from rerank.types import Floats, Ints
from rerank.types.data_frames import is_whole

MEAN = "mean"
GEOMETRIC = "geometric mean"
TOTAL = "sum"
TEXT = "none, it is text"
LEAST_FACTOR = 1e-5  # smaller values are raised to it in a geometric mean (trec_eval's MIN_GEO_MEAN)


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


@dataclass(frozen=True)
class Measure(ABC):
    """A measure of a ranked list.

    Parameters
    ----------
    cutoff : int or None
        Depth at which the measure stops; None is the whole list.

    Attributes
    ----------
    symbol : str
        Name without parameters, as registered; the name of the class if it is not registered.
    averaging : str
        How the values of queries are combined.
    takes_cutoff : bool
        Whether a cutoff is allowed.
    needs_cutoff : bool
        Whether a cutoff is needed.
    with_cutoff : str
        Names, with `{0}` for the cutoff, of measures to use in place of this one, which allows no cutoff.
    at : str
        Field that follows `@` in the name.
    asks_judged : bool
        Whether the measure needs to know which documents are judged, whatever its parameters.
    asks_subtopics : bool
        Whether the measure needs judgements of subtopics: `RankedLists.subtopics`.
    refuses_training : bool
        Whether training refuses the measure although labels in rank order determine its value.

    """

    cutoff: int | None = None
    symbol: ClassVar[str]
    averaging: ClassVar[str] = MEAN
    takes_cutoff: ClassVar[bool] = True
    needs_cutoff: ClassVar[bool] = False
    with_cutoff: ClassVar[str] = ""
    at: ClassVar[str] = "cutoff"
    asks_judged: ClassVar[bool] = False
    asks_subtopics: ClassVar[bool] = False
    refuses_training: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        cls.symbol = cls.__name__

    def __post_init__(self) -> None:
        for member in fields(self):
            if "parameter" in member.metadata:
                value = member.metadata["parameter"].read(self.symbol, getattr(self, member.name))
                object.__setattr__(self, member.name, value)
        cutoff = self.cutoff
        if cutoff is not None and not self.takes_cutoff:
            others = f", of all that is retrieved, or {self.with_cutoff.format(cutoff)}" if self.with_cutoff else ""
            raise InvalidInputError(
                f"measure {self.symbol}: expected no cutoff, got {shown(cutoff)}. Write {self.symbol}{others}."
            )
        if not (is_whole(cutoff) and cutoff >= 1) and (cutoff is not None or self.needs_cutoff):
            raise InvalidInputError(
                f"measure {self.symbol}: expected a cutoff of at least 1, got {shown(cutoff)}. Write e.g. "
                f"{self.symbol}@10."
            )

    @property
    def name(self) -> str:
        """The name as `ir_measures` writes it: parameters that differ from their default, then the cutoff."""
        parameters = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name not in ("cutoff", self.at) and getattr(self, field.name) != field.default
        ]
        in_brackets = f"({','.join(parameters)})" if parameters else ""
        depth = getattr(self, self.at)
        return self.symbol + in_brackets + ("" if depth is None else f"@{depth}")

    @abstractmethod
    def scores(self, lists: RankedLists) -> Floats:
        """Return the value of every query, (n_queries,) float64; 0 if no document is relevant."""

    @property
    def needs_judged(self) -> bool:
        """Whether the measure needs to know which documents are judged: `RankedLists.judged` and `zeros`."""
        return self.asks_judged or getattr(getattr(self, "gains", None), "pays_zero", False)

    def average(self, values: Floats) -> float:
        """Return the mean of the values of queries (n_queries,), or their sum or geometric mean, see `averaging`."""
        if self.averaging == TOTAL:
            return total(values)
        if self.averaging == GEOMETRIC:
            return float(exp2_of(mean(log2_of(np.maximum(values, LEAST_FACTOR)))))
        return mean(values)

    def score(self, ranked_labels: ArrayLike, ideal_labels: ArrayLike) -> float:
        """Return the value of one list.

        Shapes: ranked_labels (n_docs,); ideal_labels (n_ideal,).
        """
        ranked, ideal = (np.asarray(labels, dtype=np.float64) for labels in (ranked_labels, ideal_labels))
        return float(self.scores(RankedLists.of_query(ranked, ideal))[0])

    @property
    def trainable(self) -> bool:
        """Whether labels in rank order determine the value, and moving a larger label up never lowers it."""
        return not (self.refuses_training or self.needs_judged)

    def cut_for_training(self, depth: int) -> Measure:
        """Return the measure whose swap deltas weight the gradients, where `depth` is the truncation level.

        A cutoff is replaced by `depth`, so that documents just below the cutoff have a gradient, too.
        """
        return self if self.cutoff is None else replace(self, cutoff=depth)

    def swap_weights(self, lists: RankedLists) -> SwapWeights | None:
        """Return the three vectors of a separable measure, or None if the measure is not separable.

        The labels of `lists` are in the order of the data, not of a ranking.
        """
        return None

    def fill_swap_deltas(self, lists: RankedLists, out: Floats, out_ptr: Ints) -> None:
        """Fill `out` with |ΔM_ij| of swapping ranks i and j of each query, for i among its first ranks and any j > i.

        Query q with n documents has out[out_ptr[q] : out_ptr[q + 1]], which is a row of n numbers for each i; numbers
        with j <= i are not read; out_ptr is int64 (n_queries + 1,). For a separable measure, training
        reads its swap weights and does not call this method.

        A measure without a formula is computed again after every swap of two different labels, which takes tenths of a
        second for a list of 1,000 documents (`benchmarks swaps`).
        """
        fill_by_recomputing(self.scores, lists, out, out_ptr)

    def prefix_sum(self, lists: RankedLists) -> PrefixSum | None:
        """Return the measure, up to a constant, in prefix-sum form; None if it has no such form.

        The labels of `lists` are in the order of the data, not of a ranking.
        """
        swap = self.swap_weights(lists)
        if swap is None:
            return None
        return PrefixSum(
            swap.gains, np.zeros_like(swap.gains), np.ones_like(swap.gains), swap.discounts, swap.inverse_norms
        )


@dataclass(frozen=True)
class BinaryMeasure(Measure):
    """A measure of binary relevance.

    Parameters
    ----------
    cutoff : int or None
        Depth at which the measure stops; None is the whole list.
    rel : int
        Smallest label that is relevant.

    """

    rel: int = declared(REL)

    def relevant(self, labels: Floats) -> NDArray[np.bool_]:
        """Return whether each label is relevant."""
        return labels >= self.rel

    def hits(self, lists: RankedLists) -> NDArray[np.bool_]:
        """Return whether each row is relevant and within the cutoff."""
        return self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)

"""The base class of measures: the value of a ranked list, and how swapping two documents changes it.

A measure is a small frozen object with the name that ir_measures gives it (`nDCG@10`). Its inputs are the labels in
rank order and the ideal labels (all positive labels of the query, best first, from the qrels).

Every measure that can be trained for rises, or stays equal, when the document with the larger label of two swapped
documents moves up. |ΔM| is 0 for documents of equal label or equal gain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.lists import within
from rerank.metrics.structures import PrefixSum, RankedLists, SwapWeights
from rerank.runtime.arithmetic import exp2_of, log2_of
from rerank.types import Floats, Ints

Scores = Callable[[RankedLists], Floats]  # the value of a measure for every query
LABELS_AT_ONCE = 1 << 20  # labels of the swapped lists that are measured together: 8 MB
MEAN, GEOMETRIC, TOTAL, TEXT = "mean", "geometric mean", "sum", "none, it is text"
LEAST = 1e-5  # smaller values are raised to it in a geometric mean (trec_eval's MIN_GEO_MEAN)


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
    at: ClassVar[str] = "cutoff"
    asks_judged: ClassVar[bool] = False
    asks_subtopics: ClassVar[bool] = False
    refuses_training: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        cls.symbol = cls.__name__

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
        return self.asks_judged

    def average(self, values: Floats) -> float:
        """Return the mean of the values of queries (n_queries,), or their sum or geometric mean, see `averaging`."""
        if self.averaging == TOTAL:
            return float(values.sum())
        if self.averaging == GEOMETRIC:
            return float(exp2_of(log2_of(np.maximum(values, LEAST)).mean()))
        return float(values.mean())

    def score(self, ranked_labels: ArrayLike, ideal_labels: ArrayLike) -> float:
        """Return the value of one list.

        Shapes: ranked_labels (n_docs,); ideal_labels (n_ideal,).
        """
        ranked = np.asarray(ranked_labels, dtype=np.float64)
        ideal = np.asarray(ideal_labels, dtype=np.float64)
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

    def fill_swap_deltas(self, lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
        """Fill `out` with |ΔM_ij| of swapping ranks i and j of each query, for i among the first `depth` and any j.

        Shapes: out_ptr int64 (n_queries + 1,).

        A measure without a formula or swap weights is computed again after every swap of two different labels, which
        takes tenths of a second for a list of 1,000 documents (`benchmarks swaps`).
        """
        swap = self.swap_weights(lists)
        if swap is None:
            fill_by_recomputing(self.scores, lists, depth, out, out_ptr)
        else:
            fill_from_weights(swap, lists.query_ptr, depth, out, out_ptr)

    def prefix_sum(self, lists: RankedLists) -> PrefixSum | None:
        """Return the measure, up to a constant, in prefix-sum form; None if it has no such form.

        The labels of `lists` are in the order of the data, not of a ranking.
        """
        weights = self.swap_weights(lists)
        return None if weights is None else PrefixSum.of_weights(weights)


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

    rel: int = 1
    needs_cutoff: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.needs_cutoff and self.cutoff is None:
            raise InvalidInputError(f"{self.symbol}: expected a cutoff, got none. Write e.g. {self.symbol}@10.")
        if not isinstance(self.rel, int) or self.rel < 1:
            raise InvalidInputError(f"{self.symbol}: expected rel of at least 1, got {self.rel!r}.")

    def relevant(self, labels: Floats) -> NDArray[np.bool_]:
        """Return whether each label is relevant."""
        return labels >= self.rel

    def hits(self, lists: RankedLists) -> NDArray[np.bool_]:
        """Return whether each row is relevant and within the cutoff."""
        return self.relevant(lists.labels) & within(lists.query_ptr, self.cutoff)


def fill_from_weights(swap: SwapWeights, query_ptr: Ints, depth: int, out: Floats, out_ptr: Ints) -> None:
    """Fill out with |gain_i - gain_j| * |discount_i - discount_j| * inverse_norm, gains in rank order."""
    for q, rows, block in _blocks(query_ptr, depth, out, out_ptr):
        gains, discounts = swap.gains[rows], swap.discounts[: block.shape[1]]
        np.abs(np.subtract.outer(gains[: len(block)], gains), out=block)
        block *= np.abs(np.subtract.outer(discounts[: len(block)], discounts)) * swap.inverse_norms[q]


def fill_by_recomputing(scores: Scores, lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
    """Fill out by computing the measure again after each swap of two different labels."""
    for q, rows, block in _blocks(lists.query_ptr, depth, out, out_ptr):
        labels = lists.labels[rows]
        ideal = lists.ideal_labels[lists.ideal_ptr[q] : lists.ideal_ptr[q + 1]]
        before = scores(RankedLists.of_query(labels, ideal))[0]
        upper, lower = np.nonzero(np.triu(np.not_equal.outer(labels[: len(block)], labels), 1))
        block[:] = 0.0
        at_once = max(1, LABELS_AT_ONCE // len(labels))
        for part in (slice(first, first + at_once) for first in range(0, len(upper), at_once)):
            deltas = np.abs(_after_swaps(scores, labels, ideal, upper[part], lower[part]) - before)
            block[upper[part], lower[part]] = deltas
            mirrored = lower[part] < len(block)
            block[lower[part][mirrored], upper[part][mirrored]] = deltas[mirrored]


def _blocks(query_ptr: Ints, depth: int, out: Floats, out_ptr: Ints) -> Iterator[tuple[int, slice, Floats]]:
    """Yield each query with rows, its rows, and its block of out, (min(depth, n), n)."""
    for q, (first, last) in enumerate(zip(query_ptr[:-1].tolist(), query_ptr[1:].tolist(), strict=True)):
        if first < last:
            block = out[out_ptr[q] : out_ptr[q + 1]].reshape(min(depth, last - first), last - first)
            yield q, slice(first, last), block


def _after_swaps(scores: Scores, labels: Floats, ideal: Floats, i: Ints, j: Ints) -> Floats:
    """Return the measure of a list after each swap of ranks i and j, (n_swaps,) float64."""
    n_swaps = len(i)
    swapped = np.tile(labels, (n_swaps, 1))
    swap = np.arange(n_swaps)
    swapped[swap, i], swapped[swap, j] = labels[j], labels[i]
    pointers = np.arange(n_swaps + 1)
    return scores(RankedLists(swapped.ravel(), pointers * len(labels), np.tile(ideal, n_swaps), pointers * len(ideal)))

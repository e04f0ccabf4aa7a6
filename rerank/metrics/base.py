"""The base class of measures: the value of a ranked list, and how swapping two documents changes it.

A measure is a small frozen object with the name that ir_measures gives it (`nDCG@10`). Its inputs are the labels in
rank order and the ideal labels (all positive labels of the query, best first, from the qrels).

Every measure that can be trained for rises, or stays equal, when the document with the larger label of two swapped
documents moves up. |ΔM| is 0 for documents of equal label or equal gain.

Data structures that measures read and return: ranked labels, and measures in the form of arrays for kernels.

Vectorised arithmetic within queries.

User-defined measures in Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError
from rerank.runtime.arithmetic import exp2_of, log2_of
from rerank.types import Floats, Ints, pointers

LABELS_AT_ONCE = 1 << 20  # labels of the swapped lists that are measured together: 8 MB
MEAN = "mean"
GEOMETRIC = "geometric mean"
TOTAL = "sum"
TEXT = "none, it is text"
LEAST = 1e-5  # smaller values are raised to it in a geometric mean (trec_eval's MIN_GEO_MEAN)


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


def reciprocal_ranks(query_ptr: Ints, cutoff: int | None) -> Floats:
    """Return 1 / rank by 0-based rank up to the longest list, 0 beyond the cutoff."""
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
    """Return numerator / denominator, 0 if the denominator is 0; may overflow to infinity for very large labels."""
    with np.errstate(over="ignore"):
        return np.divide(numerator, denominator, out=np.zeros_like(numerator, dtype=np.float64), where=denominator > 0)


def inverse(values: Floats) -> Floats:
    """Return 1 / value, 0 if the value is 0."""
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
    counted = np.minimum(counts, cutoff)
    is_above = np.zeros(query_ptr[-1], dtype=np.bool_)
    is_above[ranks(pointers(counted)) + np.repeat(query_ptr[:-1], counted)] = True
    return is_above


def measure_depth(query_ptr: Ints, cutoff: int | None) -> int:
    """Return the depth at which a measure stops: its cutoff, or the length of the longest list."""
    return int(np.diff(query_ptr).max(initial=0)) if cutoff is None else cutoff


Scores = Callable[[RankedLists], Floats]  # the value of a measure for every query


@dataclass(frozen=True)
class MeasureParameter:
    """A parameter of a measure.

    default    its value where a name does not say it
    words      what it accepts, for errors
    types      numbers of these types,
    low, high  between these bounds, or one of `choices`
    optional   whether None is accepted, too
    convert    in place of all of this: what makes the value of what the user gives
    """

    default: Any
    words: str
    types: tuple[Any, ...] = (int,)
    low: float = 1
    high: float = inf
    choices: tuple[Any, ...] = ()
    optional: bool = False
    convert: Callable[[Any], Any] | None = None

    def read(self, measure: str, value: Any) -> Any:
        """Return the value; refuse one that is not accepted."""
        if self.convert is not None:
            return self.convert(value)
        is_number = isinstance(value, self.types) and not isinstance(value, bool) and self.low <= value <= self.high
        if value in self.choices or (is_number and not self.choices) or (value is None and self.optional):
            return value
        raise InvalidInputError(f"{measure}: expected {self.words}, got {value!r}.")


def declared(parameter: MeasureParameter) -> Any:
    """Return the field of a dataclass that is a parameter."""
    return field(default=parameter.default, metadata={"parameter": parameter})


REAL = (int, float)
BELOW_ONE = 1.0 - 2.0**-53
LEAST_ABOVE_ZERO = 5e-324
REL: Any = MeasureParameter(1, "rel of at least 1")
OPTIONAL_REL: Any = MeasureParameter(None, "rel of at least 1", optional=True)


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
            raise InvalidInputError(f"measure {self.symbol}: expected no cutoff, got {cutoff!r}. Write {self.symbol}.")
        is_whole = isinstance(cutoff, int | np.integer) and not isinstance(cutoff, bool) and cutoff >= 1
        if not is_whole and (cutoff is not None or self.needs_cutoff):
            raise InvalidInputError(
                f"measure {self.symbol}: expected a cutoff of at least 1, got {cutoff!r}. Write e.g. {self.symbol}@10."
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

    def fill_swap_deltas(self, lists: RankedLists, out: Floats, out_ptr: Ints) -> None:
        """Fill `out` with |ΔM_ij| of swapping ranks i and j of each query, for i among its first ranks and any j > i.

        Query q with n documents has out[out_ptr[q] : out_ptr[q + 1]], a row of n numbers for each of these i, of which
        those up to i are not read; out_ptr is int64 (n_queries + 1,). Training reads the swap weights of a separable
        measure in place of this.

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


def fill_by_recomputing(scores: Scores, lists: RankedLists, out: Floats, out_ptr: Ints) -> None:
    """Fill out by computing the measure again after each swap of two different labels."""
    for q, (first, last) in enumerate(pairwise(lists.query_ptr.tolist())):
        if first == last:
            continue
        labels = lists.labels[first:last]
        ideal = lists.ideal_labels[lists.ideal_ptr[q] : lists.ideal_ptr[q + 1]]
        before = scores(RankedLists.of_query(labels, ideal))[0]
        block = out[out_ptr[q] : out_ptr[q + 1]].reshape(-1, len(labels))
        block[:] = 0.0
        upper, lower = np.nonzero(np.triu(np.not_equal.outer(labels[: len(block)], labels), 1))
        at_once = max(1, LABELS_AT_ONCE // len(labels))
        for start in range(0, len(upper), at_once):
            i = upper[start : start + at_once]
            j = lower[start : start + at_once]
            block[i, j] = np.abs(_after_swaps(scores, labels, ideal, i, j) - before)


def _after_swaps(scores: Scores, labels: Floats, ideal: Floats, i: Ints, j: Ints) -> Floats:
    """Return the measure of a list after each swap of ranks i and j, (n_swaps,) float64."""
    swap = np.arange(len(i))
    swapped = np.tile(labels, (len(i), 1))
    swapped[swap, i] = labels[j]
    swapped[swap, j] = labels[i]
    ptr = np.arange(len(i) + 1)
    return scores(RankedLists(swapped.ravel(), ptr * len(labels), np.tile(ideal, len(i)), ptr * len(ideal)))


@dataclass(frozen=True)
class CustomMeasure(Measure):
    """A user-defined measure: a function score(ranked_labels, ideal_labels) that returns a number, larger is better.

    Parameters
    ----------
    cutoff : None
        Not used.
    function : callable
        Called with ranked_labels, (n_docs,) float64 in rank order, 0 for unjudged documents, and ideal_labels,
        (n_ideal,) float64: all positive labels of the query, best first, retrieved or not.
    own_name : str
        Name of the measure. A model file stores the name, not the function.

    Notes
    -----
    Training calls the function after each swap of different labels, up to truncation_level * n_docs times for each list
    and tree. A simple function takes 6 ms for a list of 100 documents and 85 ms for 1,000, a tenth of them relevant
    (`benchmarks swaps`): 500 lists of 100 documents take 3 s for each tree. Use short lists and a small
    truncation_level.

    """

    function: Callable[[Floats, Floats], float] = field(kw_only=True)
    own_name: str = field(kw_only=True)

    @property
    def name(self) -> str:
        """Name of the function, or of the class of the object."""
        return self.own_name

    def scores(self, lists: RankedLists) -> Floats:
        """Return the value of the function for every query; refuse a value that is not a finite number."""
        ranked = pairwise(lists.query_ptr.tolist())
        results = [
            self.function(lists.labels[first:last], lists.ideal_labels[best:worst])
            for (first, last), (best, worst) in zip(ranked, pairwise(lists.ideal_ptr.tolist()), strict=True)
        ]
        try:
            values = np.array(results, dtype=np.float64).reshape(len(results))
        except (TypeError, ValueError):
            values = np.full(1, np.nan)
        if not np.isfinite(values).all():
            raise InvalidInputError(
                f"measure {self.name}: expected a finite number from score(ranked_labels, ideal_labels), got another "
                "value. Return e.g. 0.0 where no document is relevant."
            )
        return values


def custom_measure(measure: object) -> CustomMeasure:
    """Return the measure of a function, or of an object with a method `score`."""
    function = measure if callable(measure) else getattr(measure, "score", None)
    if isinstance(measure, type) or not callable(function):
        raise InvalidInputError(
            "measure: expected a name such as 'nDCG@10', a measure, or a function score(ranked_labels, ideal_labels), "
            f"got {type(measure).__name__}. Pass one of them."
        )
    return CustomMeasure(function=function, own_name=getattr(measure, "__name__", type(measure).__name__))

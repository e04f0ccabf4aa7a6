"""Gains of labels, if they are not the labels themselves (trec_eval's `ndcg.1=3,2=9`), and the measures G and binG."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.metrics.parameters import REL, MeasureParameter
from rerank.metrics.ranked_lists import (
    RankedLists,
    has_judgement,
    hit_positions,
    n_judged_zero,
    n_relevant,
    ranks,
    ratio,
    running_sums,
    sums,
    totals,
)
from rerank.metrics.registry import measure
from rerank.runtime.arithmetic import log2_of
from rerank.types import Floats, Ints, pointers, query_rows
from rerank.types.data_frames import is_whole


@dataclass(frozen=True)
class Gains:
    """Gains by label, `{1: 3, 2: 9}`; the gain of any other label is the label, of a negative label 0.

    Gains may be negative. Judged documents of label 0 may have a gain; unjudged ones have none (trec_eval).
    """

    pairs: tuple[tuple[int, float], ...] = ()

    @classmethod
    def of(cls, gains: Gains | Mapping[int, float]) -> Gains:
        """Return gains as they are, or made of a plain `{label: gain}`."""
        if isinstance(gains, cls):
            return gains
        if not isinstance(gains, Mapping) or not all(
            is_whole(label)
            and isinstance(gain, int | float)
            and not isinstance(gain, bool)
            and abs(label) <= sys.float_info.max
            and abs(gain) <= sys.float_info.max
            for label, gain in gains.items()
        ):
            raise InvalidInputError(
                f"gains: expected {{label: gain}}, got {shown(gains)}. Write e.g. gains={{1:3,2:9}}."
            )
        return cls(tuple(sorted(gains.items())))

    def __repr__(self) -> str:
        """Return the gains as they are written in the name of a measure."""
        return "{" + ",".join(f"{label}:{gain:g}" for label, gain in self.pairs) + "}"

    @property
    def pays_zero(self) -> bool:
        """Whether documents that are judged 0 have a gain."""
        return any(label == 0 and gain for label, gain in self.pairs)

    def of_labels(self, labels: Floats) -> Floats:
        """Return the gain of each label, if all documents are judged."""
        gains = np.maximum(labels, 0.0)
        for label, gain in self.pairs:
            gains[labels == label] = gain
        return gains


GAINS: Any = MeasureParameter(Gains(), "{label: gain}", convert=Gains.of)
GRADED: dict[str, Any] = {"trec_parameter": "gains", "refuses_training": True}  # a larger label may lower the value


def graded(lists: RankedLists, gains: Gains) -> tuple[Floats, Floats, Ints]:
    """Return the gain of every row, and all positive gains of a query, best first, with their `query_ptr`."""
    if not gains.pairs:
        return np.maximum(lists.labels, 0.0), lists.ideal_labels, lists.ideal_ptr
    gained = gains.of_labels(lists.labels)
    if gains.pays_zero:
        gained *= has_judgement(lists)
    of_zero = n_judged_zero(lists).astype(np.int64) if gains.pays_zero else np.zeros(lists.n_queries, dtype=np.int64)
    query = np.concatenate([query_rows(lists.ideal_ptr), np.repeat(np.arange(lists.n_queries), of_zero)])
    ideal = gains.of_labels(np.concatenate([lists.ideal_labels, np.zeros(of_zero.sum())]))
    query = query[ideal > 0]
    ideal = ideal[ideal > 0]
    return gained, ideal[np.lexsort((-ideal, query))], pointers(np.bincount(query, minlength=lists.n_queries))


@measure("G", trec="G", **GRADED)
def sum_of_gains(lists: RankedLists, gains: Gains = GAINS) -> Floats:
    """Sum of gain / log2(2 + cost - gain so far), divided by the sum of all positive gains.

    The gains are those of the whole list. The cost at a rank is the sum of the ideal gains up to that rank, each at
    least 1.
    """
    gained, ideal, ideal_ptr = graded(lists, gains)
    rank = ranks(lists.query_ptr)
    cost = np.ones(len(gained))
    reached = np.flatnonzero(rank < np.diff(ideal_ptr)[query_rows(lists.query_ptr)])
    cost[reached] = np.maximum(ideal[ideal_ptr[query_rows(lists.query_ptr)[reached]] + rank[reached]], 1.0)
    missed = running_sums(cost, lists.query_ptr) - running_sums(gained, lists.query_ptr)
    return ratio(sums(gained / log2_of(2.0 + missed), lists.query_ptr), sums(ideal, ideal_ptr))


@measure("binG", trec="binG")
def binary_gains(lists: RankedLists, rel: int = REL) -> Floats:
    """Mean over all relevant documents of 1 / log2(2 + non-relevant documents above); 0 for those not retrieved."""
    query, rank, number = hit_positions(lists.labels >= rel, lists.query_ptr)
    return ratio(totals(query, 1.0 / log2_of(2.0 + rank - number), lists.n_queries), n_relevant(lists, rel))

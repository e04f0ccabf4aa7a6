"""Shares of judged and unjudged documents in a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.metrics.lists import has_judgement, in_pool, ratio, sums, within
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists
from rerank.types import Floats


@register("Judged")
@dataclass(frozen=True)
class Judged(Measure):
    """Share of the first k documents, or of all, that are in the qrels, with any label (ir_measures).

    The divisor is at most the length of the list. Ties are broken as in trec_eval, which ir_measures reverses.
    """

    asks_judged: ClassVar[bool] = True  # it is what it measures

    def scores(self, lists: RankedLists) -> Floats:
        """Return the share of every query."""
        above = within(lists.query_ptr, self.cutoff)
        depth = np.diff(lists.query_ptr).astype(np.float64)
        known = sums(in_pool(lists) & above, lists.query_ptr)
        return ratio(known, depth if self.cutoff is None else np.minimum(depth, self.cutoff))


@register("Unjudged", trec_cut="unj", cutoffs=(5, 10, 20))
@dataclass(frozen=True)
class Unjudged(Measure):
    """Share of unjudged documents among the first k; a negative label is not a judgement (trec_eval's `unj`)."""

    asks_judged: ClassVar[bool] = True  # it is what it measures

    def __post_init__(self) -> None:
        if self.cutoff is None:
            raise InvalidInputError("Unjudged: expected a cutoff, got none. Write e.g. Unjudged@10.")

    def scores(self, lists: RankedLists) -> Floats:
        """Return the share of every query."""
        unknown = ~has_judgement(lists) & within(lists.query_ptr, self.cutoff)
        return sums(unknown, lists.query_ptr) / (self.cutoff or 1)  # there is one

"""Shares of judged and unjudged documents in a ranking, and its labels as text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import TEXT, Measure
from rerank.metrics.lists import has_judgement, in_pool, ratio, sums, within
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists
from rerank.types import Floats
from rerank.types.ids import Ids


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


@register("RelString", trec="relstring", trec_parameter="cutoff")
@dataclass(frozen=True)
class RelString(Measure):
    """Text with one character for each of the first k documents, 10 by default (trec_eval); it has no mean.

    The character is the label from 0 to 9, `>` for a larger one, `.` for a negative one (in the pool, not judged) and
    `-` for a document that is not in the qrels.
    """

    cutoff: int | None = 10
    averaging: ClassVar[str] = TEXT
    asks_judged: ClassVar[bool] = True  # it marks documents that are not in the qrels

    def scores(self, lists: RankedLists) -> Ids:  # type: ignore[override]
        """Return the text of every query, (n_queries,) of text."""
        if self.cutoff is None:
            raise InvalidInputError("RelString: expected a cutoff, got none. Write e.g. RelString@10.")
        letters = np.where(lists.labels > 9, ">", np.maximum(lists.labels, 0).astype(np.int64).astype("U1"))
        letters = np.where(lists.labels < 0, ".", letters)
        letters = np.where(in_pool(lists), letters, "-").tolist()
        bounds = pairwise(lists.query_ptr.tolist())
        return np.array(
            ["".join(letters[start : min(end, start + self.cutoff)]) for start, end in bounds], dtype=np.str_
        )

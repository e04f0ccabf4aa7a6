"""Precision at R, the number of relevant documents, or at a multiple of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.lists import n_relevant, ranks, ratio, sums
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists
from rerank.types import Floats, query_rows

MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


@register(
    "Rprec",
    trec="Rprec",
    trec_cut="Rprec_mult",
    cut_parameter="mult",
    cutoffs=MULTIPLES,
    aliases={"RPrec": "Rprec"},
)
@dataclass(frozen=True)
class Rprec(BinaryMeasure):
    """Share of relevant documents among the first mult * R, rounded up if the fraction is at least .1.

    The divisor is that rank, even if the list is shorter (trec_eval).
    """

    mult: float = 1.0
    takes_cutoff: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.mult, int | float) or not 0 < self.mult < np.inf:
            raise InvalidInputError(f"Rprec: expected mult above 0, got {self.mult!r}. Write e.g. Rprec(mult=0.5).")

    def scores(self, lists: RankedLists) -> Floats:
        """Return the precision of every query."""
        depth = np.floor(self.mult * n_relevant(lists, self.rel) + 0.9)
        above = ranks(lists.query_ptr) < depth[query_rows(lists.query_ptr)]
        return ratio(sums(self.relevant(lists.labels) & above, lists.query_ptr), depth)

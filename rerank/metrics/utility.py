"""Utility: a weighted sum of the numbers of relevant and other documents, retrieved and missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.lists import n_relevant, sums
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists
from rerank.types import Floats


@register("Utility", trec="utility", trec_parameter="worth")
@dataclass(frozen=True)
class Utility(BinaryMeasure):
    """worth[0] * relevant retrieved + worth[1] * others retrieved + worth[2] * relevant missed + worth[3] * the rest.

    The rest is counted in a collection of `n_docs` documents, 0 by default (trec_eval's -N). Unjudged documents are
    not relevant.
    """

    worth: tuple[float, ...] = (1.0, -1.0, 0.0, 0.0)
    n_docs: int = 0
    takes_cutoff: ClassVar[bool] = False
    refuses_training: ClassVar[bool] = True  # no order changes it

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "worth", tuple(self.worth))
        if len(self.worth) != 4 or not all(isinstance(part, int | float) for part in self.worth):
            raise InvalidInputError(
                f"Utility: expected four numbers as worth, got {self.worth!r}. Write e.g. Utility(worth=(2,-1,0,0))."
            )

    def scores(self, lists: RankedLists) -> Floats:
        """Return the utility of every query."""
        n_hits = sums(self.relevant(lists.labels), lists.query_ptr)
        retrieved, relevant = np.diff(lists.query_ptr), n_relevant(lists, self.rel)
        rest = self.n_docs + n_hits - retrieved - relevant
        a, b, c, d = self.worth
        return a * n_hits + b * (retrieved - n_hits) + c * (relevant - n_hits) + d * rest

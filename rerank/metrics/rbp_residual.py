"""The residual of rank-biased precision: the gain that unjudged documents could add."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.metrics.lists import has_judgement, ranks, sums
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists
from rerank.runtime.arithmetic import powers
from rerank.types import Floats


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

"""Rank-biased precision, and what unjudged documents could add to it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.metrics.discounted import DiscountedMeasure
from rerank.metrics.parameters import BELOW_ONE, LEAST_ABOVE_ZERO, OPTIONAL_REL, REAL, MeasureParameter, declared
from rerank.metrics.ranked_lists import (
    RankedLists,
    has_judgement,
    ranks,
    sums,
)
from rerank.metrics.registry import measure, register
from rerank.runtime.arithmetic import powers
from rerank.types import Floats

PERSISTENCE: Any = MeasureParameter(0.8, "p between 0 and 1", REAL, LEAST_ABOVE_ZERO, BELOW_ONE)


@register("RBP", aliases={"rbp": {"p": 0.9}})
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

    p: float = declared(PERSISTENCE)
    rel: int | None = declared(OPTIONAL_REL)

    def gain_of(self, labels: Floats) -> Floats:
        """Return relevance, or the label."""
        return np.maximum(labels, 0.0) if self.rel is None else (labels >= self.rel).astype(np.float64)

    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return (1 - p) p^rank, for ranks from 0."""
        return (1.0 - self.p) * powers(float(self.p), rank)


@measure("RBPResidual", aliases={"rbp_resid": {"p": 0.9}}, asks_judged=True)
def residual(lists: RankedLists, p: float = PERSISTENCE) -> Floats:
    """(1 - p) * sum of p^(rank - 1) over unjudged documents, plus p^n for the documents below the n retrieved ones.

    A negative label is not a judgement. A query without any document has 0, as in every other measure. (trec_eval
    omits p^n for a list without unjudged documents, which then has 0.)

    References
    ----------
    A. Moffat and J. Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness, ACM TOIS 27(1), 2008,
    section 4.

    """
    depth = np.diff(lists.query_ptr)
    unknown = np.flatnonzero(~has_judgement(lists))
    weights = np.zeros(len(lists.labels))
    weights[unknown] = (1.0 - p) * powers(p, ranks(lists.query_ptr)[unknown])
    return np.where(depth > 0, sums(weights, lists.query_ptr) + powers(p, depth), 0.0)

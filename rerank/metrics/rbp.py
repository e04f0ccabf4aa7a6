"""Rank-biased precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.discounted import DiscountedMeasure
from rerank.metrics.registry import register
from rerank.runtime.arithmetic import powers
from rerank.types import Floats


@register("RBP", aliases={"rbp": "RBP(p=0.9)"})
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

    p: float = 0.8
    rel: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.p, bool) or not isinstance(self.p, float | int) or not 0.0 < self.p < 1.0:
            raise InvalidInputError(f"RBP: expected p between 0 and 1, got {self.p!r}. Write e.g. RBP(p=0.8).")
        if self.rel is not None and (not isinstance(self.rel, int) or self.rel < 1):
            raise InvalidInputError(f"RBP: expected rel of at least 1, got {self.rel!r}. Write e.g. RBP(rel=1).")

    def gain_of(self, labels: Floats) -> Floats:
        """Return relevance, or the label."""
        return np.maximum(labels, 0.0) if self.rel is None else (labels >= self.rel).astype(np.float64)

    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return (1 - p) p^rank, for ranks from 0."""
        return (1.0 - self.p) * powers(float(self.p), rank)

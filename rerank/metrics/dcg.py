"""DCG: discounted cumulative gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.discounted import DiscountedMeasure
from rerank.metrics.registry import register
from rerank.runtime.arithmetic import exp2_of, log2_of
from rerank.types import Floats

LINEAR, EXPONENTIAL = "log2", "exp-log2"


@register("DCG")
@dataclass(frozen=True)
class DCG(DiscountedMeasure):
    """sum gain / log2(1 + rank).

    The gain is the label (`dcg='log2'`, the default, as in trec_eval) or 2^label - 1 (`dcg='exp-log2'`); a negative
    label has gain 0. Ranks count from 1, and every rank is discounted (Järvelin and Kekäläinen do not discount the
    first two).

    References
    ----------
    K. Järvelin and J. Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4), 2002. For
    2^label - 1: C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 3.

    """

    dcg: str = LINEAR

    def __post_init__(self) -> None:
        if self.dcg not in (LINEAR, EXPONENTIAL):
            raise InvalidInputError(f"{self.symbol}: expected dcg='{LINEAR}' or '{EXPONENTIAL}', got {self.dcg!r}.")

    def gain_of(self, labels: Floats) -> Floats:
        """Return the label, or 2^label - 1."""
        positive = np.maximum(labels, 0.0)
        return positive if self.dcg == LINEAR else exp2_of(positive) - 1.0

    def discount_of(self, rank: NDArray[np.int64]) -> Floats:
        """Return 1 / log2(1 + rank), for ranks from 1."""
        return 1.0 / log2_of(rank + 2.0)

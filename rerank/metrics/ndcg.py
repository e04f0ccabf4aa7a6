"""nDCG: discounted cumulative gain over that of the ideal order (Järvelin and Kekäläinen 2002)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure, RankedLists, SwapWeights
from rerank.metrics.gains import PLAIN, Gains, graded
from rerank.metrics.lists import ranks, ratio, sums
from rerank.metrics.registry import canonical_name, register
from rerank.types import Floats, Ints

LINEAR, EXPONENTIAL = "log2", "exp-log2"


@register("nDCG", trec="ndcg", trec_cut="ndcg_cut", trec_parameter="gains", aliases={"NDCG": "nDCG"})
@dataclass(frozen=True)
class NDCG(Measure):
    """sum gain / log2(1 + rank) over the same sum of the ideal order.

    Gain is the label (trec_eval, `dcg='log2'`, the default) or 2^label - 1 (Burges 2010, section 3,
    `dcg='exp-log2'`), `gains` names others; a negative label gains 0. Rank counts from 1 and every rank is
    discounted (Järvelin and Kekäläinen leave the first two alone). The ideal holds every judged document,
    retrieved or not, and stops at the same cutoff. A query without a relevant document has 0 (trec_eval;
    LightGBM says 1).
    """

    dcg: str = LINEAR
    gains: Gains = PLAIN

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", Gains.of(self.gains))
        if self.dcg not in (LINEAR, EXPONENTIAL):
            raise InvalidInputError(f"nDCG: expected dcg='{LINEAR}' or '{EXPONENTIAL}', found {self.dcg!r}.")

    @property
    def name(self) -> str:
        """`nDCG@10` or `nDCG(dcg='exp-log2')@10`."""
        return canonical_name(self)

    @property
    def needs_judged(self) -> bool:
        """Whether documents that are judged 0 are worth something."""
        return self.gains.pays_zero

    def scores(self, lists: RankedLists) -> Floats:
        """Return the nDCG of every query."""
        labels, ideal, ideal_ptr = graded(lists, self.gains)
        return ratio(self._dcg(labels, lists.query_ptr), self._dcg(ideal, ideal_ptr))

    def swap_weights(
        self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints
    ) -> SwapWeights | None:
        """Return gains, discounts and 1 / ideal DCG; None with gains of one's own, which are for evaluation."""
        if self.gains.pairs:
            return None
        ideal = self._dcg(ideal_labels, ideal_ptr)
        longest = int(np.diff(query_ptr).max(initial=0))
        return SwapWeights(self._gains(labels), self._discounts(np.arange(longest)), ratio(np.ones_like(ideal), ideal))

    def _dcg(self, labels: Floats, query_ptr: Ints) -> Floats:
        by_rank = self._discounts(np.arange(np.diff(query_ptr).max(initial=0)))
        return sums(self._gains(labels) * by_rank[ranks(query_ptr)], query_ptr)

    def _gains(self, labels: Floats) -> Floats:
        positive = labels if self.gains.pairs else np.maximum(labels, 0.0)
        return positive if self.dcg == LINEAR else np.exp2(positive) - 1.0

    def _discounts(self, rank: NDArray[np.int64]) -> Floats:
        discounts = 1.0 / np.log2(rank + 2.0)
        return discounts if self.cutoff is None else np.where(rank < self.cutoff, discounts, 0.0)

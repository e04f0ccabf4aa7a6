"""nDCG: discounted gain over the ideal order's (Järvelin and Kekäläinen 2002).

Conventions. The gain is the label as in trec_eval, or 2^label - 1 with `dcg='exp-log2'` (Burges 2010,
MSR-TR-2010-82, section 3); a label below 0 gains 0. The discount is 1 / log2(1 + rank) with rank from 1,
as in both; Järvelin and Kekäläinen leave the first two ranks undiscounted. The ideal order holds
unretrieved documents too and stops at the same cutoff. Without a relevant document the value is 0
(LightGBM: 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure, RankedLists, SwapWeights
from rerank.metrics.hits import find_hits, longest, ratio
from rerank.metrics.registry import canonical_name, register
from rerank.types import Floats, Ints

CONVENTIONS = {"log2": "gain = label", "exp-log2": "gain = 2^label - 1"}


@register("nDCG", trec="ndcg", trec_cut="ndcg_cut")
@dataclass(frozen=True)
class NDCG(Measure):
    """Normalised discounted cumulative gain; `dcg` is 'log2' (gain = label) or 'exp-log2' (2^label - 1)."""

    dcg: str = "log2"

    def __post_init__(self) -> None:
        if self.dcg not in CONVENTIONS:
            raise InvalidInputError(f"nDCG: expected dcg='log2' or 'exp-log2', found {self.dcg!r}.")

    @property
    def name(self) -> str:
        """`nDCG@10`, `nDCG(dcg='exp-log2')@10`."""
        return canonical_name(self)

    @property
    def convention(self) -> str:
        """Which of the two gains."""
        return CONVENTIONS[self.dcg]

    def scores(self, lists: RankedLists) -> Floats:
        """Return DCG / ideal DCG of every query, (n_queries,) float64; 0 where the ideal is 0."""
        return ratio(self._dcg(lists.labels, lists.query_ptr), self._dcg(lists.ideal_labels, lists.ideal_ptr))

    def swap_weights(self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints) -> SwapWeights:
        """Return gains, discounts up to the cutoff, and 1 / ideal DCG."""
        ranks = np.arange(longest(query_ptr))
        discounts = _discounts(ranks)
        if self.cutoff is not None:
            discounts[ranks >= self.cutoff] = 0.0
        ideal = self._dcg(ideal_labels, ideal_ptr)
        return SwapWeights(self._gains(labels), discounts, ratio(np.ones(len(ideal)), ideal))

    def _dcg(self, labels: Floats, query_ptr: Ints) -> Floats:
        hits = find_hits(labels, query_ptr, labels > 0, self.cutoff)
        return hits.sums(self._gains(hits.labels) * _discounts(hits.ranks))

    def _gains(self, labels: Floats) -> Floats:
        positive = np.maximum(labels, 0.0)
        return np.exp2(positive) - 1.0 if self.dcg == "exp-log2" else positive


def _discounts(ranks: Ints) -> Floats:
    return 1.0 / np.log2(ranks + 2.0)

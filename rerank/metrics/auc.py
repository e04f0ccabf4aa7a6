"""AUC: the area under the ROC curve of a ranking."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rerank.metrics.lists import measure_depth, ratio, sums
from rerank.metrics.pairs import fill_pair_deltas, pairs_in_order
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import PrefixSum, RankedLists
from rerank.types import Floats, Ints


@register("AUC")
@dataclass(frozen=True)
class AUC(BinaryMeasure):
    """Share of the pairs of a relevant and a retrieved non-relevant document with the relevant one above the other.

    If all n0 relevant documents are retrieved, this is (S0 - n0 (n0 + 1) / 2) / (n0 n1), where n1 documents are not
    relevant and S0 is the sum of the ranks of the relevant ones, counted from the bottom, from 1. A relevant document
    that is not retrieved is below all retrieved ones. Documents of equal score keep their ranks in the run; they do
    not count as half a pair. A query without such a pair has 0.

    References
    ----------
    D. Hand and R. Till, A Simple Generalisation of the Area Under the ROC Curve for Multiple Class Classification
    Problems, Machine Learning 45, 2001, section 2.

    """

    takes_cutoff: ClassVar[bool] = False

    def scores(self, lists: RankedLists) -> Floats:
        """Return the area of every query."""
        return ratio(*pairs_in_order(self._binary(lists)))

    def fill_swap_deltas(self, lists: RankedLists, depth: int, out: Floats, out_ptr: Ints) -> None:
        """Fill out with |ΔAUC|."""
        fill_pair_deltas(self._binary(lists), depth, out, out_ptr)

    def prefix_sum(self, labels: Floats, query_ptr: Ints, ideal_labels: Floats, ideal_ptr: Ints) -> PrefixSum:
        """Return the prefix-sum form: minus the number of non-relevant documents above each relevant one."""
        relevant = self.relevant(labels).astype(np.float64)
        pairs = sums(1.0 - relevant, query_ptr) * sums(self.relevant(ideal_labels), ideal_ptr)
        longest = np.ones(measure_depth(query_ptr, None))
        norms = ratio(np.ones_like(pairs), pairs)
        return PrefixSum(-relevant, 1.0 - relevant, np.ones(len(labels)), longest, norms, initial=0.0)

    def _binary(self, lists: RankedLists) -> RankedLists:
        labels, ideal_labels = (self.relevant(some).astype(np.float64) for some in (lists.labels, lists.ideal_labels))
        return replace(lists, labels=labels, ideal_labels=ideal_labels)

"""nDCG: discounted cumulative gain over that of the ideal order (Järvelin and Kekäläinen 2002)."""

from __future__ import annotations

from dataclasses import dataclass

from rerank.metrics.dcg import DCG
from rerank.metrics.registry import register
from rerank.types import Floats, Ints


@register("nDCG", trec="ndcg", trec_cut="ndcg_cut")
@dataclass(frozen=True)
class NDCG(DCG):
    """DCG over the DCG of the ideal order, with the same gain and cutoff.

    The ideal holds every judged document, retrieved or not, and stops at the same cutoff. A query without a
    relevant document has 0 (trec_eval; LightGBM says 1).
    """

    def norms(self, ideal_labels: Floats, ideal_ptr: Ints) -> Floats:
        """Return the DCG of each query's ideal order."""
        return self.discounted_sums(ideal_labels, ideal_ptr)

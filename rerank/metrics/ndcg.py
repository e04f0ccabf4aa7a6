"""nDCG: normalised discounted cumulative gain."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rerank.errors import InvalidInputError
from rerank.metrics.dcg import DCG, LINEAR
from rerank.metrics.gains import PLAIN, Gains, graded
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists
from rerank.types import Floats, Ints


@register("nDCG", trec="ndcg", trec_cut="ndcg_cut", trec_parameter="gains", aliases={"NDCG": "nDCG"})
@dataclass(frozen=True)
class NDCG(DCG):
    """DCG divided by the DCG of the ideal order, with the same gain and cutoff.

    `gains` replaces the gains of some labels. The ideal order contains every judged document, retrieved or not, up to
    the same cutoff. A query without a relevant document has 0, as in trec_eval (1 in LightGBM).

    References
    ----------
    K. Järvelin and J. Kekäläinen, Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4), 2002.

    """

    gains: Gains = PLAIN

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gains", Gains.of(self.gains))
        if self.gains.pairs and self.dcg != LINEAR:
            raise InvalidInputError(f"nDCG: expected gains or dcg={self.dcg!r}, got both. Leave one out.")

    @property
    def needs_judged(self) -> bool:
        """Whether documents that are judged 0 have a gain."""
        return self.gains.pays_zero

    @property
    def trainable(self) -> bool:
        """Whether moving a larger label up never lowers the value: `gains` need not be monotonic."""
        return not self.gains.pairs

    def scores(self, lists: RankedLists) -> Floats:
        """Return the nDCG of every query."""
        if self.gains.pairs:
            gained, ideal, ideal_ptr = graded(lists, self.gains)
            lists = replace(lists, labels=gained, ideal_labels=ideal, ideal_ptr=ideal_ptr)
        return super().scores(lists)

    def gain_of(self, labels: Floats) -> Floats:
        """Return the label, or 2^label - 1; with `gains`, `scores` has replaced the labels already."""
        return labels if self.gains.pairs else super().gain_of(labels)

    def norms(self, ideal_labels: Floats, ideal_ptr: Ints) -> Floats:
        """Return the DCG of each query's ideal order."""
        return self.discounted_sums(ideal_labels, ideal_ptr)

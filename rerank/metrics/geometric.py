"""Measures that are averaged by a geometric mean, in which queries with small values weigh more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rerank.metrics.ap import AP
from rerank.metrics.base import GEOMETRIC
from rerank.metrics.bpref import Bpref
from rerank.metrics.registry import register
from rerank.metrics.relevance import BinaryMeasure
from rerank.metrics.structures import RankedLists
from rerank.types import Floats


@register("GMAP", trec="gm_map")
@dataclass(frozen=True)
class GMAP(BinaryMeasure):
    """Geometric mean of average precision; values below 0.00001 are raised to it (trec_eval)."""

    averaging: ClassVar[str] = GEOMETRIC

    def scores(self, lists: RankedLists) -> Floats:
        """Return the average precision of every query."""
        return AP(cutoff=self.cutoff, rel=self.rel).scores(lists)


@register("GMBpref", trec="gm_bpref")
@dataclass(frozen=True)
class GMBpref(BinaryMeasure):
    """Geometric mean of bpref; values below 0.00001 are raised to it (trec_eval)."""

    averaging: ClassVar[str] = GEOMETRIC
    takes_cutoff: ClassVar[bool] = False
    asks_judged: ClassVar[bool] = True  # only documents that are judged count

    def scores(self, lists: RankedLists) -> Floats:
        """Return the bpref of every query."""
        return Bpref(rel=self.rel).scores(lists)

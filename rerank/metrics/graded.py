"""The base class of measures with gains by label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rerank.metrics.base import Measure
from rerank.metrics.gains import PLAIN, Gains


@dataclass(frozen=True)
class GradedMeasure(Measure):
    """A measure of the whole list that sums gains: the labels, or what `gains` says."""

    gains: Gains = PLAIN
    takes_cutoff: ClassVar[bool] = False
    refuses_training: ClassVar[bool] = True  # moving a larger label up may lower the value

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", Gains.of(self.gains))

    @property
    def needs_judged(self) -> bool:
        """Whether documents that are judged 0 have a gain."""
        return self.gains.pays_zero

"""The base class of measures of binary relevance: a label of at least `rel` is relevant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import Measure
from rerank.types import Floats


@dataclass(frozen=True)
class BinaryMeasure(Measure):
    """A measure of binary relevance.

    Parameters
    ----------
    cutoff : int or None
        Depth at which the measure stops; None is the whole list.
    rel : int
        Smallest label that is relevant.

    """

    rel: int = 1
    needs_cutoff: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.needs_cutoff and self.cutoff is None:
            raise InvalidInputError(f"{self.symbol}: expected a cutoff, got none. Write e.g. {self.symbol}@10.")
        if not isinstance(self.rel, int) or self.rel < 1:
            raise InvalidInputError(f"{self.symbol}: expected rel of at least 1, got {self.rel!r}.")

    def relevant(self, labels: Floats) -> NDArray[np.bool_]:
        """Return whether each label is relevant."""
        return labels >= self.rel

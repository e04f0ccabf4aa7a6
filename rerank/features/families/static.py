"""The static family: numbers of the documents (year, clicks, stars), which do not depend on the query."""

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.family import Feature, Missing, RunFamily, register
from rerank.features.match import CandidateBatch
from rerank.features.recipe import Recipe


@register("static")
class StaticFeatures(RunFamily):
    """A feature for each number of the documents."""

    evidence = "numbers of the document"

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [
            Feature(
                name=f"static.{name}",
                meaning=f"The document's own number {name}.",
                formula="the number in the document",
                source="the corpus",
                unit="the corpus's",
                low=-inf,
                missing=(Missing.NO_NUMBER,),
            )
            for name in recipe.numbers or ()
        ]

    def fill(self, candidates: CandidateBatch, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each number); numbers beyond float32 become its greatest number."""
        limits = np.finfo(np.float32)
        for column, name in enumerate(recipe.numbers or ()):
            out[:, column] = np.clip(candidates.forward.numbers[name][candidates.docs], limits.min, limits.max)

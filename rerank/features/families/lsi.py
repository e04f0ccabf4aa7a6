"""The lsi family: similarity of query and field by latent semantic indexing of the collection.

v       vector of a text: sum over its terms of (1 + ln tf) * ln(N / df) * the term's vector, see `rerank vectors`
v[:d]   its first d dimensions, those of the greatest singular values; all where there are fewer
max     over the candidates of the query, whose value is not missing

References
----------
Deerwester et al., JASIS 1990.

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, FieldFamily, Missing
from rerank.features.cosines import cosine_feature, fill_cosines
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.vectors.space import LSI

LEVELS = (100, 200, 400)

_FEATURES = tuple(
    cosine_feature(
        name=f"lsi_{level}",
        meaning=f"Similarity of query and field in the first {level} dimensions of latent semantic indexing.",
        formula=f"cosine of v(query)[:{level}] and v(field)[:{level}]",
        source="Deerwester et al., JASIS 1990",
        missing=(Missing.NO_VECTOR,),
        cost=Cost.DIMENSIONS,
    )
    for level in LEVELS
)


@register("lsi")
class LsiFeatures(FieldFamily):
    """Cosines of the first 100, 200 and 400 dimensions of latent semantic indexing."""

    evidence = "similarity of topics"
    rising = ("*",)
    needs_space = LSI
    independent_rows = True
    listed = _FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 3)."""
        given = block.vectors
        documents, rows = given.documents(LSI, block.field.name, block.candidates.docs)
        fill_cosines(block.candidates.query_ptr, rows, given.queries[LSI], documents, LEVELS, out)

"""The encoder family: similarity of query and document by a user-defined encoder, see `--encoder`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Missing, RunFamily
from rerank.features.candidates import Candidates
from rerank.features.cosines import cosine_feature, fill_cosines
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.vectors.space import ENCODER

_FEATURES = (
    cosine_feature(
        name="encoder.cosine",
        meaning="Similarity of query and document by the encoder.",
        formula="cosine of the vectors of the query's and the document's text",
        source="the user's encoder",
        missing=(Missing.NO_TEXT,),
        cost=Cost.DIMENSIONS,
    ),
)


@register("encoder")
class EncoderFeatures(RunFamily):
    """Cosine of the encoder's vectors of query and document."""

    evidence = "similarity of meaning (encoder)"
    rising = ("*",)
    needs_space = ENCODER
    listed = _FEATURES

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 1)."""
        given = candidates.vectors
        if given is None or given.encoded is None:
            raise TypeError("features of an encoder need its vectors")
        queries, documents = given.queries[ENCODER], given.encoded
        fill_cosines(candidates.query_ptr, candidates.docs, queries, documents, (documents.shape[1],), out)

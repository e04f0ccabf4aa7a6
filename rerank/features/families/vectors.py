"""Cosines of the families that compare vectors.

The encoder family: similarity of query and document by a user-defined encoder, see `--encoder`.

The lsi family: similarity of query and field by latent semantic indexing of the collection.

v       vector of a text: sum over its terms of (1 + ln tf) * ln(N / df) * the term's vector, see `rerank vectors`
v[:d]   its first d dimensions, those of the greatest singular values; all where there are fewer
max     over the candidates of the query, whose value is not missing

References
----------
Deerwester et al., JASIS 1990.

"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rerank.features.match import Candidates, FieldBlock
from rerank.features.recipe import Feature, FieldFamily, Missing, Recipe, RunFamily, register
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_only_view
from rerank.runtime.numerics import dot
from rerank.types import Ints
from rerank.vectors.vectors import ENCODER, LSI

cosine_feature = partial(Feature, unit="cosine", low=-1.0 - 1e-6, high=1.0 + 1e-6)
LEVELS = (100, 200, 400)


def fill_cosines(
    query_ptr: Ints,
    rows: Ints,
    queries: NDArray[np.float32],
    documents: NDArray[np.float32],
    levels: Sequence[int],
    out: NDArray[np.float32],
) -> None:
    """Fill `out` with the cosines of the vectors of queries and documents, see `_fill_cosines`."""
    arrays = (read_only_view(rows), read_only_view(queries), read_only_view(documents))
    _fill_cosines(query_ptr, *arrays, np.array(levels), out)


@kernel()
def _fill_cosines(query_ptr, rows, queries, documents, levels, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_rows, n_levels) with the cosines of the first dimensions of query and document.

    rows       (n_rows,) row of each candidate in `documents`
    queries    (n_queries, dimensions) float32
    documents  (n, dimensions) float32
    levels     (n_levels,) int64, ascending: numbers of dimensions; all where there are fewer
    NaN where either has the zero vector.
    """
    for query in range(len(query_ptr) - 1):
        for row in range(query_ptr[query], query_ptr[query + 1]):
            first = 0
            product = 0.0
            of_query = 0.0
            of_document = 0.0
            for level in range(len(levels)):
                last = min(levels[level], queries.shape[1])
                left = queries[query, first:last]
                right = documents[rows[row], first:last]
                product += dot(left, right)
                of_query += dot(left, left)
                of_document += dot(right, right)
                first = last
                known = of_query > 0.0 and of_document > 0.0
                out[row, level] = product / np.sqrt(of_query * of_document) if known else np.nan


@register("encoder")
class EncoderFeatures(RunFamily):
    """Cosine of the encoder's vectors of query and document."""

    evidence = "similarity of meaning (encoder)"
    rising = ("*",)
    needs_space = ENCODER
    listed = (
        cosine_feature(
            name="encoder.cosine",
            meaning="Similarity of query and document by the encoder.",
            formula="cosine of the vectors of the query's and the document's text",
            source="the user's encoder",
            missing=(Missing.NO_TEXT,),
        ),
    )

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 1)."""
        vectors = candidates.vectors
        documents = vectors.encoded
        queries = vectors.queries[ENCODER]
        fill_cosines(candidates.query_ptr, candidates.docs, queries, documents, (documents.shape[1],), out)


@register("lsi")
class LsiFeatures(FieldFamily):
    """Cosines of the first 100, 200 and 400 dimensions of latent semantic indexing."""

    evidence = "similarity of topics"
    rising = ("*",)
    needs_space = LSI
    listed = tuple(
        cosine_feature(
            name=f"lsi_{level}",
            meaning=f"Similarity of query and field in the first {level} dimensions of latent semantic indexing.",
            formula=f"cosine of v(query)[:{level}] and v(field)[:{level}]",
            source="Deerwester et al., JASIS 1990",
            missing=(Missing.NO_VECTOR,),
        )
        for level in LEVELS
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 3)."""
        batch = block.candidates
        vectors = batch.vectors
        documents, rows = vectors.documents(LSI, block.field.name, batch.docs)
        fill_cosines(batch.query_ptr, rows, vectors.queries[LSI], documents, LEVELS, out)

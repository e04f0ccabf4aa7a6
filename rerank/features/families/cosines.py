"""Cosines of the vectors of queries and documents: the families encoder and lsi.

v       vector of a text: sum over its terms of (1 + ln tf) * ln(N / df) * the term's vector, see `rerank vectors`;
        that of a query is multiplied by the map M (`rerank/vectors/query_map.py`)
v[:d]   the first d dimensions of v, those of the greatest singular values; all dimensions where there are fewer

References
----------
Deerwester et al., JASIS 1990 (latent semantic indexing).

"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rerank.features.family import Feature, FieldFamily, Missing, RunFamily, register
from rerank.features.match import CandidateBatch, FieldBlock
from rerank.features.recipe import Recipe
from rerank.runtime.elementary import dot
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.llvm import LANES32, LINE, lane_sum, load, prefetch, same
from rerank.runtime.mapped_rows import read_only_view
from rerank.types import Ints
from rerank.vectors.vectors import ENCODER, LSI

cosine_feature = partial(Feature, unit="cosine", low=-1.0 - 1e-6, high=1.0 + 1e-6)
LEVELS = (100, 200, 400)  # numbers of dimensions


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
    _fill_cosines(query_ptr, *arrays, np.minimum(levels, queries.shape[1]), out)


@kernel()
def _fill_cosines(query_ptr, rows, queries, documents, ends, out):
    """Fill `out` (n_rows, n_levels) with the cosines of the first dimensions of query and document.

    rows       (n_rows,) row of each candidate in `documents`
    queries    (n_queries, dimensions) float32
    documents  (n, dimensions) float32
    ends       (n_levels,) int64, ascending: numbers of dimensions
    The cosine is NaN where the query or the document has the zero vector.
    """
    of_query = np.empty(len(ends))
    for query in range(len(query_ptr) - 1):
        total = 0.0
        first = 0
        for level in range(len(ends)):
            part = queries[query, first : ends[level]]
            total += dot(part, part)
            of_query[level] = total
            first = ends[level]
        last = query_ptr[query + 1]
        for row in range(query_ptr[query], last):
            if row + 2 < last:
                following = documents[rows[row + 2]]
                for i in range(0, ends[-1], LINE):
                    prefetch(following, i)
            first = 0
            product = 0.0
            of_document = 0.0
            for level in range(len(ends)):
                products, squares = _dots(queries[query], documents[rows[row]], first, ends[level])
                product += products
                of_document += squares
                first = ends[level]
                known = of_query[level] > 0.0 and of_document > 0.0
                out[row, level] = product / np.sqrt(of_query[level] * of_document) if known else np.nan


@helper()
def _dots(query, document, first, end):
    """Return query . document and document . document of the dimensions [first, end), summed in the order of `dot`."""
    whole = first + (end - first) // LANES32 * LANES32
    products = same(np.float32(0.0))
    squares = same(np.float32(0.0))
    for i in range(first, whole, LANES32):
        part = load(document, i)
        products = products + load(query, i) * part
        squares = squares + part * part
    product = lane_sum(products)
    square = lane_sum(squares)
    for i in range(whole, end):
        product += query[i] * document[i]
        square += document[i] * document[i]
    return product, square


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

    def fill(self, candidates: CandidateBatch, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 1)."""
        documents = candidates.vectors.encoded
        queries = candidates.vectors.queries[ENCODER]
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
            formula=f"cosine of (v(query) M)[:{level}] and v(field)[:{level}]; M is learned with the vectors",
            source="Deerwester et al., JASIS 1990",
            missing=(Missing.NO_VECTOR,),
        )
        for level in LEVELS
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 3)."""
        batch = block.candidates
        documents, rows = batch.vectors.documents(LSI, block.field.name, batch.docs)
        fill_cosines(batch.query_ptr, rows, batch.vectors.queries[LSI], documents, LEVELS, out)

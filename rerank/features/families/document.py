"""Families of documents, and of their vectors: static, prior, encoder, lsi.

The static family: numbers of the documents (year, clicks, stars), which do not depend on the query.

The prior family: properties of a field that do not depend on the query.

tf, len, u, idf as in the LETOR family. A common term occurs in over a tenth of the documents with the field: these are
the stop words that the analyser did not remove.

The encoder family: similarity of query and document by a user-defined encoder, see `--encoder`.

The lsi family: similarity of query and field by latent semantic indexing of the collection.

v       vector of a text: sum over its terms of (1 + ln tf) * ln(N / df) * the term's vector, see `rerank vectors`
v[:d]   its first d dimensions, those of the greatest singular values; all where there are fewer

References
----------
Bendersky, Croft & Diao, WSDM 2011; Zhou & Croft, CIKM 2005; Deerwester et al., JASIS 1990.

"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.match import Candidates, FieldBlock, cached_by_field, field_idf, postings
from rerank.features.recipe import Feature, FieldFamily, Missing, Recipe, RunFamily, register
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.runtime.numerics import dot, log
from rerank.types import Ints
from rerank.types.forward import FieldArrays
from rerank.vectors.vectors import ENCODER, LSI

_BENDERSKY = "Bendersky, Croft & Diao, WSDM 2011, table 1"
_MISSING = (Missing.EMPTY_FIELD,)


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

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each number); numbers beyond float32 become its greatest number."""
        limits = np.finfo(np.float32)
        for column, name in enumerate(recipe.numbers or ()):
            out[:, column] = np.clip(candidates.forward.numbers[name][candidates.docs], limits.min, limits.max)


def _feature(name: str, meaning: str, formula: str, source: str, unit: str, high: float = inf) -> Feature:
    return Feature(name, meaning, formula, source, unit, 0.0, high, _MISSING)


@register("prior")
class PriorFeatures(FieldFamily):
    """Entropy, common terms, distinct terms, rarity."""

    evidence = "quality of the text"
    listed = (
        _feature(
            "entropy",
            "How evenly the field's tokens are spread over its terms.",
            "-sum over its terms of tf / len * ln(tf / len)",
            _BENDERSKY,
            "nats",
        ),
        _feature(
            "stop_share",
            "Share of the field's tokens that are common terms.",
            "sum of tf over its common terms, / len",
            _BENDERSKY + ", fracStops",
            "share",
            1.0,
        ),
        _feature("unique_terms", "Number of distinct terms of the field.", "u", "Pyserini 0.22", "terms"),
        _feature("unique_share", "How rarely terms are repeated in the field.", "u / len", _BENDERSKY, "share", 1.0),
        _feature(
            "mean_idf",
            "How rare the field's terms are.",
            "mean over its tokens of idf",
            "Zhou & Croft, CIKM 2005, document quality",
            "nats",
        ),
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 5)."""
        out[:] = _priors(block.field)[block.candidates.docs]


@cached_by_field
def _priors(field: FieldArrays) -> NDArray[np.float32]:
    """Return the columns of every document, (n_docs, 5)."""
    table = np.empty((len(field.lengths), len(PriorFeatures.listed)), dtype=np.float32)
    arrays = postings(field)
    lengths = read_only_view(field.lengths)
    doc_freq = read_only_view(field.doc_freq)
    with read_in_order(*arrays):
        _fill(arrays, lengths, field_idf(field), doc_freq, 0.1 * field.n_docs_with, table)
    return table


@kernel()
def _fill(postings, lengths, idf, doc_freq, common, out):  # type: ignore[no-untyped-def]
    """Fill the columns of every document; the entropy is ln(len) - (sum of tf * ln(tf)) / len."""
    doc_ptr, terms, freqs = postings
    for doc in range(len(lengths)):
        if lengths[doc] == 0:
            out[doc] = np.nan
            continue
        product = 0.0
        stops = 0
        rarity = 0.0
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            count = freqs[posting]
            term = terms[posting]
            if count > 1:
                product += count * log(np.float64(count))
            stops += count if doc_freq[term] > common else 0
            rarity += count * idf[term]
        length = np.float64(lengths[doc])
        unique = doc_ptr[doc + 1] - doc_ptr[doc]
        out[doc, 0] = max(log(length) - product / length, 0.0)
        out[doc, 1] = stops / length
        out[doc, 2] = unique
        out[doc, 3] = unique / length
        out[doc, 4] = rarity / length


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
    _fill_cosines(query_ptr, *arrays, np.minimum(levels, queries.shape[1]), out)


@kernel()
def _fill_cosines(query_ptr, rows, queries, documents, ends, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_rows, n_levels) with the cosines of the first dimensions of query and document.

    rows       (n_rows,) row of each candidate in `documents`
    queries    (n_queries, dimensions) float32
    documents  (n, dimensions) float32
    ends       (n_levels,) int64, ascending: numbers of dimensions
    NaN where either has the zero vector.
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
        for row in range(query_ptr[query], query_ptr[query + 1]):
            first = 0
            product = 0.0
            of_document = 0.0
            for level in range(len(ends)):
                part = documents[rows[row], first : ends[level]]
                product += dot(queries[query, first : ends[level]], part)
                of_document += dot(part, part)
                first = ends[level]
                known = of_query[level] > 0.0 and of_document > 0.0
                out[row, level] = product / np.sqrt(of_query[level] * of_document) if known else np.nan


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
        fill_cosines(
            candidates.query_ptr, candidates.docs, vectors.queries[ENCODER], documents, (documents.shape[1],), out
        )


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
        documents, rows = batch.vectors.documents(LSI, block.field.name, batch.docs)
        fill_cosines(batch.query_ptr, rows, batch.vectors.queries[LSI], documents, LEVELS, out)

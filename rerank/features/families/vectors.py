"""Cosines of the families that compare vectors.

The encoder family: similarity of query and document by a user-defined encoder, see `--encoder`.

The lsi family: similarity of query and field by latent semantic indexing of the collection.

v       vector of a text: sum over its terms of (1 + ln tf) * ln(N / df) * the term's vector, see `rerank vectors`
v[:d]   its first d dimensions, those of the greatest singular values; all where there are fewer
max     over the candidates of the query, whose value is not missing

References
----------
Deerwester et al., JASIS 1990.

The words family: similarity of query and field by word vectors of the collection.

u(t)    vector of a word: of the positive pointwise mutual information of words that occur near each other
v       vector of a text: sum over its words of (1 + ln tf) * ln(N / df) * u, see `rerank vectors`
cos     cosine

References
----------
Levy, Goldberg & Dagan, TACL 2015; Mitra et al., arXiv:1602.01137; Kenter & de Rijke, CIKM 2015 (soft matching).

"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, FieldFamily, Missing, RunFamily
from rerank.features.candidates import Candidates
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe, register
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_only_view
from rerank.runtime.numerics import dot
from rerank.types import Ints
from rerank.vectors.space import ENCODER, LSI, WORDS

cosine_feature = partial(Feature, unit="cosine", low=-1.0 - 1e-6, high=1.0 + 1e-6)
_ENCODER_FEATURES = (
    cosine_feature(
        name="encoder.cosine",
        meaning="Similarity of query and document by the encoder.",
        formula="cosine of the vectors of the query's and the document's text",
        source="the user's encoder",
        missing=(Missing.NO_TEXT,),
        cost=Cost.DIMENSIONS,
    ),
)
LEVELS = (100, 200, 400)
LIMIT = 64  # query terms of the soft match
_WORD_FEATURES = (
    cosine_feature(
        name="word_cosine",
        meaning="Similarity of query and field as sums of word vectors.",
        formula="cosine of v(query) and v(field)",
        source="Mitra et al., arXiv:1602.01137, with vectors of Levy, Goldberg & Dagan, TACL 2015",
        missing=(Missing.NO_VECTOR,),
        cost=Cost.DIMENSIONS,
    ),
    cosine_feature(
        name="soft_match",
        meaning="How near the query's words are to the nearest word of the field.",
        formula="mean over the query's words t, weighted by idf, of the greatest cos(u(t), u(s)), s in the field",
        source="Kenter & de Rijke, CIKM 2015, eq. 3, without its saturation",
        missing=(Missing.NO_VECTOR,),
        cost=Cost.SOFT,
    ),
)


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
            first, product, of_query, of_document = 0, 0.0, 0.0, 0.0
            for level in range(len(levels)):
                last = min(levels[level], queries.shape[1])
                left, right = queries[query, first:last], documents[rows[row], first:last]
                product += dot(left, right)
                of_query += dot(left, left)
                of_document += dot(right, right)
                first = last
                known = of_query > 0.0 and of_document > 0.0
                out[row, level] = product / np.sqrt(of_query * of_document) if known else np.nan


@kernel()
def fill_soft_matches(query_ptr, term_ptr, query_rows, weights, docs, postings, term_rows, units, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_rows,) with the weighted mean over the query's terms of the best cosine with a term of the field.

    term_ptr    (n_queries + 1,) first query term of each query
    query_rows  (n_query_terms,) row of each query term in `units`, -1 where it has none
    weights     (n_query_terms,) weight of each query term in the mean
    docs        (n_rows,) document of each candidate
    postings    doc_ptr and terms of the field
    term_rows   (n_terms,) row of each term in `units`, -1 where it has none
    units       (n, dimensions) float32 vectors of norm 1
    NaN where no term of the query, or none of the field, has a vector.
    """
    doc_ptr, doc_terms = postings
    slots = np.full(len(units), -1, np.int32)
    for query in range(len(query_ptr) - 1):
        first, last = query_ptr[query], query_ptr[query + 1]
        terms = np.empty(term_ptr[query + 1] - term_ptr[query], np.int64)
        n_terms, total = 0, 0.0
        for term in range(term_ptr[query], term_ptr[query + 1]):
            if query_rows[term] >= 0 and weights[term] > 0.0:
                terms[n_terms] = term
                n_terms += 1
                total += weights[term]
        n_postings = 0
        for row in range(first, last):
            n_postings += doc_ptr[docs[row] + 1] - doc_ptr[docs[row]]
        n_slots, most = 0, min(n_postings, len(units))
        cosines = np.empty((most, max(n_terms, 1)), np.float32)
        used, best = np.empty(most, np.int32), np.empty(max(n_terms, 1), np.float32)
        for row in range(first, last):
            best[:], n_known = -1.0, 0
            for posting in range(doc_ptr[docs[row]], doc_ptr[docs[row] + 1]):
                term = doc_terms[posting]
                unit = term_rows[term] if term < len(term_rows) else np.int32(-1)
                if unit < 0 or n_terms == 0:
                    continue
                n_known += 1
                if slots[unit] < 0:
                    slots[unit], used[n_slots] = n_slots, unit
                    for index in range(n_terms):
                        cosines[n_slots, index] = dot(units[query_rows[terms[index]]], units[unit])
                    n_slots += 1
                of_unit = cosines[slots[unit]]
                for index in range(n_terms):
                    best[index] = max(best[index], of_unit[index])
            mean = 0.0
            for index in range(n_terms):
                mean += weights[terms[index]] * best[index]
            out[row] = mean / total if n_known > 0 else np.nan
        for slot in range(n_slots):
            slots[used[slot]] = -1


@register("encoder")
class EncoderFeatures(RunFamily):
    """Cosine of the encoder's vectors of query and document."""

    evidence = "similarity of meaning (encoder)"
    rising = ("*",)
    needs_space = ENCODER
    listed = _ENCODER_FEATURES

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 1)."""
        given = candidates.vectors
        if given is None or given.encoded is None:
            raise TypeError("features of an encoder need its vectors")
        queries, documents = given.queries[ENCODER], given.encoded
        fill_cosines(candidates.query_ptr, candidates.docs, queries, documents, (documents.shape[1],), out)


_LSI_FEATURES = tuple(
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
    listed = _LSI_FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 3)."""
        given = block.vectors
        documents, rows = given.documents(LSI, block.field.name, block.candidates.docs)
        fill_cosines(block.candidates.query_ptr, rows, given.queries[LSI], documents, LEVELS, out)


@register("words")
class WordFeatures(FieldFamily):
    """Cosine of the sums of word vectors, and the mean over the query's words of the best cosine with a word."""

    evidence = "similarity of words"
    rising = ("*",)
    needs_space = WORDS
    limit = f"soft_match reads the first {LIMIT} distinct terms of a query"
    listed = _WORD_FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 2)."""
        given, batch, field = block.vectors, block.candidates, block.field
        documents, rows = given.documents(WORDS, field.name, batch.docs)
        cosines = np.empty((batch.n_rows, 1), dtype=np.float32)
        fill_cosines(batch.query_ptr, rows, given.queries[WORDS], documents, (documents.shape[1],), cosines)
        out[:, :1] = cosines
        space, first = given.space(WORDS), batch.first_terms(LIMIT)
        fill_soft_matches(
            batch.query_ptr,
            first.term_ptr,
            *space.of_terms(first.terms),
            batch.docs,
            (read_only_view(field.doc_ptr), read_only_view(field.terms)),
            read_only_view(space.rows),
            read_only_view(space.units),
            out[:, 1],
        )

"""Matching: how often each query term occurs in a field of each candidate.

A query-document pair takes 8 bytes for each distinct query term. Repeated terms are counted once: the time of a pair
grows with the distinct terms of the query and the terms of the document, never with their product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rerank.features.candidates import Candidates
from rerank.features.recipe import Recipe
from rerank.features.statistics import inverse_document_frequency, lucene_lengths, vector_norms
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.lanes import LINE, prefetch
from rerank.runtime.views import read_only_view
from rerank.types import Floats, Ints, joined_rows, pointers
from rerank.types.forward import FieldArrays

TABLE_BITS, MOST_IN_TABLE, TRIALS = 12, 32, 8
FACTOR = np.uint64(0x9E3779B1)  # 2^32 divided by the golden ratio, odd
LOW, SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32 - TABLE_BITS)
SCANNED = 128  # postings for each query term, up to which a document is scanned: faster than a search
PREFETCHED = 256  # postings of a document

if TYPE_CHECKING:
    from rerank.vectors.queries import QueryVectors


@dataclass(frozen=True, eq=False)
class FieldBlock:
    """A batch of queries matched with one field: the input of a `FieldFamily`.

    Parameters
    ----------
    candidates : Candidates
        The queries and their rows.
    field : FieldArrays
        Forward arrays of the field.
    doc_freq : ndarray of shape (n_query_terms,) and dtype int64
        Documents that hold the term in this field.
    collection_freq : ndarray of shape (n_query_terms,) and dtype int64
        Occurrences of the term in this field of all documents.
    lengths : ndarray of shape (n_rows,) and dtype int32
        Tokens of the row's field (the exact count).
    columns : dict from str to ndarray
        Columns of families that are filled already, by family: see `columns.field_columns`.
    saturations : dict from (float, float) to ndarray
        What `bm25_saturation` has returned, by k1 and b.

    """

    candidates: Candidates
    field: FieldArrays
    doc_freq: Ints
    collection_freq: Ints
    lengths: NDArray[np.int32]
    columns: dict[str, NDArray[np.float32]] = dataclass_field(default_factory=dict)
    saturations: dict[tuple[float, float], Floats] = dataclass_field(default_factory=dict)

    @cached_property
    def tf_ptr(self) -> Ints:
        """First match of each query in `tf`, (n_queries + 1,) int64."""
        return pointers(np.diff(self.candidates.query_ptr) * np.diff(self.candidates.term_ptr))

    @cached_property
    def matches(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The arrays `tf` and `first_tokens`."""
        candidates, field = self.candidates, self.field
        tf, first_tokens = np.empty((2, self.tf_ptr[-1]), dtype=np.int32)
        _fill_matches(
            (candidates.query_ptr, candidates.docs, candidates.term_ptr, candidates.terms),
            (read_only_view(field.doc_ptr), read_only_view(field.terms), read_only_view(field.freqs)),
            self.tf_ptr,
            tf,
            first_tokens,
        )
        return tf, first_tokens

    @property
    def tf(self) -> NDArray[np.int32]:
        """Term frequencies, (n_matches,) int32.

        With T terms in query q, those of row r begin at tf_ptr[q] + (r - query_ptr[q]) * T, one for each query term.
        """
        return self.matches[0]

    @property
    def first_tokens(self) -> NDArray[np.int32]:
        """Tokens of the document's terms with a lower number, (n_matches,) int32; 0 where tf is 0.

        The term's positions in the document begin after so many positions of the document.
        """
        return self.matches[1]

    def row_blocks(self, n_matches: int) -> Iterator[tuple[slice, FieldBlock]]:
        """Yield blocks with the rows of this one, and which rows: a query of many matches is split.

        n_matches  row-term pairs of a block; a single row is never split. Only a block of one query is split, as
                   `Candidates.batches` leaves no other block with so many.
        """
        n_rows, candidates = self.candidates.n_rows, self.candidates
        size = max(n_matches // max(len(candidates.terms), 1), 1)
        if len(candidates.query_lengths) != 1 or n_rows <= size:
            yield slice(0, n_rows), self
            return
        for first in range(0, n_rows, size):
            rows = slice(first, min(first + size, n_rows))
            part = candidates.rows_of_one_query(rows)
            yield rows, FieldBlock(part, self.field, self.doc_freq, self.collection_freq, self.lengths[rows])

    @property
    def vectors(self) -> QueryVectors:
        """Vectors of the queries and documents, for the families that need them."""
        if self.candidates.vectors is None:
            raise TypeError("features of vectors need vectors")
        return self.candidates.vectors

    @cached_property
    def idf(self) -> Floats:
        """Lucene's idf of each query term, (n_query_terms,) float64; 0 where the field does not hold it."""
        return inverse_document_frequency(self.doc_freq, self.field.n_docs_with)

    @cached_property
    def lucene_lengths(self) -> NDArray[np.int32]:
        """Length of each row's field as Lucene stores it in one byte, (n_rows,) int32 tokens."""
        return lucene_lengths(self.lengths)

    @cached_property
    def unique_terms(self) -> Ints:
        """Number of distinct terms in each row's field, (n_rows,) int64."""
        docs = self.candidates.docs
        return self.field.doc_ptr[docs + 1] - self.field.doc_ptr[docs]

    @cached_property
    def relative_lengths(self) -> Floats:
        """Length of each row's field as Lucene stores it, divided by the average length, (n_rows,) float64."""
        return self.lucene_lengths.astype(np.float64) / (self.field.average_length or 1.0)

    def bm25_saturation(self, recipe: Recipe) -> Floats:
        """Return k1 * (1 - b + b * dl / avgdl) of each row, (n_rows,): the tf at which half of the idf is reached."""
        parameters = recipe.bm25_k1, recipe.bm25_b
        if parameters not in self.saturations:
            k1, b = parameters
            self.saturations[parameters] = k1 * (1.0 - b + b * self.relative_lengths)
        return self.saturations[parameters]

    @cached_property
    def vector_norms(self) -> Floats:
        """Norm of the tf * idf vector of each row's field, (n_rows,) float64."""
        return vector_norms(self.field)[self.candidates.docs]


def match(candidates: Candidates, field: FieldArrays) -> FieldBlock:
    """Return the candidates matched with a field."""
    doc_freq, collection_freq = _statistics(candidates.terms, field.collection or field)
    if field.collection is not None:
        new = _new_terms_of_rows(candidates, field, doc_freq == 0)
        doc_freq, collection_freq = np.maximum(doc_freq, new), np.maximum(collection_freq, new)
    return FieldBlock(
        candidates=candidates,
        field=field,
        doc_freq=doc_freq,
        collection_freq=collection_freq,
        lengths=np.asarray(field.lengths[candidates.docs]),
    )


def _statistics(terms: Ints, field: FieldArrays) -> tuple[Ints, Ints]:
    """Return document and collection frequency of each term, (n_terms,) int64; 0 for an unknown one."""
    if not len(field.doc_freq):
        return np.zeros(len(terms), dtype=np.int64), np.zeros(len(terms), dtype=np.int64)
    known = (terms >= 0) & (terms < len(field.doc_freq))
    safe = np.where(known, terms, 0)
    doc_freq, collection_freq = (
        np.where(known, values[safe], 0).astype(np.int64) for values in (field.doc_freq, field.collection_freq)
    )
    return doc_freq, collection_freq


def _new_terms_of_rows(candidates: Candidates, field: FieldArrays, is_new: NDArray[np.bool_]) -> Ints:
    """Return 1 for each new query term that the field of one of the query's rows holds, else 0, (n_terms,) int64."""
    held = np.zeros(len(candidates.terms), dtype=np.int64)
    for query in range(len(candidates.query_lengths)):
        first, last = candidates.term_ptr[query : query + 2].tolist()
        new = first + np.flatnonzero(is_new[first:last] & (candidates.terms[first:last] >= 0))
        if len(new):
            docs = candidates.docs[slice(*candidates.query_ptr[query : query + 2].tolist())]
            rows, _ = joined_rows(field.doc_ptr[docs], field.doc_ptr[docs + 1] - field.doc_ptr[docs])
            held[new] = np.isin(candidates.terms[new], field.terms[rows])
    return held


@kernel()
def _fill_matches(queries, postings, tf_ptr, tf, first_tokens):  # type: ignore[no-untyped-def]
    """Fill `tf` (n_matches,) with term frequencies, and `first_tokens` (n_matches,) with what `FieldBlock` says.

    queries   query_ptr, docs, term_ptr, terms as in Candidates
    postings  doc_ptr, terms, freqs of the field
    A document's terms are looked up in a table of the query's, or, if it has very many or the query has no table, the
    query's terms are searched in the document.
    """
    query_ptr, docs, term_ptr, terms = queries
    doc_ptr, doc_terms, freqs = postings
    table = np.zeros(1 << TABLE_BITS, np.uint8)
    for query in range(len(query_ptr) - 1):
        index, last, of_query = tf_ptr[query], query_ptr[query + 1], terms[term_ptr[query] : term_ptr[query + 1]]
        n_terms, factor = len(of_query), _fill_table(of_query, table)
        slots = np.zeros((3, min(n_terms, MOST_IN_TABLE) + 1), np.int32)
        slots[0, 0] = -1  # no term
        for number in range(slots.shape[1] - 1):
            slots[0, number + 1] = of_query[number]
        for row in range(query_ptr[query], last):
            if row + 4 < last:
                prefetch(doc_ptr, docs[row + 4])
            if row + 2 < last:
                _prefetch_postings(doc_ptr[docs[row + 2]], doc_ptr[docs[row + 2] + 1], doc_terms, freqs)
            low, end = doc_ptr[docs[row]], doc_ptr[docs[row] + 1]
            if factor > 0 and end - low <= n_terms * SCANNED:
                _scan(low, end, doc_terms, freqs, table, factor, slots)
                for number in range(n_terms):
                    tf[index + number], first_tokens[index + number] = slots[1, number + 1], slots[2, number + 1]
                    slots[1, number + 1], slots[2, number + 1] = 0, 0
            else:
                _search(low, end, doc_terms, freqs, of_query, index, tf, first_tokens)
            index += n_terms
        if factor > 0:
            _clear_table(of_query, factor, table)


@helper()
def _fill_table(terms, table):  # type: ignore[no-untyped-def]
    """Fill the slot, from 1, of each known term of a query; return the factor of their hash, 0 if there is no table."""
    if len(terms) > MOST_IN_TABLE:
        return np.uint64(0)
    factor = FACTOR
    for _ in range(TRIALS):
        number = 0
        while number < len(terms) and (terms[number] < 0 or table[_hash(terms[number], factor)] == 0):
            if terms[number] >= 0:
                table[_hash(terms[number], factor)] = number + 1
            number += 1
        if number == len(terms):
            return factor
        _clear_table(terms, factor, table)
        factor = factor * FACTOR & LOW
    return np.uint64(0)


@helper()
def _hash(term, factor):  # type: ignore[no-untyped-def]
    """Return the index of a term number in the table: the upper bits of a product of 32 bits."""
    return (np.uint64(term) * factor & LOW) >> SHIFT


@helper()
def _clear_table(terms, factor, table):  # type: ignore[no-untyped-def]
    """Set the slots of a query's terms to 0."""
    for number in range(len(terms)):
        if terms[number] >= 0:
            table[_hash(terms[number], factor)] = 0


@helper()
def _scan(low, end, doc_terms, freqs, table, factor, slots):  # type: ignore[no-untyped-def]
    """Fill frequency and first token of each slot of `slots` (3, n_terms + 1): term, frequency, first token.

    All other terms of the document go to slot 0: without a branch, which could not be predicted.
    """
    n_tokens = 0
    for posting in range(low, end):
        term, freq = doc_terms[posting], freqs[posting]
        slot = table[_hash(term, factor)]
        slot = slot if slots[0, slot] == term else np.uint8(0)
        slots[1, slot], slots[2, slot] = freq, n_tokens
        n_tokens += freq


@helper()
def _search(low, end, doc_terms, freqs, terms, index, tf, first_tokens):  # type: ignore[no-untyped-def]
    """Fill the matches of a document from `index` on; both lists of terms ascend."""
    n_tokens, counted = 0, low
    for number in range(len(terms)):
        wanted, high = terms[number], end
        while low < high:
            middle = (low + high) >> 1
            if doc_terms[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        tf[index + number], first_tokens[index + number] = 0, 0
        if low < end and doc_terms[low] == wanted:
            for posting in range(counted, low):
                n_tokens += freqs[posting]
            counted = low
            tf[index + number], first_tokens[index + number] = freqs[low], n_tokens


@helper()
def _prefetch_postings(first, last, doc_terms, freqs):  # type: ignore[no-untyped-def]
    """Prefetch the postings of a document; of one with very many, the first."""
    for posting in range(first, min(last, first + PREFETCHED), LINE):
        prefetch(doc_terms, posting)
        prefetch(freqs, posting)

"""Matching: how often each query term occurs in a field of each candidate.

A query-document pair takes 8 bytes for each distinct query term. Repeated terms are counted once: the time of a pair
grows with the distinct terms of the query and the terms of the document, never with their product.

Statistics of a field that several families use: idf, lengths as Lucene encodes them, vector norms.

BM25 of candidates that were not retrieved from an index: texts that a user passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cache, cached_property, wraps
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.features.candidates import MOST_MATCHES, Candidates, gather_candidates
from rerank.features.recipe import Recipe
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.runtime.numerics import LINE, array_log1p, prefetch
from rerank.types import Floats, Ints, joined_rows, pointers, query_rows
from rerank.types.forward import FieldArrays, ForwardIndex
from rerank.types.ids import sort_keys

if TYPE_CHECKING:
    from rerank.vectors.encoder import QueryVectors


_EXACT_LENGTHS = 24  # SmallFloat.NUM_FREE_VALUES: the encoding of lengths below it is the identity
Result = TypeVar("Result")
TABLE_BITS = 12
MOST_IN_TABLE = 32
TRIALS = 8
FACTOR = np.uint64(0x9E3779B1)  # 2^32 divided by the golden ratio, odd
LOW = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32 - TABLE_BITS)
SCANNED = 128  # postings for each query term, up to which a document is scanned: faster than a search
PREFETCHED = 256  # postings of a document
_SCALE = 10_000.0  # Anserini rounds the scores of its hits to four decimals


def cached_by_field(compute: Callable[[FieldArrays], Result]) -> Callable[[FieldArrays], Result]:
    """Return `compute` with a cache, which is shared by threads and holds a result as long as its field exists."""
    results: WeakKeyDictionary[FieldArrays, Result] = WeakKeyDictionary()
    lock = Lock()

    @wraps(compute)
    def cached(field: FieldArrays) -> Result:
        with lock:
            if field not in results:
                results[field] = compute(field)
            return results[field]

    return cached


def inverse_document_frequency(doc_freq: ArrayLike, n_docs_with: int) -> Floats:
    """Return Lucene's idf, ln(1 + (N - df + 0.5) / (df + 0.5)), which is positive where df > 0.

    `BM25Similarity.idf` of Lucene, which rounds it to float32.
    """
    doc_freq = np.asarray(doc_freq, dtype=np.float64)
    idf = array_log1p((n_docs_with - doc_freq + 0.5) / (doc_freq + 0.5))
    return np.where(doc_freq > 0, idf, 0.0)


def lucene_lengths(lengths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return lengths as Lucene's one-byte norms store them: exact up to 40, then rounded down to four significant bits.

    Shapes: lengths int32 (n,).

    `SmallFloat.intToByte4` and `SmallFloat.byte4ToInt` of Lucene.
    """
    table = _lucene_length_table()
    return table[np.searchsorted(table, lengths, side="right") - 1]


def field_idf(field: FieldArrays) -> Floats:
    """Return the idf of every term in a field, (n_terms,) float64.

    Batches of texts that no index holds share the document frequencies, so their idf is computed once.
    """
    if field.collection is None:
        return _idf(field)
    shared = _idf_of_texts(field.collection)
    with shared.lock:
        if shared.doc_freq is not field.doc_freq:
            shared.idf = inverse_document_frequency(field.doc_freq, field.n_docs_with)
            shared.doc_freq = field.doc_freq
        return shared.idf


@cached_by_field
def _idf(field: FieldArrays) -> Floats:
    return inverse_document_frequency(field.doc_freq, field.n_docs_with)


class _IdfOfTexts:
    """The idf of the terms of texts beside a field of an index, and the document frequencies that it is from."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.doc_freq: NDArray[np.int32] | None = None
        self.idf: Floats = np.empty(0)


@cached_by_field
def _idf_of_texts(field: FieldArrays) -> _IdfOfTexts:
    return _IdfOfTexts()


@cached_by_field
def vector_norms(field: FieldArrays) -> Floats:
    """Return the Euclidean norm of every document's vector of tf * idf, (n_docs,) float64."""
    norms = np.empty(len(field.lengths), dtype=np.float64)
    postings = (read_only_view(field.doc_ptr), read_only_view(field.terms), read_only_view(field.freqs))
    with read_in_order(*postings):
        _fill_norms(*postings, field_idf(field), norms)
    return norms


@cache
def _lucene_length_table() -> NDArray[np.int32]:
    code = np.arange(256 - _EXACT_LENGTHS, dtype=np.int64)
    mantissa = code & 7
    shift = (code >> 3) - 1
    steps = np.where(shift < 0, mantissa, (mantissa | 8) << np.maximum(shift, 0))
    free = np.arange(_EXACT_LENGTHS, dtype=np.int64)
    return np.concatenate([free, _EXACT_LENGTHS + steps]).astype(np.int32)


@kernel()
def _fill_norms(doc_ptr, terms, freqs, idf, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_docs,) with sqrt(sum of (tf * idf)^2) over each document's postings."""
    for doc in range(len(out)):
        total = 0.0
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            weight = freqs[posting] * idf[terms[posting]]
            total += weight * weight
        out[doc] = np.sqrt(total)


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
        candidates = self.candidates
        field = self.field
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
        n_rows = self.candidates.n_rows
        candidates = self.candidates
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
        doc_freq = np.maximum(doc_freq, new)
        collection_freq = np.maximum(collection_freq, new)
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
        index = tf_ptr[query]
        last = query_ptr[query + 1]
        of_query = terms[term_ptr[query] : term_ptr[query + 1]]
        n_terms = len(of_query)
        factor = _fill_table(of_query, table)
        slots = np.zeros((3, min(n_terms, MOST_IN_TABLE) + 1), np.int32)
        slots[0, 0] = -1  # no term
        for number in range(slots.shape[1] - 1):
            slots[0, number + 1] = of_query[number]
        for row in range(query_ptr[query], last):
            if row + 4 < last:
                prefetch(doc_ptr, docs[row + 4])
            if row + 2 < last:
                _prefetch_postings(doc_ptr[docs[row + 2]], doc_ptr[docs[row + 2] + 1], doc_terms, freqs)
            low = doc_ptr[docs[row]]
            end = doc_ptr[docs[row] + 1]
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
        term = doc_terms[posting]
        freq = freqs[posting]
        slot = table[_hash(term, factor)]
        slot = slot if slots[0, slot] == term else np.uint8(0)
        slots[1, slot], slots[2, slot] = freq, n_tokens
        n_tokens += freq


@helper()
def _search(low, end, doc_terms, freqs, terms, index, tf, first_tokens):  # type: ignore[no-untyped-def]
    """Fill the matches of a document from `index` on; both lists of terms ascend."""
    n_tokens = 0
    counted = low
    for number in range(len(terms)):
        wanted = terms[number]
        high = end
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


def bm25_scores(
    forward: ForwardIndex, query_terms: Sequence[Sequence[str]], query_ptr: Ints, docs: Ints, field: str, recipe: Recipe
) -> Floats:
    """Return BM25 of documents: the scores of a search whose hits they are.

    Shapes: query_ptr int64 (n_queries + 1,); docs int64 (n_rows,).

    Robertson & Zaragoza, Foundations and Trends in Information Retrieval 2009, eq. 3.15, in the variant of Lucene's
    BM25Similarity.
    """
    candidates = gather_candidates(forward, query_terms, query_ptr, docs, np.zeros(len(docs)))
    scores = np.zeros(len(docs))
    for rows, batch in candidates.batches(len(docs)):
        block = match(batch, forward.fields[field])
        for part_rows, part in block.row_blocks(MOST_MATCHES):
            scores[rows][part_rows] = _sums(part, np.float32(recipe.bm25_k1), np.float32(recipe.bm25_b))
    exact = scores.astype(np.float32)
    keys: list[Any] = [*sort_keys(forward.doc_ids[docs]), -exact, query_rows(query_ptr)]
    order = np.lexsort(keys)
    spread = (np.floor(exact[order].astype(np.float64) * _SCALE + 0.5) / _SCALE).astype(np.float32)
    _spread_ties(query_ptr, spread)
    scores[order] = spread
    return scores


def _sums(part: FieldBlock, k1: np.float32, b: np.float32) -> Floats:
    """Return BM25 of the rows of a block, (n_rows,): a float32 for each term, added up in float64."""
    candidates = part.candidates
    one = np.float32(1)
    sizes = np.diff(candidates.term_ptr)
    query = query_rows(candidates.query_ptr)
    first = part.tf_ptr[query] + (np.arange(len(query)) - candidates.query_ptr[query]) * sizes[query]
    doc_freq = part.doc_freq.astype(np.float64)
    idf = np.log(1.0 + (part.field.n_docs_with - doc_freq + 0.5) / (doc_freq + 0.5)).astype(np.float32)
    weights = candidates.query_freq.astype(np.float32) * np.where(doc_freq > 0, idf, np.float32(0))
    lengths = part.lucene_lengths.astype(np.float32)
    total = np.zeros(candidates.n_rows)
    with np.errstate(divide="ignore", over="ignore"):  # k1 may be 0
        inverse = one / (k1 * ((one - b) + b * lengths / np.float32(part.field.average_length or 1.0)))
        for term in range(int(sizes.max(initial=0))):
            held = np.flatnonzero(term < sizes[query])
            tf = part.tf[first[held] + term].astype(np.float32)
            held = held[tf > 0]
            tf = tf[tf > 0]
            weight = weights[candidates.term_ptr[query[held]] + term]
            total[held] += weight - weight / (one + tf * inverse[held])
    return total


@kernel()
def _spread_ties(query_ptr: Any, scores: Any) -> None:
    """Take 1e-6 more from each further score of a tie of a query, as Anserini's ScoreTiesAdjusterReranker does.

    scores  (n_rows,) float32, descending within each query, IN and OUT
    """
    for query in range(len(query_ptr) - 1):
        ties = np.float32(0)
        for row in range(query_ptr[query] + 1, query_ptr[query + 1]):
            if np.float32(scores[row - 1] - scores[row]) > np.float32(0.0001):
                ties = np.float32(0)
            else:
                ties = np.float32(ties + np.float32(1))
                scores[row] = np.float32(scores[row] - np.float32(np.float32(0.000001) * ties))

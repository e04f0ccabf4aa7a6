"""Statistics of a field that several families use: idf, lengths as Lucene encodes them, vector norms."""

from collections.abc import Callable, Sequence
from functools import wraps
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.runtime.elementary import array_log, exp, log1p, log2
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.types import CONTENTS, FieldArrays, Floats, ForwardIndex
from rerank.types.vocabulary import find_terms
from rerank.vectors.space import log_idf

Result = TypeVar("Result")
LEAST_BURSTINESS = 0.2
_EXACT_LENGTHS = 24  # SmallFloat.NUM_FREE_VALUES: the encoding of lengths below it is the identity


def cached_by_field(compute: Callable[[FieldArrays], Result]) -> Callable[[FieldArrays], Result]:
    """Return `compute` with a cache that threads share; a result is kept as long as its field exists."""
    results: WeakKeyDictionary[FieldArrays, Result] = WeakKeyDictionary()
    lock = Lock()

    @wraps(compute)
    def cached(field: FieldArrays) -> Result:
        with lock:
            if field not in results:
                results[field] = compute(field)
            return results[field]

    return cached


def postings(field: FieldArrays) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return doc_ptr, terms and freqs of a field for kernels."""
    return read_only_view(field.doc_ptr), read_only_view(field.terms), read_only_view(field.freqs)


def inverse_document_frequency(doc_freq: ArrayLike, n_docs_with: int) -> Floats:
    """Return Lucene's idf, ln(1 + (N - df + 0.5) / (df + 0.5)), which is positive where df > 0.

    `BM25Similarity.idf` of Lucene, which rounds it to float32.
    """
    df = np.ascontiguousarray(doc_freq, dtype=np.int64)
    out = np.empty(len(df))
    _fill_idf(df, n_docs_with, out)
    return out


@kernel()
def _fill_idf(doc_freq, n_docs_with, out):
    """Fill `out` (n_terms,) with the idf of terms; 0 where no document holds them."""
    for term in range(len(doc_freq)):
        df = np.float64(doc_freq[term])
        out[term] = log1p((n_docs_with - df + 0.5) / (df + 0.5)) if df > 0.0 else 0.0


def lucene_lengths(lengths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return lengths as Lucene's one-byte norms store them: exact up to 40, then rounded down to four significant bits.

    Shapes: lengths int32 (n,).

    `SmallFloat.intToByte4` and `SmallFloat.byte4ToInt` of Lucene.
    """
    out = np.empty(len(lengths), np.int32)
    _fill_lucene_lengths(read_only_view(lengths), out)
    return out


@kernel()
def _fill_lucene_lengths(lengths: Any, out: Any) -> None:
    """Fill `out` (n,) int32, see `lucene_lengths`."""
    for row in range(len(lengths)):
        above: Any = max(np.int64(lengths[row]) - _EXACT_LENGTHS, 0)
        bits = 0  # lowest bits, which are rounded to 0
        while above >> bits >= 16:
            bits += 1
        out[row] = lengths[row] - (above - (above >> bits << bits))


def half_saturation(lengths: NDArray[Any], field: FieldArrays, k1: float, b: float) -> Floats:
    """Return BM25's k1 * (1 - b + b * dl / avgdl) of documents: the tf at which half of the idf is reached.

    Shapes: lengths (n,), as `lucene_lengths` returns them.
    """
    return k1 * (1.0 - b + b * (lengths / (field.average_length or 1.0)))


def kept_by_size(compute: Callable[[FieldArrays], Floats]) -> Callable[[FieldArrays], Floats]:
    """Return `compute`, which gives a value of every term of a field, with a cache by the number of terms.

    Batches of texts outside of the index share the document frequencies of the index, to which only new terms are
    appended.
    """

    @cached_by_field
    def by_size(field: FieldArrays) -> dict[int, Floats]:
        return {}

    @wraps(compute)
    def kept(field: FieldArrays) -> Floats:
        known = by_size(field.collection or field)
        size = len(field.doc_freq)
        if size not in known:
            known[size] = compute(field)
        return known[size]

    return kept


@kept_by_size
def field_idf(field: FieldArrays) -> Floats:
    """Return the idf of every term in a field, (n_terms,) float64."""
    return inverse_document_frequency(field.doc_freq, field.n_docs_with)


def burstiness(doc_freq: ArrayLike, collection_freq: ArrayLike, n_docs_with: int) -> Floats:
    """Return weights of terms, (n_terms,), at least LEAST_BURSTINESS, larger if occurrences crowd in few documents.

    It is the residual idf, log2(N / df) + log2(1 - e^(-cf / N)), of Church & Gale (Poisson mixtures, Natural Language
    Engineering, 1995): the idf of a term, minus the idf of a term whose equally many occurrences fall on documents at
    random. A word of a topic occurs several times in the documents that hold it; a general word, even a rare one,
    occurs once. In short fields, where each term occurs once, the constant gives all terms the same weight.
    """
    df, cf = (np.ascontiguousarray(counts, dtype=np.int64) for counts in (doc_freq, collection_freq))
    out = np.empty(len(df))
    _fill_burstiness(df, cf, max(n_docs_with, 1), out)
    return out


@kernel()
def _fill_burstiness(doc_freq, collection_freq, n_docs_with, out):
    """Fill `out` (n_terms,), see `burstiness`."""
    for term in range(len(doc_freq)):
        df = max(doc_freq[term], 1) / n_docs_with
        cf = max(collection_freq[term], 1) / n_docs_with
        out[term] = LEAST_BURSTINESS + max(log2(1.0 - exp(-cf)) - log2(df), 0.0)


@cached_by_field
def vector_norms(field: FieldArrays) -> Floats:
    """Return the Euclidean norm of every document's vector of tf * idf, (n_docs,) float64."""
    norms = np.empty(len(field.lengths), dtype=np.float64)
    arrays = postings(field)
    with read_in_order(*arrays):
        _fill_norms(*arrays, field_idf(field), norms)
    return norms


@kernel()
def _fill_norms(doc_ptr, terms, freqs, idf, out):
    """Fill `out` (n_docs,) with sqrt(sum of (tf * idf)^2) over each document's postings."""
    for doc in range(len(out)):
        total = 0.0
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            weight = freqs[posting] * idf[terms[posting]]
            total += weight * weight
        out[doc] = np.sqrt(total)


_field_log_idf = cached_by_field(log_idf)


def term_idf(forward: ForwardIndex) -> Floats:
    """Return ln(N / df) of each term of the index in the whole document, (n_terms,) float64, 0 for an absent one."""
    return _field_log_idf(forward.fields[CONTENTS])


def word_idf(forward: ForwardIndex, words: Sequence[str]) -> Floats:
    """Return the idf of words, (n_words,) float64; an unknown word counts as held by one document."""
    terms = find_terms(forward, [word.encode("utf8") for word in words])
    known = np.flatnonzero(terms >= 0)
    values = np.full(len(terms), float(array_log(max(forward.n_docs, 1))))
    values[known] = term_idf(forward)[terms[known]]
    return values

"""Statistics of a field that several families use: idf, lengths as Lucene encodes them, vector norms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.runtime.elementary import array_log1p
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order
from rerank.runtime.views import read_only_view
from rerank.types import Floats
from rerank.types.forward import FieldArrays

_EXACT_LENGTHS = 24  # SmallFloat.NUM_FREE_VALUES: the encoding of lengths below it is the identity
Result = TypeVar("Result")


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
    mantissa, shift = code & 7, (code >> 3) - 1
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

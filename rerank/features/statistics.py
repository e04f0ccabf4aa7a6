"""Statistics of a field that several families read: idf, lengths as Lucene encodes them, vector norms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.runtime.kernels import kernel
from rerank.types import Floats
from rerank.types.forward import FieldArrays

_EXACT_LENGTHS = 24  # SmallFloat.NUM_FREE_VALUES: lengths below it have a byte of their own
Kept = TypeVar("Kept")


def kept_with_field(compute: Callable[[FieldArrays], Kept]) -> Callable[[FieldArrays], Kept]:
    """Return `compute`, done once for a field, whichever thread asks first; the result is kept as long as the field."""
    kept: WeakKeyDictionary[FieldArrays, Kept] = WeakKeyDictionary()
    lock = Lock()

    @wraps(compute)
    def found(field: FieldArrays) -> Kept:
        with lock:
            if field not in kept:
                kept[field] = compute(field)
            return kept[field]

    return found


def inverse_document_frequency(doc_freq: ArrayLike, n_docs_with: int) -> Floats:
    """Return Lucene's idf, ln(1 + (N - df + 0.5) / (df + 0.5)); 0 for a term that no document holds.

    doc_freq     documents that hold the term in the field
    n_docs_with  N, documents that hold the field
    Source: BM25Similarity.idf of Lucene, which rounds it to float32; always positive where df > 0.
    """
    doc_freq = np.asarray(doc_freq, dtype=np.float64)
    idf = np.log1p((n_docs_with - doc_freq + 0.5) / (doc_freq + 0.5))
    return np.where(doc_freq > 0, idf, 0.0)


def lucene_lengths(lengths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return lengths (tokens) as Lucene's one-byte norms hold them: rounded down to one of 256 values.

    Exact up to 40, then four significant bits. Source: SmallFloat.intToByte4 and byte4ToInt. Where a field is indexed
    without norms Lucene takes every length for 1; here the tokens are counted all the same.
    """
    table = _lucene_length_table()
    return table[np.searchsorted(table, lengths, side="right") - 1]


@kept_with_field
def field_idf(field: FieldArrays) -> Floats:
    """Return the idf of every term in a field, (n_terms,) float64."""
    return inverse_document_frequency(field.doc_freq, field.n_docs_with)


@kept_with_field
def vector_norms(field: FieldArrays) -> Floats:
    """Return the Euclidean norm of every document's vector of tf * idf, (n_docs,) float64."""
    norms = np.empty(len(field.lengths), dtype=np.float64)
    _fill_norms(frozen(field.doc_ptr), frozen(field.terms), frozen(field.freqs), field_idf(field), norms)
    return norms


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only plain view, so that arrays in memory and on disk need one compiled kernel."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


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

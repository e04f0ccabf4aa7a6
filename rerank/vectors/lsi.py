"""Latent semantic indexing: the singular vectors of the matrix of documents and terms.

References
----------
Deerwester et al., JASIS 1990.

"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.elementary import log
from rerank.runtime.kernels import kernel
from rerank.runtime.views import read_only_view
from rerank.types.arrays import Floats, Ints, pointers
from rerank.types.forward import FieldArrays
from rerank.vectors.space import Space, log_idf
from rerank.vectors.svd import SparseRows, right_singular_vectors

DIMENSIONS = 400
LEAST_DOCUMENTS = 2  # of a term with a vector
MOST_TERMS = 1 << 17  # with a vector: those that most documents hold
MOST_DOCUMENTS = 1_000_000  # that are learned from; of more, this many are drawn at random
_SEED = 0


def term_weights(field: FieldArrays) -> NDArray[np.float32]:
    """Return ln(N / df) of each term, (n_terms,) float32; 0 for a term that no document holds."""
    return log_idf(field).astype(np.float32)


def frequent_terms(field: FieldArrays, least: int = LEAST_DOCUMENTS, most: int = MOST_TERMS) -> NDArray[np.int32]:
    """Return the row of each of the terms that most documents hold, ties by term number; -1 for others."""
    doc_freq = np.asarray(field.doc_freq)
    known = np.flatnonzero((doc_freq >= least) & (doc_freq < field.n_docs_with))  # the weight of others is 0
    chosen = np.sort(known[np.argsort(-doc_freq[known], kind="stable")[:most]])
    rows = np.full(len(doc_freq), -1, dtype=np.int32)
    rows[chosen] = np.arange(len(chosen), dtype=np.int32)
    return rows


def sampled_documents(n_docs: int, most: int) -> Ints:
    """Return the numbers of the documents that are learned from, ascending: all, or a random sample."""
    if n_docs <= most:
        return np.arange(n_docs)
    return np.sort(np.random.default_rng(_SEED).choice(n_docs, most, replace=False))


def learn_lsi(
    field: FieldArrays, dimensions: int = DIMENSIONS, threads: int | None = None, most_documents: int = MOST_DOCUMENTS
) -> tuple[Space, Floats]:
    """Return the space of the right singular vectors of the tf-idf matrix, and the singular values.

    A row of the matrix has w(t) = (1 + ln tf) * ln(N / df) of a document's terms, divided by its norm.

    Shapes: values float64 (dimensions,).
    """
    rows, weights = frequent_terms(field), term_weights(field)
    docs = sampled_documents(len(field.lengths), most_documents)
    doc_ptr, terms = read_only_view(field.doc_ptr), read_only_view(field.terms)
    counts = np.zeros(len(docs), dtype=np.int64)
    _count_known(doc_ptr, terms, read_only_view(docs), rows, counts)
    matrix = SparseRows(
        pointers(counts),
        np.empty(counts.sum(), np.int32),
        np.empty(counts.sum(), np.float32),
        int(rows.max(initial=-1)) + 1,
    )
    _fill_rows(
        doc_ptr,
        terms,
        read_only_view(field.freqs),
        read_only_view(docs),
        rows,
        weights,
        matrix.row_ptr,
        matrix.columns,
        matrix.values,
    )
    vectors, values = right_singular_vectors(matrix, dimensions, threads)
    return Space(with_vectors(rows, vectors), weights, vectors), values


def with_vectors(rows: NDArray[np.int32], vectors: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return the rows of the terms, -1 for a term whose vector is zero."""
    is_zero = np.append(~vectors.any(axis=1), True)  # the last is that of terms without a row
    return np.where(is_zero[rows], -1, rows).astype(np.int32)


@kernel()
def _count_known(doc_ptr, terms, docs, rows, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n,) with the number of terms of each document that have a row."""
    for index in range(len(docs)):
        for posting in range(doc_ptr[docs[index]], doc_ptr[docs[index] + 1]):
            out[index] += rows[terms[posting]] >= 0


@kernel()
def _fill_rows(doc_ptr, terms, freqs, docs, rows, weights, row_ptr, out_columns, out_values):  # type: ignore[no-untyped-def]
    """Fill the columns and the normalised values of each document's row."""
    for index in range(len(docs)):
        entry, squares = row_ptr[index], 0.0
        for posting in range(doc_ptr[docs[index]], doc_ptr[docs[index] + 1]):
            row = rows[terms[posting]]
            if row >= 0:
                value = (1.0 + log(np.float64(freqs[posting]))) * weights[terms[posting]]
                out_columns[entry], out_values[entry] = row, value
                squares += value * value
                entry += 1
        if squares > 0.0:
            for known in range(row_ptr[index], row_ptr[index + 1]):
                out_values[known] /= np.sqrt(squares)

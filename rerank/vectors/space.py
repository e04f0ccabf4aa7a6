"""A space of vectors: each term has one, and a query or a field of a document is the weighted sum of its terms'.

    w(t)   (1 + ln tf) * ln(N / df); N and df are those of the whole document (`contents`)
    v(d)   sum over the terms of d of w(t) * v(t)

Vectors are not normalised; a text without a known term has the zero vector, and hence no cosine.

Latent semantic indexing: the singular vectors of the matrix of documents and terms.

References
----------
Deerwester et al., JASIS 1990.

"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.runtime.numerics import array_log, log
from rerank.types.forward import FieldArrays, ForwardIndex, find_terms
from rerank.types.ids import Floats, Ints, pointers
from rerank.vectors.svd import SparseRows, right_singular_vectors

LSI, ENCODER = "lsi", "encoder"  # names of the spaces
_BLOCK = 1 << 13  # documents of a block of vectors
DIMENSIONS = 400
LEAST_DOCUMENTS = 2  # of a term with a vector
MOST_TERMS = 1 << 17  # with a vector: those that most documents hold
MOST_DOCUMENTS = 1_000_000  # that are learned from; of more, this many are drawn at random
_SEED = 0


@dataclass(frozen=True, eq=False)
class Space:
    """Vectors of terms.

    Parameters
    ----------
    rows : ndarray of shape (n_terms,) and dtype int32
        Row of each term of the index in `term_vectors`, -1 for a term without a vector.
    weights : ndarray of shape (n_terms,) and dtype float32
        ln(N / df) of each term of the index.
    term_vectors : ndarray of shape (n_rows, dimensions) and dtype float32
        Vectors of the terms.

    """

    rows: NDArray[np.int32]
    weights: NDArray[np.float32]
    term_vectors: NDArray[np.float32]

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return int(self.term_vectors.shape[1])

    def queries(self, forward: ForwardIndex, query_terms: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """Return the vectors of queries."""
        occurrences = [Counter(tokens) for tokens in query_terms]
        words = list(dict.fromkeys(term for counts in occurrences for term in counts))
        numbers = dict(zip(words, find_terms(forward, [word.encode("utf8") for word in words]).tolist(), strict=True))
        pairs = [
            sorted((numbers[word], n) for word, n in counts.items() if numbers[word] >= 0) for counts in occurrences
        ]
        flat = np.array([pair for of_query in pairs for pair in of_query], dtype=np.int32).reshape(-1, 2)
        return self.project(
            pointers([len(of_query) for of_query in pairs]),
            np.ascontiguousarray(flat[:, 0]),
            np.ascontiguousarray(flat[:, 1]),
            np.arange(len(occurrences)),
        )

    def documents(self, field: FieldArrays, docs: Ints) -> NDArray[np.float32]:
        """Return the vectors of a field of documents, (n, dimensions) float32; zeros where it has no known term."""
        return self.project(field.doc_ptr, field.terms, field.freqs, docs)

    def document_blocks(self, field: FieldArrays) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of a field of all documents in blocks of rows."""
        n_docs = len(field.lengths)
        with read_in_order(field.terms, field.freqs):
            for first in range(0, n_docs, _BLOCK):
                yield self.documents(field, np.arange(first, min(first + _BLOCK, n_docs)))

    def project(
        self, ptr: Ints, terms: NDArray[np.int32], freqs: NDArray[np.int32], texts: Ints
    ) -> NDArray[np.float32]:
        """Return the vectors of the texts of the numbers `texts`, given as terms and frequencies."""
        out = np.empty((len(texts), self.dimensions), dtype=np.float32)
        _fill_sums(
            read_only_view(ptr),
            read_only_view(terms),
            read_only_view(freqs),
            read_only_view(texts),
            read_only_view(self.rows),
            read_only_view(self.weights),
            read_only_view(self.term_vectors),
            out,
        )
        return out


def log_idf(field: FieldArrays) -> Floats:
    """Return ln(N / df) of each term of a field, (n_terms,) float64; 0 for a term that no document holds."""
    doc_freq = np.asarray(field.doc_freq, dtype=np.float64)
    return np.where(doc_freq > 0, array_log(max(field.n_docs_with, 1) / np.maximum(doc_freq, 1.0)), 0.0)


@kernel()
def _fill_sums(ptr, terms, freqs, texts, rows, weights, term_vectors, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_texts, dimensions) with the weighted sums of the vectors of each text's terms."""
    for index in range(len(texts)):
        out[index] = 0.0
        for posting in range(ptr[texts[index]], ptr[texts[index] + 1]):
            term = terms[posting]
            if term >= len(rows) or rows[term] < 0:
                continue
            row = rows[term]
            weight = np.float32((1.0 + log(np.float64(freqs[posting]))) * weights[term])
            for dimension in range(out.shape[1]):
                out[index, dimension] += weight * term_vectors[row, dimension]


def frequent_terms(field: FieldArrays) -> NDArray[np.int32]:
    """Return the row of each of the terms that most documents hold, ties by term number; -1 for others."""
    doc_freq = np.asarray(field.doc_freq)
    known = np.flatnonzero((doc_freq >= LEAST_DOCUMENTS) & (doc_freq < field.n_docs_with))  # the weight of others is 0
    chosen = np.sort(known[np.argsort(-doc_freq[known], kind="stable")[:MOST_TERMS]])
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
    rows = frequent_terms(field)
    weights = log_idf(field).astype(np.float32)
    docs = sampled_documents(len(field.lengths), most_documents)
    doc_ptr = read_only_view(field.doc_ptr)
    terms = read_only_view(field.terms)
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
    is_zero = np.append(~vectors.any(axis=1), True)  # the last is that of terms without a row
    return Space(np.where(is_zero[rows], -1, rows).astype(np.int32), weights, vectors), values


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
        entry = row_ptr[index]
        squares = 0.0
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

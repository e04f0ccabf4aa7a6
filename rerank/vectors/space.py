"""A space of vectors: each term has one, and a query or a field of a document is the weighted sum of its terms'.

    w(t)   (1 + ln tf) * ln(N / df); N and df are those of the whole document (`contents`)
    v(d)   sum over the terms of d of w(t) * v(t)

Vectors are not normalised; a text without a known term has the zero vector, and hence no cosine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.elementary import array_log, log
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order
from rerank.runtime.views import read_only_view
from rerank.types.arrays import Floats, Ints, pointers
from rerank.types.forward import FieldArrays, ForwardIndex
from rerank.types.vocabulary import find_terms

LSI, WORDS, ENCODER = "lsi", "words", "encoder"  # names of the spaces
_BLOCK = 1 << 13  # documents of a block of vectors


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

    @cached_property
    def units(self) -> NDArray[np.float32]:
        """The vectors of the terms divided by their norms, (n_rows, dimensions) float32."""
        norms = np.linalg.norm(self.term_vectors, axis=1)
        return np.asarray(self.term_vectors / np.where(norms > 0.0, norms, 1.0)[:, None], dtype=np.float32)

    def of_terms(self, terms: Ints) -> tuple[Ints, Floats]:
        """Return row and weight of terms by number, (n,) int64 and float64; -1 and 0 for one without a vector."""
        known = np.flatnonzero((terms >= 0) & (terms < len(self.rows)))
        rows, weights = np.full(len(terms), -1, dtype=np.int64), np.zeros(len(terms))
        rows[known], weights[known] = self.rows[terms[known]], self.weights[terms[known]]
        return rows, weights

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

"""A space of vectors: each term has one, and the vector of a text is the weighted sum of the vectors of its terms.

    w(t)   (1 + ln tf) * ln(N / df); N and df are those of the whole document (`contents`)
    v(d)   sum over the terms of d of w(t) * v(t)

Vectors are not normalised; a text without a known term has the zero vector, and hence no cosine.

"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.elementary import array_log, log
from rerank.runtime.kernels import kernel
from rerank.runtime.llvm import LINE, prefetch
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.runtime.products import product
from rerank.types import FieldArrays, Floats, ForwardIndex, Ints
from rerank.types.forward import counted_terms
from rerank.types.vocabulary import find_terms

_BLOCK_DOCUMENTS = 1 << 13  # of vectors
LEAST_DOCUMENTS = 2  # of a term with a vector
MOST_TERMS = 1 << 17  # with a vector: those that most documents hold


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
    query_map : ndarray of shape (dimensions, dimensions) and dtype float32, or None
        What the vectors of queries are multiplied by, see `learn_query_map`; None leaves them as they are.

    """

    rows: NDArray[np.int32]
    weights: NDArray[np.float32]
    term_vectors: NDArray[np.float32]
    query_map: NDArray[np.float32] | None = None

    @classmethod
    def of(
        cls, field: FieldArrays, term_vectors: NDArray[np.float32], query_map: NDArray[np.float32] | None = None
    ) -> Self:
        """Return the space of the vectors of the terms that `learned_rows` chooses; one of zeros counts as missing."""
        rows = learned_rows(field)
        is_zero = np.append(~term_vectors.any(axis=1), True)  # the last is that of terms without a row
        rows = np.where(is_zero[rows], -1, rows).astype(np.int32)
        return cls(rows, log_idf(field).astype(np.float32), term_vectors, query_map)

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return int(self.term_vectors.shape[1])

    def queries(self, forward: ForwardIndex, query_terms: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """Return the vectors of queries, mapped."""
        words = list(set().union(*query_terms))
        numbers = dict(zip(words, find_terms(forward, [word.encode("utf8") for word in words]).tolist(), strict=True))
        vectors = self.project(*counted_terms(query_terms, numbers), np.arange(len(query_terms)))
        if self.query_map is None:
            return vectors
        return product(vectors, self.query_map.astype(np.float64)).astype(np.float32)

    def document_blocks(self, field: FieldArrays) -> Iterator[NDArray[np.float32]]:
        """Yield the vectors of a field of all documents in blocks of rows."""
        n_docs = len(field.lengths)
        with read_in_order(field.terms, field.freqs):
            for first in range(0, n_docs, _BLOCK_DOCUMENTS):
                docs = np.arange(first, min(first + _BLOCK_DOCUMENTS, n_docs))
                yield self.project(field.doc_ptr, field.terms, field.freqs, docs)

    def project(
        self, ptr: Ints, terms: NDArray[np.int32], freqs: NDArray[np.int32], texts: Ints
    ) -> NDArray[np.float32]:
        """Return the vectors of the texts of the numbers `texts`, given as terms and frequencies; zeros for no term."""
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


def unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors (n, dimensions) divided by their norms; a vector of zeros stays one."""
    norms = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    return np.divide(vectors, norms, out=np.zeros(vectors.shape), where=norms > 0.0).astype(np.float32)  # type: ignore[no-any-return]


def log_idf(field: FieldArrays) -> Floats:
    """Return ln(N / df) of each term of a field, (n_terms,) float64; 0 for a term that no document holds."""
    doc_freq = np.asarray(field.doc_freq, dtype=np.float64)
    return np.where(doc_freq > 0, array_log(max(field.n_docs_with, 1) / np.maximum(doc_freq, 1.0)), 0.0)


@kernel()
def _fill_sums(ptr, terms, freqs, texts, rows, weights, term_vectors, out):
    """Fill `out` (n_texts, dimensions) with the weighted sums of the vectors of each text's terms."""
    for index in range(len(texts)):
        out[index] = 0.0
        last = ptr[texts[index] + 1]
        for posting in range(ptr[texts[index]], last):
            if posting + 2 < last and terms[posting + 2] < len(rows):
                following = term_vectors[max(rows[terms[posting + 2]], 0)]
                for dimension in range(0, out.shape[1], LINE):
                    prefetch(following, dimension)
            term = terms[posting]
            if term >= len(rows) or rows[term] < 0:
                continue
            row = rows[term]
            weight = np.float32((1.0 + log(np.float64(freqs[posting]))) * weights[term])
            for dimension in range(out.shape[1]):
                out[index, dimension] += weight * term_vectors[row, dimension]


def sampled_documents(n_docs: int, most: int) -> Ints:
    """Return the numbers of the documents that are learned from, ascending: all, or a random sample."""
    if n_docs <= most:
        return np.arange(n_docs)
    return np.sort(np.random.default_rng(0).choice(n_docs, most, replace=False))


def learned_rows(field: FieldArrays) -> NDArray[np.int32]:
    """Return the row of each term among those that vectors are learned of, (n_terms,); -1 for all others."""
    doc_freq = np.asarray(field.doc_freq)
    known = np.flatnonzero((doc_freq >= LEAST_DOCUMENTS) & (doc_freq < field.n_docs_with))  # the weight of others is 0
    chosen = np.sort(known[np.argsort(-doc_freq[known], kind="stable")[:MOST_TERMS]])
    rows = np.full(len(doc_freq), -1, dtype=np.int32)
    rows[chosen] = np.arange(len(chosen), dtype=np.int32)
    return rows


def rounded(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors rounded to 8 significant bits, as in bfloat16: the zeros behind them take no space in model files.

    `benchmarks texts-alone` has the sizes of models.
    """
    bits = np.ascontiguousarray(vectors).view(np.uint32)
    last = bits >> np.uint32(16) & np.uint32(1)  # bit that is kept: halves are rounded to an even number
    return (bits + np.uint32(0x7FFF) + last & np.uint32(0xFFFF0000)).view(np.float32)

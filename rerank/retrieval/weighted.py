"""BM25 of weighted queries over all documents of an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.features.statistics import cached_by_field, field_idf, lucene_lengths
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order
from rerank.runtime.views import read_only_view
from rerank.types import Floats, Ints, pointers
from rerank.types.forward import FieldArrays

WeightedTerms = tuple[Ints, Floats]  # term numbers and weights


@dataclass(frozen=True, eq=False)
class InvertedField:
    """Postings of a field by term.

    Parameters
    ----------
    term_ptr : ndarray of shape (n_terms + 1,) and dtype int64
        First posting of each term.
    docs, freqs : ndarray of shape (n_postings,) and dtype int32
        Documents of the term, ascending, and occurrences.

    """

    term_ptr: Ints
    docs: NDArray[np.int32]
    freqs: NDArray[np.int32]


@cached_by_field
def inverted_field(field: FieldArrays) -> InvertedField:
    """Return the postings of a field by term, 8 bytes each."""
    term_ptr = pointers(field.doc_freq)
    inverted = InvertedField(term_ptr, np.empty(len(field.terms), np.int32), np.empty(len(field.terms), np.int32))
    postings = (read_only_view(field.doc_ptr), read_only_view(field.terms), read_only_view(field.freqs))
    with read_in_order(*postings):
        _invert(*postings, term_ptr[:-1].copy(), inverted.docs, inverted.freqs)
    return inverted


def weighted_bm25(
    field: FieldArrays, queries: Sequence[WeightedTerms], k1: float, b: float
) -> Iterator[tuple[Ints, Floats]]:
    """Yield the documents that hold a term of each query, ascending, and their scores."""
    inverted, idf = inverted_field(field), field_idf(field)
    relative = lucene_lengths(np.asarray(field.lengths)).astype(np.float64) / (field.average_length or 1.0)
    saturation = k1 * (1.0 - b + b * relative)
    scores = np.zeros(len(field.lengths))
    for terms, weights in queries:
        _add_scores(inverted.term_ptr, inverted.docs, inverted.freqs, terms, weights * idf[terms], saturation, scores)
        docs = np.flatnonzero(scores)
        yield docs, scores[docs]
        scores[docs] = 0.0


@kernel()
def _invert(doc_ptr, terms, freqs, next_slot, out_docs, out_freqs):  # type: ignore[no-untyped-def]
    """Fill documents and occurrences by term; next_slot (n_terms,) begins with the first slot of each term."""
    for doc in range(len(doc_ptr) - 1):
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            slot = next_slot[terms[posting]]
            out_docs[slot], out_freqs[slot] = doc, freqs[posting]
            next_slot[terms[posting]] = slot + 1


@kernel()
def _add_scores(term_ptr, docs, freqs, terms, weights, saturation, out):  # type: ignore[no-untyped-def]
    """Add each term's part to the scores (n_docs,) of the documents that hold it."""
    for index in range(len(terms)):
        for posting in range(term_ptr[terms[index]], term_ptr[terms[index] + 1]):
            tf = np.float64(freqs[posting])
            out[docs[posting]] += weights[index] * tf / (tf + saturation[docs[posting]])

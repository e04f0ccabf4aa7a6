"""What is learned from the documents alone: their most characteristic terms, and the nearest documents of each.

    w(t, d)   (1 + ln tf) * ln(N / df) in the whole document
    v(d)      the weights of the document's TERMS heaviest terms, divided by their norm

References
----------
Salton & Buckley, Information Processing & Management 1988 (the weights).

"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.features.near_duplicates import term_idf
from rerank.runtime.elementary import log
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.mapped_rows import read_in_order
from rerank.runtime.threads import in_threads, row_parts
from rerank.runtime.views import read_only_view
from rerank.types import Ints, pointers
from rerank.types.forward import ForwardIndex
from rerank.types.retriever import CONTENTS

TERMS = 40  # heaviest terms of a document that are kept
NEAREST = 20  # documents of each document
MOST_POSTINGS = 1 << 14  # documents of a term that are compared with each other; terms of more documents are left out


@dataclass(frozen=True, eq=False)
class DocTerms:
    """Some terms of each document.

    ptr      (n_docs + 1,) int64 first term of each document
    terms    (n_postings,) int32 term numbers of the index
    weights  (n_postings,) float32
    """

    ptr: Ints
    terms: NDArray[np.int32]
    weights: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest documents of each document.

    docs     (n_docs, NEAREST) int32, nearest first, ties by number; -1 after the last one
    cosines  (n_docs, NEAREST) float32, 0 after the last one
    """

    docs: NDArray[np.int32]
    cosines: NDArray[np.float32]

    def renumbered(self, numbers: Ints, n_docs: int) -> Neighbours:
        """Return the neighbours for other document numbers: document d becomes numbers[d], -1 for none."""
        docs, cosines = np.full((n_docs, NEAREST), -1, np.int32), np.zeros((n_docs, NEAREST), np.float32)
        held = np.flatnonzero(numbers >= 0)
        docs[numbers[held]] = np.where(self.docs[held] >= 0, numbers[self.docs[held]], -1)
        cosines[numbers[held]] = self.cosines[held]
        return Neighbours(docs, cosines)


def heaviest_terms(forward: ForwardIndex, threads: int = 1) -> DocTerms:
    """Return the heaviest terms of each document, ties by term number; weights have norm 1."""
    field, idf = forward.fields[CONTENTS], term_idf(forward)
    ptr = pointers(np.minimum(np.diff(field.doc_ptr), TERMS))
    terms, weights = np.empty(ptr[-1], np.int32), np.empty(ptr[-1], np.float32)
    postings = (read_only_view(field.doc_ptr), read_only_view(field.terms), read_only_view(field.freqs))

    def fill(docs: slice) -> None:
        _fill_heaviest(postings, idf, ptr, docs.start, min(docs.stop, len(ptr) - 1), terms, weights)

    with read_in_order(*postings):
        in_threads(fill, row_parts(len(ptr) - 1, threads), threads)
    return DocTerms(ptr, terms, weights)


def nearest_documents(doc_terms: DocTerms, n_terms: int, threads: int = 1) -> Neighbours:
    """Return the nearest documents of each document by the cosine of v(d); documents of cosine 0 are left out."""
    n_docs = len(doc_terms.ptr) - 1
    order = np.argsort(doc_terms.terms, kind="stable")
    term_ptr = pointers(np.bincount(doc_terms.terms, minlength=n_terms))
    docs = np.repeat(np.arange(n_docs, dtype=np.int32), np.diff(doc_terms.ptr))[order]
    inverted = (term_ptr, docs, doc_terms.weights[order])
    out = Neighbours(np.full((n_docs, NEAREST), -1, np.int32), np.zeros((n_docs, NEAREST), np.float32))
    forward = (doc_terms.ptr, doc_terms.terms, doc_terms.weights)

    def fill(rows: slice) -> None:
        _fill_nearest(forward, inverted, MOST_POSTINGS, rows.start, min(rows.stop, n_docs), out.docs, out.cosines)

    in_threads(fill, row_parts(n_docs, threads), threads)
    return out


@kernel()
def _fill_heaviest(postings, idf, ptr, first, last, out_terms, out_weights):  # type: ignore[no-untyped-def]
    """Fill terms (ascending) and weights of the documents [first, last)."""
    doc_ptr, terms, freqs = postings
    for doc in range(first, last):
        start, count = doc_ptr[doc], doc_ptr[doc + 1] - doc_ptr[doc]
        weights = np.empty(count, np.float64)
        for index in range(count):
            weights[index] = (1.0 + log(np.float64(freqs[start + index]))) * idf[terms[start + index]]
        chosen = np.sort(np.argsort(-weights, kind="mergesort")[: ptr[doc + 1] - ptr[doc]])
        squares = 0.0
        for index in chosen:
            squares += weights[index] * weights[index]
        norm = np.sqrt(squares) if squares > 0.0 else 1.0
        for number in range(len(chosen)):
            out_terms[ptr[doc] + number] = terms[start + chosen[number]]
            out_weights[ptr[doc] + number] = weights[chosen[number]] / norm


@kernel()
def _fill_nearest(forward, inverted, most, first, last, out_docs, out_cosines):  # type: ignore[no-untyped-def]
    """Fill the nearest documents of the documents [first, last)."""
    ptr, terms, weights = forward
    term_ptr, docs, doc_weights = inverted
    sums, touched = np.zeros(len(ptr) - 1, np.float64), np.empty(len(ptr) - 1, np.int32)
    for doc in range(first, last):
        n_touched = 0
        for index in range(ptr[doc], ptr[doc + 1]):
            term, weight = terms[index], np.float64(weights[index])
            if term_ptr[term + 1] - term_ptr[term] > most or weight <= 0.0:
                continue
            for posting in range(term_ptr[term], term_ptr[term + 1]):
                other = docs[posting]
                if other == doc or doc_weights[posting] <= 0.0:
                    continue
                if sums[other] == 0.0:
                    touched[n_touched] = other
                    n_touched += 1
                sums[other] += weight * doc_weights[posting]
        count = 0
        for index in range(n_touched):
            count = _insert(touched[index], sums[touched[index]], out_docs[doc], out_cosines[doc], count)
            sums[touched[index]] = 0.0


@helper()
def _insert(doc, value, docs, values, count):  # type: ignore[no-untyped-def]
    """Insert a document into a list ordered by value, descending, then document; return the length of the list."""
    value = np.float32(value)
    if count == len(docs) and (values[-1] > value or (values[-1] == value and docs[-1] < doc)):
        return count
    index = min(count, len(docs) - 1)
    while index > 0 and (values[index - 1] < value or (values[index - 1] == value and docs[index - 1] > doc)):
        docs[index], values[index] = docs[index - 1], values[index - 1]
        index -= 1
    docs[index], values[index] = doc, value
    return min(count + 1, len(docs))

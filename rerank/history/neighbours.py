"""What is learned from the documents alone: their most characteristic terms, and the nearest documents of each.

    w(t, d)   (1 + ln tf) * ln(N / df) in the whole document
    v(d)      the weights of the document's TERMS heaviest terms, divided by their norm

References
----------
Salton & Buckley, Information Processing & Management 1988 (the weights).

"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.features.statistics import postings, term_idf
from rerank.runtime.elementary import log
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.mapped_rows import read_in_order
from rerank.runtime.threads import in_threads, kernel_threads, row_parts
from rerank.types import CONTENTS, ForwardIndex, pointers, query_rows
from rerank.types.query_rows import by_number

TERMS = 40  # number of heaviest terms of a document that are kept
NEAREST = 20  # number of neighbours of each document
MOST_WITH_TERM = 1 << 14  # documents; a term that more documents have is left out of the comparison


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest documents of each document.

    docs     (n_docs, NEAREST) int32, nearest first, ties by number; -1 after the last one
    cosines  (n_docs, NEAREST) float32, 0 after the last one
    """

    docs: NDArray[np.int32]
    cosines: NDArray[np.float32]


def document_neighbours(forward: ForwardIndex, threads: int | None = None) -> Neighbours:
    """Return the nearest documents of each document by the cosine of v(d); documents of cosine 0 are left out.

    The number of threads changes nothing.
    """
    field = forward.fields[CONTENTS]
    idf = term_idf(forward)
    n_docs = forward.n_docs
    ptr = pointers(np.minimum(np.diff(field.doc_ptr), TERMS))
    terms = np.empty(ptr[-1], np.int32)  # the heaviest of each document, ascending
    weights = np.empty(ptr[-1], np.float32)
    arrays = postings(field)
    out = Neighbours(np.full((n_docs, NEAREST), -1, np.int32), np.zeros((n_docs, NEAREST), np.float32))

    with kernel_threads(threads) as n_threads:
        parts = [(docs.start, min(docs.stop, n_docs)) for docs in row_parts(n_docs, n_threads)]
        with read_in_order(*arrays):
            in_threads(lambda docs: _fill_heaviest(arrays, idf, ptr, *docs, terms, weights), parts, n_threads)
        term_ptr, order = by_number(terms, len(forward.term_ptr) - 1)
        kept = ptr, terms, weights
        inverted = term_ptr, query_rows(ptr)[order].astype(np.int32), weights[order]
        in_threads(
            lambda docs: _fill_nearest(kept, inverted, MOST_WITH_TERM, *docs, out.docs, out.cosines), parts, n_threads
        )
    return out


@kernel()
def _fill_heaviest(postings, idf, ptr, first, last, out_terms, out_weights):
    """Fill terms (ascending) and weights of the documents [first, last)."""
    doc_ptr, terms, freqs = postings
    for doc in range(first, last):
        start = doc_ptr[doc]
        count = doc_ptr[doc + 1] - doc_ptr[doc]
        weights = np.empty(count, np.float64)
        for index in range(count):
            weights[index] = (1.0 + log(np.float64(freqs[start + index]))) * idf[terms[start + index]]
        is_chosen = _heaviest(weights, ptr[doc + 1] - ptr[doc])
        squares = 0.0
        for index in range(count):
            squares += weights[index] * weights[index] * is_chosen[index]
        norm = np.sqrt(squares) if squares > 0.0 else 1.0
        number = ptr[doc]
        for index in range(count):
            if is_chosen[index]:
                out_terms[number] = terms[start + index]
                out_weights[number] = weights[index] / norm
                number += 1


@helper()
def _heaviest(weights, most):
    """Return whether each weight is one of the `most` greatest, of equal ones the earlier, (n,) bool."""
    best = np.empty(most, np.int64)
    values = np.empty(most, np.float64)
    count = 0
    for index in range(len(weights)):
        count = _insert(index, weights[index], best, values, count)
    chosen = np.zeros(len(weights), np.bool_)
    for index in best:
        chosen[index] = True
    return chosen


@kernel()
def _fill_nearest(forward, inverted, most, first, last, out_docs, out_cosines):
    """Fill the nearest documents of the documents [first, last)."""
    ptr, terms, weights = forward
    term_ptr, docs, doc_weights = inverted
    sums = np.zeros(len(ptr) - 1, np.float64)
    touched = np.empty(len(ptr) - 1, np.int32)
    for doc in range(first, last):
        n_touched = 0
        for index in range(ptr[doc], ptr[doc + 1]):
            term = terms[index]
            weight = np.float64(weights[index])
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
            count = _insert(touched[index], np.float32(sums[touched[index]]), out_docs[doc], out_cosines[doc], count)
            sums[touched[index]] = 0.0


@helper()
def _insert(doc, value, docs, values, count):
    """Insert a document, or a term's index, into a list by value, descending, then number; return the list's length."""
    if count == len(docs) and (values[-1] > value or (values[-1] == value and docs[-1] < doc)):
        return count
    index = min(count, len(docs) - 1)
    while index > 0 and (values[index - 1] < value or (values[index - 1] == value and docs[index - 1] > doc)):
        docs[index], values[index] = docs[index - 1], values[index - 1]
        index -= 1
    docs[index], values[index] = doc, value
    return min(count + 1, len(docs))

"""The numbers of terms in the vocabulary of an index, by a binary search."""

from collections.abc import Sequence

import numpy as np

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.mapped_rows import read_only_view
from rerank.types.forward import ForwardIndex
from rerank.types.query_rows import Ints, pointers


def find_terms(forward: ForwardIndex, terms: Sequence[bytes]) -> Ints:
    """Return the number of each term (UTF-8), (n_terms,) int64; -1 where no field of the index holds it."""
    numbers = np.empty(len(terms), dtype=np.int64)
    _find_terms(
        read_only_view(np.frombuffer(b"".join(terms), dtype=np.uint8)),
        pointers([len(term) for term in terms]),
        read_only_view(forward.vocabulary),
        read_only_view(forward.term_ptr),
        numbers,
    )
    return numbers


@kernel()
def _find_terms(terms, terms_ptr, vocabulary, term_ptr, out):
    """Fill `out` (n_terms,) with the number of each term, -1 for an unknown one, by a binary search each.

    terms, vocabulary    concatenated bytes of terms; the terms of the vocabulary ascend
    terms_ptr, term_ptr  first byte of each term
    """
    for number in range(len(out)):
        low = 0
        high = len(term_ptr) - 1
        term = terms[terms_ptr[number] : terms_ptr[number + 1]]
        out[number] = -1
        while low < high:
            middle = (low + high) >> 1
            order = _compare(vocabulary[term_ptr[middle] : term_ptr[middle + 1]], term)
            if order == 0:
                out[number] = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle


@helper()
def _compare(left, right):
    """Return a number below 0 where `left` (bytes) sorts before `right`, 0 where they are equal, else above 0."""
    for index in range(min(len(left), len(right))):
        if left[index] != right[index]:
            return np.int64(left[index]) - np.int64(right[index])
    return len(left) - len(right)

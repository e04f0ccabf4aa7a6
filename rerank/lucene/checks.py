"""The complete check of forward arrays: every kernel can read arrays that pass it.

It reads all arrays, so it is done once for each state of the files: see `rerank.lucene.arrays`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.runtime.store import are_characters
from rerank.types.forward import FieldArrays, ForwardIndex, document_slots

_CHECKED_AT_ONCE = 1 << 18  # ids checked at a time


def fault_of(forward: ForwardIndex) -> str | None:
    """Return what is wrong with forward arrays whose shapes and types are right, None if nothing is."""
    fault = _documents_fault(forward) or _vocabulary_fault(forward)
    if fault is None and any(np.isinf(column).any() for column in forward.numbers.values()):
        fault = "numbers.npy holds infinity"
    for number, field in enumerate(forward.fields.values()):
        if fault is None:
            with read_in_order(field.terms, field.freqs, field.positions):
                name = _field_fault(field, len(forward.term_ptr) - 1)
            fault = name and f"{number}.{name}"
    return fault


def _documents_fault(forward: ForwardIndex) -> str | None:
    for start in range(0, forward.n_docs, _CHECKED_AT_ONCE):
        doc_ids = np.asarray(forward.doc_ids[max(start - 1, 0) : start + _CHECKED_AT_ONCE])
        if not are_characters(doc_ids):
            return "doc_ids.npy holds ids that are not text"
        if not (doc_ids[1:] >= doc_ids[:-1]).all():
            return "doc_ids.npy is not in order"
    if not _is_permutation(np.asarray(forward.lucene_docs)):
        return "lucene_docs.npy does not hold each document once"
    if not np.array_equal(forward.doc_slots, document_slots(forward.doc_ids)):
        return "doc_slots.npy does not fit doc_ids.npy"
    return None


def _is_permutation(numbers: NDArray[np.int32]) -> bool:
    if numbers.min(initial=0) < 0 or numbers.max(initial=-1) >= len(numbers):
        return False
    seen = np.zeros(len(numbers), dtype=np.bool_)
    seen[numbers] = True
    return bool(seen.all())


def _vocabulary_fault(forward: ForwardIndex) -> str | None:
    if not _are_pointers(forward.term_ptr, len(forward.vocabulary)):
        return "term_ptr.npy does not rise from 0 to the length of vocabulary.npy"
    try:
        bytes(forward.vocabulary).decode("utf8")
    except UnicodeDecodeError:
        return "vocabulary.npy is no UTF-8"
    if not _terms_ascend(read_only_view(forward.vocabulary), read_only_view(forward.term_ptr)):
        return "vocabulary.npy is not in order"
    return None


def _field_fault(field: FieldArrays, n_terms: int) -> str | None:
    """Return what is wrong with the arrays of a field, None if nothing is."""
    if not _are_pointers(field.doc_ptr, len(field.terms)):
        return "doc_ptr.npy does not rise from 0 to the number of postings"
    if not np.array_equal(np.diff(field.position_ptr), field.lengths) or field.position_ptr[0] != 0:
        return "position_ptr.npy does not fit lengths.npy"
    doc_freq = np.zeros(n_terms, np.int64)
    collection_freq = np.zeros(n_terms, np.int64)
    doc_ptr, terms, freqs, lengths = (
        read_only_view(part) for part in (field.doc_ptr, field.terms, field.freqs, field.lengths)
    )
    if not _count_terms(doc_ptr, terms, freqs, lengths, doc_freq, collection_freq):
        return "terms.npy or freqs.npy holds what no document can"
    for name, counted in (("doc_freq", doc_freq), ("collection_freq", collection_freq)):
        if not np.array_equal(getattr(field, name), counted):
            return f"{name}.npy does not fit the postings"
    if field.positions is not None and len(field.positions) != field.position_ptr[-1]:
        return "positions.npy holds positions of another number of tokens"
    if field.positions is not None and not _positions_ascend(freqs, read_only_view(field.positions)):
        return "positions.npy holds positions that do not rise"
    return None


def _are_pointers(pointers: NDArray[Any], end: int) -> bool:
    return bool(pointers[0] == 0 and pointers[-1] == end and (pointers[1:] >= pointers[:-1]).all())


@kernel()
def _terms_ascend(vocabulary: Any, term_ptr: Any) -> bool:
    """Return whether each term begins with a whole character and is greater than the one before it in byte order."""
    for term in range(len(term_ptr) - 1):
        start = term_ptr[term]
        end = term_ptr[term + 1]
        if start < end and vocabulary[start] & 0xC0 == 0x80:
            return False
        if term == 0:
            continue
        index = start
        previous = term_ptr[term - 1]
        while index < end and previous < start and vocabulary[index] == vocabulary[previous]:
            index += 1
            previous += 1
        if index == end or (previous < start and vocabulary[index] < vocabulary[previous]):
            return False
    return True


@kernel()
def _count_terms(doc_ptr: Any, terms: Any, freqs: Any, lengths: Any, doc_freq: Any, collection_freq: Any) -> bool:
    """Return whether each document's terms ascend and are known, and their frequencies add up to its length.

    doc_freq, collection_freq  (n_terms,) int64, OUT, 0 before: counted from the postings
    """
    for doc in range(len(lengths)):
        last = -1
        total = 0
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            term = terms[posting]
            freq = freqs[posting]
            if term <= last or term >= len(doc_freq) or freq < 1:
                return False
            last = term
            total += freq
            doc_freq[term] += 1
            collection_freq[term] += freq
        if total != lengths[doc]:
            return False
    return True


@kernel()
def _positions_ascend(freqs: Any, positions: Any) -> bool:
    """Return whether the positions of each posting ascend and are not negative; their number is checked before."""
    index = 0
    for posting in range(len(freqs)):
        last = 0
        for _ in range(freqs[posting]):
            if positions[index] < last:
                return False
            last = positions[index]
            index += 1
    return True

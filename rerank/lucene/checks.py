"""The complete check of forward arrays: every kernel can read arrays that pass it.

It reads all arrays, so it is done once for each state of the files: see `rerank.lucene.arrays`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.runtime.store import Fault, are_characters
from rerank.types.forward import FieldArrays, ForwardIndex, document_slots


def check_arrays(forward: ForwardIndex) -> None:
    """Raise Fault for forward arrays, of the right shapes and types, that kernels cannot read."""
    doc_ids = forward.doc_ids
    if not are_characters(doc_ids):
        raise Fault("doc_ids.npy holds ids that are not text")
    if not (doc_ids[1:] >= doc_ids[:-1]).all():
        raise Fault("doc_ids.npy is not in order")
    if not np.array_equal(np.sort(forward.lucene_docs), np.arange(forward.n_docs)):
        raise Fault("lucene_docs.npy does not hold each document once")
    if not np.array_equal(forward.doc_slots, document_slots(doc_ids)):
        raise Fault("doc_slots.npy does not fit doc_ids.npy")
    if not _are_pointers(forward.term_ptr, len(forward.vocabulary)):
        raise Fault("term_ptr.npy does not rise from 0 to the length of vocabulary.npy")
    try:
        bytes(forward.vocabulary).decode("utf8")
    except UnicodeDecodeError:
        raise Fault("vocabulary.npy is no UTF-8") from None
    starts = forward.vocabulary[forward.term_ptr[:-1][np.diff(forward.term_ptr) > 0]]
    if (starts & 0xC0 == 0x80).any():
        raise Fault("term_ptr.npy divides a character of vocabulary.npy")
    if any(np.isinf(column).any() for column in forward.numbers.values()):
        raise Fault("numbers.npy holds infinity")
    for number, field in enumerate(forward.fields.values()):
        with read_in_order(field.terms, field.freqs, field.positions):
            _check_field(field, f"{number}.", len(forward.term_ptr) - 1)


def _check_field(field: FieldArrays, name: str, n_terms: int) -> None:
    """Raise Fault for arrays of a field that kernels cannot read; their names begin with `name`."""
    if not _are_pointers(field.doc_ptr, len(field.terms)):
        raise Fault(f"{name}doc_ptr.npy does not rise from 0 to the number of postings")
    if field.position_ptr[0] != 0 or not np.array_equal(np.diff(field.position_ptr), field.lengths):
        raise Fault(f"{name}position_ptr.npy does not fit {name}lengths.npy")
    doc_freq = np.zeros(n_terms, np.int64)
    collection_freq = np.zeros(n_terms, np.int64)
    positions = np.empty(0, np.int32) if field.positions is None else field.positions
    if field.positions is not None and len(positions) != field.position_ptr[-1]:
        raise Fault(f"{name}positions.npy holds positions of another number of tokens")
    doc_ptr, terms, freqs, lengths, positions = (
        read_only_view(array) for array in (field.doc_ptr, field.terms, field.freqs, field.lengths, positions)
    )
    if not _count_terms(doc_ptr, terms, freqs, lengths, positions, doc_freq, collection_freq):
        raise Fault(f"{name}terms.npy, {name}freqs.npy or {name}positions.npy holds what no document can")
    for array, counted in (("doc_freq", doc_freq), ("collection_freq", collection_freq)):
        if not np.array_equal(getattr(field, array), counted):
            raise Fault(f"{name}{array}.npy does not fit the postings")


def _are_pointers(pointers: NDArray[Any], end: int) -> bool:
    return bool(pointers[0] == 0 and pointers[-1] == end and (pointers[1:] >= pointers[:-1]).all())


@kernel()
def _count_terms(
    doc_ptr: Any, terms: Any, freqs: Any, lengths: Any, positions: Any, doc_freq: Any, collection_freq: Any
) -> bool:
    """Return whether each document's terms ascend and are known, and their frequencies add up to its length.

    The positions of each posting must ascend, and not be negative.

    positions                  (n_tokens,) int32, or none
    doc_freq, collection_freq  (n_terms,) int64, OUT, 0 before: counted from the postings
    """
    token = 0
    for doc in range(len(lengths)):
        last = -1
        end = token + lengths[doc]
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            term = terms[posting]
            freq = freqs[posting]
            if term <= last or term >= len(doc_freq) or freq < 1 or freq > end - token:
                return False
            last = term
            doc_freq[term] += 1
            collection_freq[term] += freq
            position = 0
            for i in range(token, token + freq if len(positions) else token):
                if positions[i] < position:
                    return False
                position = positions[i]
            token += freq
        if token != end:
            return False
    return True

"""Forward arrays: what stands in each document, field by field, as flat memory-mapped arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types import Ids, Ints


@dataclass(frozen=True, eq=False)
class FieldArrays:
    """Forward arrays of one field: what stands in each document.

    doc_ptr          (n_docs + 1,) int64: postings of document d are [doc_ptr[d], doc_ptr[d + 1])
    terms            (n_postings,) int32 term numbers, ascending within a document
    freqs            (n_postings,) int32 occurrences
    positions        (n_tokens,) int32 token positions, posting by posting; None where not indexed
    position_ptr     (n_docs + 1,) int64: positions of document d
    lengths          (n_docs,) int32 tokens (the exact count)
    doc_freq         (n_terms,) int32 documents that hold the term in this field
    collection_freq  (n_terms,) int64 occurrences in this field
    n_docs_with      documents that hold the field (Lucene's docCount)
    """

    name: str
    doc_ptr: Ints
    terms: NDArray[np.int32]
    freqs: NDArray[np.int32]
    positions: NDArray[np.int32] | None
    position_ptr: Ints
    lengths: NDArray[np.int32]
    doc_freq: NDArray[np.int32]
    collection_freq: Ints
    n_docs_with: int

    @property
    def n_tokens(self) -> int:
        """Tokens of the field in the whole collection (Lucene's sumTotalTermFreq)."""
        return int(self.position_ptr[-1])

    @property
    def average_length(self) -> float:
        """Mean tokens of the documents that hold the field (Lucene's avgdl)."""
        return self.n_tokens / self.n_docs_with if self.n_docs_with else 0.0


@dataclass(frozen=True, eq=False)
class ForwardIndex:
    """Forward arrays of an index: one vocabulary, one set of document numbers, many fields.

    doc_ids      (n_docs,) ids by Lucene document number
    doc_order    (n_docs,) int32: document numbers by ascending id
    vocabulary   bytes of all terms, one after the other, in ascending byte order
    term_ptr     (n_terms + 1,) int64: term t is vocabulary[term_ptr[t]:term_ptr[t + 1]]
    fields       by name; `contents` is the whole document
    fingerprint  statistics of the index (plain JSON values), the same for the same text
    """

    doc_ids: Ids
    doc_order: NDArray[np.int32]
    vocabulary: NDArray[np.uint8]
    term_ptr: Ints
    fields: Mapping[str, FieldArrays]
    fingerprint: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_docs(self) -> int:
        """Number of documents (Lucene's maxDoc)."""
        return len(self.doc_ids)

    def term(self, number: int) -> str:
        """Return the text of a term."""
        return bytes(self.vocabulary[self.term_ptr[number] : self.term_ptr[number + 1]]).decode("utf8")

    def term_number(self, term: str) -> int:
        """Return the number of a term, or -1 where no field holds it."""
        wanted, low, high = term.encode("utf8"), 0, len(self.term_ptr) - 1
        while low < high:
            middle = (low + high) // 2
            here = bytes(self.vocabulary[self.term_ptr[middle] : self.term_ptr[middle + 1]])
            if here == wanted:
                return middle
            low, high = (middle + 1, high) if here < wanted else (low, middle)
        return -1

    def doc_numbers(self, doc_ids: Ids) -> Ints:
        """Return the Lucene number of each document id, -1 where the index has none."""
        if not self.n_docs:
            return np.full(len(doc_ids), -1, dtype=np.int64)
        place = np.searchsorted(self.doc_ids, doc_ids, sorter=self.doc_order)
        numbers = self.doc_order[np.minimum(place, self.n_docs - 1)].astype(np.int64)
        return np.where(self.doc_ids[numbers] == doc_ids, numbers, -1)

"""Forward arrays: the terms of each document, field by field, as flat memory-mapped arrays.

Documents are looked up by a hash table of their ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types.hash_slots import find_in_slots, hash_slots
from rerank.types.ids import Ids, row_codes
from rerank.types.query_rows import Floats, Ints, pointers

_BLOCK = 1 << 18  # ids hashed at a time


@dataclass(frozen=True, eq=False)
class FieldArrays:
    """Forward arrays of one field: the terms of each document.

    doc_ptr          (n_docs + 1,) int64: postings of document d are [doc_ptr[d], doc_ptr[d + 1])
    terms            (n_postings,) int32 term numbers, ascending within a document
    freqs            (n_postings,) int32 occurrences
    positions        (n_tokens,) int32 token positions, posting by posting; None where not indexed
    position_ptr     (n_docs + 1,) int64: positions of document d
    lengths          (n_docs,) int32 tokens (the exact count)
    doc_freq         (n_terms,) int32 documents with the term in this field
    collection_freq  (n_terms,) int64 occurrences in this field
    n_docs_with      documents with the field (Lucene's docCount)
    collection       where the documents are texts that no index holds: the field of the index whose statistics are
                     used. doc_freq and collection_freq then go on beyond its terms, and are at least 1
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
    collection: FieldArrays | None = None

    @property
    def n_tokens(self) -> int:
        """Tokens of the field in the whole collection (Lucene's sumTotalTermFreq)."""
        return int(self.position_ptr[-1]) if self.collection is None else max(self.collection.n_tokens, 1)

    @property
    def average_length(self) -> float:
        """Mean number of tokens over the documents with the field (Lucene's avgdl)."""
        return self.n_tokens / self.n_docs_with if self.n_docs_with else 0.0


@dataclass(frozen=True, eq=False)
class ForwardIndex:
    """Forward arrays of an index: one vocabulary, one set of document numbers, many fields.

    doc_ids      (n_docs,) ids in ascending order, which number the documents
    doc_slots    table of document numbers by hash of the id, see `document_slots`
    vocabulary   bytes of all terms, one after the other, in ascending byte order
    term_ptr     (n_terms + 1,) int64: term t is vocabulary[term_ptr[t]:term_ptr[t + 1]]
    fields       arrays of each field, by name; `contents` is the whole document
    fingerprint  statistics of the index (plain JSON values), equal for indexes of the same text
    numbers      numeric fields of the documents, (n_docs,) float64 by name; NaN if a document has none
    lucene_docs  (n_docs,) int32 Lucene's number of each document; with shards, numbers of one go on after those of the
                 shard before. Empty for texts that no index holds
    new_terms    numbers, from n_terms on, of terms that the vocabulary lacks: those of texts that no index holds
    """

    doc_ids: Ids
    doc_slots: NDArray[np.int32]
    vocabulary: NDArray[np.uint8]
    term_ptr: Ints
    fields: Mapping[str, FieldArrays]
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    numbers: Mapping[str, Floats] = field(default_factory=dict)
    lucene_docs: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    new_terms: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_docs(self) -> int:
        """Number of documents (Lucene's maxDoc)."""
        return len(self.doc_ids)

    def term(self, number: int) -> str:
        """Return the text of a term."""
        return bytes(self.vocabulary[self.term_ptr[number] : self.term_ptr[number + 1]]).decode("utf8")

    def doc_numbers(self, doc_ids: Ids) -> Ints:
        """Return the number of each document id, -1 for an id that is not in the index."""
        codes = row_codes(np.zeros(len(doc_ids), np.int64), doc_ids)
        return find_in_slots(self.doc_slots, codes, lambda numbers, rows: self.doc_ids[numbers] == doc_ids[rows])


def document_slots(doc_ids: Ids) -> NDArray[np.int32]:
    """Return a hash table of document numbers, see `hash_slots`; the empty id (of a deleted document) has no slot."""
    numbers = np.flatnonzero(doc_ids != "")
    blocks = [doc_ids[numbers[first : first + _BLOCK]] for first in range(0, len(numbers), _BLOCK)]
    codes = [row_codes(np.zeros(len(block), np.int64), block) for block in blocks]
    slots = hash_slots(np.concatenate([np.empty(0, np.uint64), *codes]))
    return np.append(numbers, -1)[slots].astype(np.int32)


def counted_terms(
    texts: Iterable[Iterable[str]], numbers: Mapping[str, int]
) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
    """Return where the terms of each text begin, its distinct terms by number, ascending, and how often it has them.

    numbers  of all terms of the texts; terms of a number below 0 are left out
    """
    pairs = [sorted((numbers[term], n) for term, n in Counter(text).items() if numbers[term] >= 0) for text in texts]
    flat = np.array([pair for of_text in pairs for pair in of_text], dtype=np.int32).reshape(-1, 2)
    return pointers(list(map(len, pairs))), np.ascontiguousarray(flat[:, 0]), np.ascontiguousarray(flat[:, 1])


def fingerprint_differences(
    prefix: str, trained_on: Mapping[str, Any], opened: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the dotted names of the parts in which two fingerprints differ, with both values."""
    for key in dict.fromkeys((*opened, *trained_on)):
        name = f"{prefix}{key}"
        before = trained_on.get(key)
        after = opened.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from fingerprint_differences(f"{name}.", before, after)
        elif before != after:
            yield name, before, after

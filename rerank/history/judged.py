"""Judged queries as arrays: their terms, the documents that are relevant to them.

word   a distinct term of the judged queries, numbered in alphabetical order
label  a positive label: documents that are judged not relevant are left out
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.near_duplicates import near_duplicates, unit_weights
from rerank.types import Floats, Ints, Qrels, joined_rows, pointers, query_rows
from rerank.types.arrays import by_number
from rerank.types.forward import ForwardIndex
from rerank.types.ids import Ids, id_array

Key = tuple[tuple[str, int], ...]


def key_of(words: Sequence[str], counts: Sequence[int]) -> Key:
    """Return what queries of the same normalised text share: their analysed terms, in any order, and how often."""
    return tuple(sorted(zip(words, counts, strict=True)))


@dataclass(frozen=True, eq=False)
class Judged:
    """Judged queries.

    Parameters
    ----------
    query_ids : ndarray of shape (n_queries,) and dtype str
        Query ids, ascending, so that the order of the topics changes nothing.
    words : tuple of str
        The words, ascending.
    word_ptr : ndarray of shape (n_queries + 1,) and dtype int64
        First word of each query.
    query_words : ndarray of shape (n_query_words,) and dtype int32
        Words of each query, ascending.
    freqs : ndarray of shape (n_query_words,) and dtype int32
        Occurrences in the query.
    doc_ptr : ndarray of shape (n_queries + 1,) and dtype int64
        First relevant document of each query.
    docs : ndarray of shape (n_judgements,) and dtype int32
        Relevant documents, ascending within a query.
    labels : ndarray of shape (n_judgements,) and dtype float32
        Their labels.

    """

    query_ids: Ids
    words: tuple[str, ...]
    word_ptr: Ints
    query_words: NDArray[np.int32]
    freqs: NDArray[np.int32]
    doc_ptr: Ints
    docs: NDArray[np.int32]
    labels: NDArray[np.float32]

    @classmethod
    def of(cls, forward: ForwardIndex, query_terms: Mapping[str, Sequence[str]], qrels: Qrels) -> Judged:
        """Return the queries with terms and judgements; refuse qrels without a relevant document of the index.

        Relevant documents that the index does not hold are left out.
        """
        query_ids = sorted(query_id for query_id in query_terms if query_id in qrels)
        if not query_ids:
            raise InvalidInputError(
                "qrels: expected judgements of the topics, got none. Check that both use the same query ids."
            )
        counters = [Counter(query_terms[query_id]) for query_id in query_ids]
        words = tuple(sorted({word for counter in counters for word in counter}))
        number = {word: index for index, word in enumerate(words)}
        pairs = [sorted((number[word], count) for word, count in counter.items()) for counter in counters]
        flat = np.array([pair for of_query in pairs for pair in of_query], dtype=np.int32).reshape(-1, 2)
        docs, labels, counts = _relevant(forward, query_ids, qrels)
        if not len(docs):
            raise InvalidInputError(
                "qrels: expected relevant documents that the index holds, got none. Use the index of the judgements."
            )
        return cls(
            query_ids=id_array(query_ids),
            words=words,
            word_ptr=pointers([len(of_query) for of_query in pairs]),
            query_words=np.ascontiguousarray(flat[:, 0]),
            freqs=np.ascontiguousarray(flat[:, 1]),
            doc_ptr=pointers(counts),
            docs=docs,
            labels=labels,
        )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ids)

    @cached_property
    def gains(self) -> Floats:
        """The label of each judgement divided by the square root of its query's relevant documents, float64."""
        counts = np.diff(self.doc_ptr)
        return self.labels / np.sqrt(np.repeat(counts, counts).astype(np.float64))

    @cached_property
    def word_numbers(self) -> dict[str, int]:
        """Number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def keys(self) -> list[Key]:
        """Return the key of each query, see `key_of`."""
        texts = [self.words[word] for word in self.query_words.tolist()]
        counts, ptr = self.freqs.tolist(), self.word_ptr.tolist()
        return [key_of(texts[first:last], counts[first:last]) for first, last in pairwise(ptr)]

    def near_duplicates(self, weights: Floats, cosine: float) -> Ints:
        """Return the group of near duplicates of each query, (n_queries,) int64, by weights of `query_words`."""
        number: dict[Key, int] = {}
        first = np.array([number.setdefault(key, query) for query, key in enumerate(self.keys())], dtype=np.int64)
        return near_duplicates(weights, self.query_words, self.word_ptr, first, cosine)

    def unit_weights(self, idf: Floats) -> Floats:
        """Return the weights of `query_words`, from the idf of each word."""
        return unit_weights(self.freqs, idf[self.query_words], self.word_ptr)

    def select(self, queries: Ints) -> Judged:
        """Return some queries, given by number, with the same words."""
        words, word_ptr = joined_rows(self.word_ptr[queries], np.diff(self.word_ptr)[queries])
        docs, doc_ptr = joined_rows(self.doc_ptr[queries], np.diff(self.doc_ptr)[queries])
        return replace(
            self,
            query_ids=self.query_ids[queries],
            word_ptr=word_ptr,
            query_words=self.query_words[words],
            freqs=self.freqs[words],
            doc_ptr=doc_ptr,
            docs=self.docs[docs],
            labels=self.labels[docs],
        )

    def renumbered(self, numbers: Ints) -> Judged:
        """Return the queries for other document numbers: document d becomes numbers[d]."""
        docs, query = numbers[self.docs].astype(np.int32), query_rows(self.doc_ptr)
        order = np.lexsort((docs, query))
        return replace(self, docs=docs[order], labels=self.labels[order])

    def by_word(self) -> tuple[Ints, NDArray[np.int32], Ints]:
        """Return the queries of each word: pointers (n_words + 1,), queries, and their indices in `query_words`."""
        ptr, order = by_number(self.query_words, len(self.words))
        return ptr, query_rows(self.word_ptr)[order].astype(np.int32), order


def _relevant(
    forward: ForwardIndex, query_ids: Sequence[str], qrels: Qrels
) -> tuple[NDArray[np.int32], NDArray[np.float32], list[int]]:
    """Return relevant documents of the index, their labels, and how many each query has."""
    docs, labels, counts = [], [], []
    for query_id in query_ids:
        rows = qrels.rows(query_id)
        positive = np.flatnonzero(qrels.labels[rows] > 0)
        numbers = forward.doc_numbers(qrels.doc_ids[rows][positive])
        held = np.flatnonzero(numbers >= 0)
        order = held[np.argsort(numbers[held], kind="stable")]
        docs.append(numbers[order].astype(np.int32))
        labels.append(qrels.labels[rows][positive][order].astype(np.float32))
        counts.append(len(order))
    return np.concatenate(docs), np.concatenate(labels), counts

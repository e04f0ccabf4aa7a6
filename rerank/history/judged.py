"""Judged queries as arrays: their terms, the documents that are relevant to them.

word   a distinct term of the judged queries, numbered in alphabetical order
label  a positive label: documents that are judged not relevant are left out

What is learned from the documents alone: their most characteristic terms, and the nearest documents of each.

    w(t, d)   (1 + ln tf) * ln(N / df) in the whole document
    v(d)      the weights of the document's TERMS heaviest terms, divided by their norm

References
----------
Salton & Buckley, Information Processing & Management 1988 (the weights).

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
from rerank.features.near_duplicates import near_duplicates, term_idf, unit_weights
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.runtime.numerics import log
from rerank.runtime.threads import in_threads, row_parts
from rerank.types import Floats, Ints, Qrels, joined_rows, pointers, query_rows
from rerank.types.forward import ForwardIndex
from rerank.types.ids import Ids, by_number, id_array
from rerank.types.retriever import CONTENTS

Key = tuple[tuple[str, int], ...]
TERMS = 40  # heaviest terms of a document that are kept
NEAREST = 20  # documents of each document
MOST_POSTINGS = 1 << 14  # documents of a term that are compared with each other; terms of more documents are left out


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
        judged = qrels.select(qrels.query_numbers(query_ids))
        positive = np.flatnonzero(judged.labels > 0)
        numbers = forward.doc_numbers(judged.doc_ids[positive])
        held = np.flatnonzero(numbers >= 0)
        query = query_rows(judged.query_ptr)[positive[held]]
        order = np.lexsort((numbers[held], query))
        docs = numbers[held[order]].astype(np.int32)
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
            doc_ptr=pointers(np.bincount(query, minlength=len(query_ids))),
            docs=docs,
            labels=judged.labels[positive[held[order]]].astype(np.float32),
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
        counts = self.freqs.tolist()
        ptr = self.word_ptr.tolist()
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
        docs = numbers[self.docs].astype(np.int32)
        query = query_rows(self.doc_ptr)
        order = np.lexsort((docs, query))
        return replace(self, docs=docs[order], labels=self.labels[order])


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
        docs = np.full((n_docs, NEAREST), -1, np.int32)
        cosines = np.zeros((n_docs, NEAREST), np.float32)
        held = np.flatnonzero(numbers >= 0)
        docs[numbers[held]] = np.where(self.docs[held] >= 0, numbers[self.docs[held]], -1)
        cosines[numbers[held]] = self.cosines[held]
        return Neighbours(docs, cosines)


def heaviest_terms(forward: ForwardIndex, threads: int = 1) -> DocTerms:
    """Return the heaviest terms of each document, ties by term number; weights have norm 1."""
    field = forward.fields[CONTENTS]
    idf = term_idf(forward)
    ptr = pointers(np.minimum(np.diff(field.doc_ptr), TERMS))
    terms = np.empty(ptr[-1], np.int32)
    weights = np.empty(ptr[-1], np.float32)
    postings = (read_only_view(field.doc_ptr), read_only_view(field.terms), read_only_view(field.freqs))

    def fill(docs: slice) -> None:
        _fill_heaviest(postings, idf, ptr, docs.start, min(docs.stop, len(ptr) - 1), terms, weights)

    with read_in_order(*postings):
        in_threads(fill, row_parts(len(ptr) - 1, threads), threads)
    return DocTerms(ptr, terms, weights)


def nearest_documents(doc_terms: DocTerms, n_terms: int, threads: int = 1) -> Neighbours:
    """Return the nearest documents of each document by the cosine of v(d); documents of cosine 0 are left out."""
    n_docs = len(doc_terms.ptr) - 1
    term_ptr, order = by_number(doc_terms.terms, n_terms)
    inverted = (term_ptr, query_rows(doc_terms.ptr).astype(np.int32)[order], doc_terms.weights[order])
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
        start = doc_ptr[doc]
        count = doc_ptr[doc + 1] - doc_ptr[doc]
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

"""Judged queries on an index.

word   a distinct term of the judged queries, numbered in alphabetical order
label  a positive label: documents that are judged not relevant are left out
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.match import CandidateBatch
from rerank.features.near_duplicates import unit_weights
from rerank.features.statistics import postings, vector_norms, word_idf
from rerank.history.neighbours import Neighbours
from rerank.runtime.elementary import array_log, random_bits
from rerank.runtime.kernels import kernel
from rerank.types import CONTENTS, Floats, ForwardIndex, Ids, Ints, id_array, pointers, rows_of_groups
from rerank.types.forward import counted_terms
from rerank.types.query_rows import positions_among


@dataclass(frozen=True, eq=False)
class Judged:
    """Judged queries, with the numbers of an index's documents.

    query_ids  (n_queries,) ascending
    folds      (n_queries,) int64
    words      ascending
    word_ptr, query_words, freqs  words of each query, ascending, and how often it has them: int64, int32, int32
    doc_ptr, docs, labels         relevant documents of each query, ascending: int64, int32, float32
    """

    query_ids: Ids
    folds: Ints
    words: tuple[str, ...]
    word_ptr: Ints
    query_words: NDArray[np.int32]
    freqs: NDArray[np.int32]
    doc_ptr: Ints
    docs: NDArray[np.int32]
    labels: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        forward: ForwardIndex,
        query_ids: list[str],
        terms: list[list[str]],
        doc_ids: list[list[str]],
        labels: list[list[float]],
        folds: list[int],
    ) -> Judged:
        """Return the queries of a history, see `History`, without the documents that the index does not hold.

        A judgement holds for all copies of a document, which are counted under the lowest number among the judged ones.
        """
        words = tuple(sorted(set().union(*terms)))
        word_ptr, query_words, freqs = counted_terms(terms, {word: number for number, word in enumerate(words)})
        query = np.repeat(np.arange(len(terms)), [len(of_query) for of_query in doc_ids])
        docs = forward.doc_numbers(id_array([doc_id for of_query in doc_ids for doc_id in of_query]))
        flat_labels = np.array([label for of_query in labels for label in of_query], dtype=np.float32)
        _, copies = np.unique(digests_of(forward, docs), return_inverse=True)
        lowest = np.full(len(docs), forward.n_docs)
        np.minimum.at(lowest, copies, docs)
        docs = lowest[copies]
        order = np.lexsort((-flat_labels, docs, query))
        is_first = np.append(True, (np.diff(docs[order]) != 0) | (np.diff(query[order]) != 0))[: len(order)]
        order = order[is_first & (docs[order] >= 0)]
        return cls(
            query_ids=id_array(query_ids),
            folds=np.array(folds, dtype=np.int64),
            words=words,
            word_ptr=word_ptr,
            query_words=query_words,
            freqs=freqs,
            doc_ptr=pointers(np.bincount(query[order], minlength=len(terms))),
            docs=docs[order].astype(np.int32),
            labels=flat_labels[order],
        )

    @cached_property
    def gains(self) -> Floats:
        """The label of each judgement divided by the square root of its query's relevant documents, float64."""
        counts = np.diff(self.doc_ptr)
        return self.labels / np.sqrt(np.repeat(counts, counts).astype(np.float64))

    @cached_property
    def word_numbers(self) -> dict[str, int]:
        """Number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def select(self, queries: Ints) -> Judged:
        """Return some queries, given by number, with the same words."""
        words, word_ptr = rows_of_groups(self.word_ptr, queries)
        docs, doc_ptr = rows_of_groups(self.doc_ptr, queries)
        return replace(
            self,
            query_ids=self.query_ids[queries],
            folds=self.folds[queries],
            word_ptr=word_ptr,
            query_words=self.query_words[words],
            freqs=self.freqs[words],
            doc_ptr=doc_ptr,
            docs=self.docs[docs],
            labels=self.labels[docs],
        )


@dataclass(frozen=True, eq=False)
class HistoryQuery:
    """A query and its candidates as the learned families need them.

    words, freqs  (n_known,) int64 words of the judged queries that the query has, and how often
    weights       (n_known,) float64 weights of these words; the weights of all terms of the query have norm 1
    docs          (n_rows,) int64 documents of the rows; -1 for a text that the index does not hold
    hidden        (n_hidden,) int64 judged queries that the features may not come from: those of the query's fold
    vector        (dimensions,) float32 vector of the query in the space that the family needs, or None
    """

    words: Ints
    freqs: Ints
    weights: Floats
    docs: Ints
    hidden: Ints
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, eq=False)
class IndexHistory:
    """A history on an index.

    terms     of each judged query, ascending
    of_texts  whether candidates are texts, whose ids may be those of documents of the index
    """

    checksum: str
    terms: list[list[str]]
    judged: Judged
    forward: ForwardIndex
    neighbours: Neighbours
    of_texts: bool = False
    _prepared: dict[Any, Any] = field(default_factory=dict)
    _lock: RLock = field(default_factory=RLock)

    def prepared(self, key: Any, prepare: Callable[[], Any]) -> Any:
        """Return what `prepare` returned when it was first called for this key."""
        with self._lock:
            if key not in self._prepared:
                self._prepared[key] = prepare()
            return self._prepared[key]

    @cached_property
    def weights(self) -> Floats:
        """The weights of the words of each judged query, of norm 1, (n_query_words,) float64."""
        return unit_weights(
            self.judged.freqs, word_idf(self.forward, self.judged.words)[self.judged.query_words], self.judged.word_ptr
        )

    @cached_property
    def _fold_of_queries(self) -> dict[str | tuple[str, ...], int]:
        """The fold of each query, by its id and by its sorted terms."""
        folds = self.judged.folds.tolist()
        by_terms = {tuple(terms): fold for terms, fold in zip(self.terms, folds, strict=True)}
        return {**dict(zip(self.judged.query_ids.tolist(), folds, strict=True)), **by_terms}

    @cached_property
    def _copies(self) -> tuple[Ints, Ints]:
        """The documents that are copies of a judged document, ascending, and the lowest judged document of each.

        Copies have equal norms: only documents with the norm of a judged document are compared by their terms.
        """
        judged = np.unique(self.judged.docs).astype(np.int64)
        digests, lowest = np.unique(digests_of(self.forward, judged), return_index=True)
        norms = vector_norms(self.forward.fields[CONTENTS])
        alike = np.flatnonzero(positions_among(np.unique(norms[judged]), norms) >= 0)
        place = positions_among(digests, digests_of(self.forward, alike))
        docs, copied = alike[place >= 0], judged[lowest[place[place >= 0]]]
        return docs[docs != copied], copied[docs != copied]

    def query(self, candidates: CandidateBatch, query: int) -> HistoryQuery:
        """Return a query of the candidates as the learned families need it."""
        first, last = candidates.term_ptr[query : query + 2].tolist()
        words = candidates.words[query]
        freqs = candidates.query_freq[first:last]
        weights = (1.0 + array_log(freqs)) * word_idf(self.forward, words)
        norm = np.sqrt((weights**2).sum()) or 1.0
        numbers = np.array([self.judged.word_numbers.get(word, -1) for word in words], dtype=np.int64)
        order = np.argsort(numbers, kind="stable")
        known = order[numbers[order] >= 0]
        terms = tuple(sorted(word for word, n in zip(words, freqs.tolist(), strict=True) for _ in range(n)))
        fold_of = self._fold_of_queries
        folds = [fold_of.get(str(candidates.query_ids[query]), -1), fold_of.get(terms, -1)]
        rows = slice(*candidates.query_ptr[query : query + 2].tolist())
        docs = candidates.docs[rows]
        if self.of_texts:
            docs = self.forward.doc_numbers(np.asarray(candidates.doc_ids[rows]))
        copies, copied = self._copies
        place = positions_among(copies, docs)
        if (place >= 0).any():
            docs = np.where(place >= 0, copied[place], docs)
        return HistoryQuery(
            words=numbers[known],
            freqs=freqs[known],
            weights=weights[known] / norm,
            docs=docs,
            hidden=np.flatnonzero(np.isin(self.judged.folds, folds)),
        )


@dataclass(frozen=True)
class UnnamedHistory:
    """The history of a model for texts that are no documents of its index: all of its features are missing."""

    checksum: str


def digests_of(forward: ForwardIndex, docs: Ints) -> NDArray[np.uint64]:
    """Return a digest of the terms and frequencies of each document, (k,) uint64; 0 for the document -1."""
    out = np.zeros(len(docs), np.uint64)
    _fill_digests(*postings(forward.fields[CONTENTS]), np.asarray(docs, np.int64), out)
    return out


@kernel()
def _fill_digests(doc_ptr, terms, freqs, docs, out):
    """Fill out (k,) uint64 with the digests of documents (k,) int64."""
    for i in range(docs.shape[0]):
        if docs[i] >= 0:
            total = np.uint64(1)
            for posting in range(doc_ptr[docs[i]], doc_ptr[docs[i] + 1]):
                total += random_bits(np.uint64(terms[posting]), np.uint64(freqs[posting]))
            out[i] = total

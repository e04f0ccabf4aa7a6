"""Judged queries on an index, and the features that are learned from them.

word   a distinct term of the judged queries, numbered in alphabetical order
label  a positive label: documents that are judged not relevant are left out

What is learned from the documents alone: their most characteristic terms, and the nearest documents of each.

    w(t, d)   (1 + ln tf) * ln(N / df) in the whole document
    v(d)      the weights of the document's TERMS heaviest terms, divided by their norm

Each score of a family has its rank and gap within the query. The families:

expansion       past queries as a field of the document, scored as BM25. field(d) has the terms of all queries of the
                history to which d is relevant, one text after the other; tf, len, df, N, avgdl are those of the fields
neighbours      the documents that are relevant to near(q): the 30 queries of the history with the greatest cosine above
                0, ties by query id, of the queries' vectors of (1 + ln tf) * ln(N / df), as in the whole document
neighbours_lsi  the same for near(q, n), the n nearest queries in the space `lsi` of the index's vectors
prior           how often a document was judged relevant, whatever the query

References
----------
Salton & Buckley, Information Processing & Management 1988 (the weights); Robertson & Zaragoza, Foundations and Trends
in Information Retrieval 2009, eq. 3.15, in Lucene's variant; Nogueira, Yang, Lin & Cho 2019 (documents expanded by
queries); Cetintas, Si & Yuan, JASIST 2011 (past queries for retrieval); Metzler et al., SIGIR 2009 (smoothing of sparse
clicks); Deerwester et al., JASIS 1990.

"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from threading import RLock
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.features.families.relative import relate
from rerank.features.match import CandidateBatch
from rerank.features.near_duplicates import unit_weights
from rerank.features.recipe import Feature, Missing, Recipe, RunFamily, register
from rerank.features.statistics import inverse_document_frequency, term_idf, word_idf
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.runtime.numerics import array_log, log, random_bits
from rerank.runtime.threads import in_threads, kernel_threads, row_parts
from rerank.types.forward import ForwardIndex, counted_terms
from rerank.types.ids import Ids, id_array
from rerank.types.query_rows import Floats, Ints, by_number, joined_rows, pointers, query_rows
from rerank.types.retriever import CONTENTS, K1, B
from rerank.vectors.vectors import LSI, unit_vectors

TERMS = 40  # heaviest terms of a document that are kept
NEAREST = 20  # documents of each document
MOST_WITH_TERM = 1 << 14  # documents of a term that are compared with each other; terms of more are left out


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
        words, word_ptr = joined_rows(self.word_ptr[queries], np.diff(self.word_ptr)[queries])
        docs, doc_ptr = joined_rows(self.doc_ptr[queries], np.diff(self.doc_ptr)[queries])
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
    weights       (n_known,) float64 weights of these words; those of all terms of the query have norm 1
    docs          (n_rows,) int64 documents of the rows; -1 for a text that the index does not hold
    hidden        (n_hidden,) int64 judged queries that the features may not come from: those of its fold
    vector        (dimensions,) float32 of the query in the space that the family needs, or None
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

    of_texts  None where candidates are documents of the index; of texts, whether their ids may be those of its
              documents: only then do they have features of a history
    """

    checksum: str
    terms: list[list[str]]
    judged: Judged
    forward: ForwardIndex
    neighbours: Neighbours
    of_texts: bool | None = None
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
    def _judged_copies(self) -> tuple[NDArray[np.uint64], Ints]:
        """The digests of the judged documents, ascending, and their numbers."""
        docs = np.unique(self.judged.docs).astype(np.int64)
        digests, first = np.unique(digests_of(self.forward, docs), return_index=True)
        return digests, docs[first]

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
        if self.of_texts is not None:
            docs = np.where(self.of_texts, self.forward.doc_numbers(np.asarray(candidates.doc_ids[rows])), -1)
        of_rows = digests_of(self.forward, docs)
        digests, judged = self._judged_copies
        if len(digests):
            place = np.minimum(np.searchsorted(digests, of_rows), len(digests) - 1)
            docs = np.where(digests[place] == of_rows, judged[place], docs)
        return HistoryQuery(
            words=numbers[known],
            freqs=freqs[known],
            weights=weights[known] / norm,
            docs=docs,
            hidden=np.flatnonzero(np.isin(self.judged.folds, folds)),
        )


def digests_of(forward: ForwardIndex, docs: Ints) -> NDArray[np.uint64]:
    """Return the digests of the terms of documents and of how often they have them, (k,) uint64; 0 for -1."""
    contents = forward.fields[CONTENTS]
    out = np.zeros(len(docs), np.uint64)
    doc_ptr, terms, freqs = map(read_only_view, (contents.doc_ptr, contents.terms, contents.freqs))
    _fill_digests(doc_ptr, terms, freqs, np.asarray(docs, np.int64), out)
    return out


@kernel()
def _fill_digests(doc_ptr, terms, freqs, docs, out):  # type: ignore[no-untyped-def]
    """Fill out (k,) uint64 with the digests of documents (k,) int64."""
    for i in range(docs.shape[0]):
        if docs[i] >= 0:
            total = np.uint64(1)
            for posting in range(doc_ptr[docs[i]], doc_ptr[docs[i] + 1]):
                total += random_bits(np.uint64(terms[posting]), np.uint64(freqs[posting]))
            out[i] = total


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest documents of each document.

    docs     (n_docs, NEAREST) int32, nearest first, ties by number; -1 after the last one
    cosines  (n_docs, NEAREST) float32, 0 after the last one
    """

    docs: NDArray[np.int32]
    cosines: NDArray[np.float32]


def document_neighbours(forward: ForwardIndex, threads: int | None = None) -> Neighbours:
    """Return the nearest documents of each document by the cosine of v(d), but for those of cosine 0.

    The number of threads changes nothing.
    """
    field = forward.fields[CONTENTS]
    idf = term_idf(forward)
    n_docs = forward.n_docs
    ptr = pointers(np.minimum(np.diff(field.doc_ptr), TERMS))
    terms = np.empty(ptr[-1], np.int32)  # the heaviest of each document, ascending
    weights = np.empty(ptr[-1], np.float32)
    postings = (read_only_view(field.doc_ptr), read_only_view(field.terms), read_only_view(field.freqs))
    out = Neighbours(np.full((n_docs, NEAREST), -1, np.int32), np.zeros((n_docs, NEAREST), np.float32))

    def fill_heaviest(docs: slice) -> None:
        _fill_heaviest(postings, idf, ptr, docs.start, min(docs.stop, n_docs), terms, weights)

    def fill_nearest(docs: slice) -> None:
        _fill_nearest(
            (ptr, terms, weights),
            inverted,
            MOST_WITH_TERM,
            docs.start,
            min(docs.stop, n_docs),
            out.docs,
            out.cosines,
        )

    with kernel_threads(threads) as n_threads:
        parts = row_parts(n_docs, n_threads)
        with read_in_order(*postings):
            in_threads(fill_heaviest, parts, n_threads)
        term_ptr, order = by_number(terms, len(forward.term_ptr) - 1)
        inverted = (term_ptr, query_rows(ptr)[order].astype(np.int32), weights[order])
        in_threads(fill_nearest, parts, n_threads)
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
def _heaviest(weights, most):  # type: ignore[no-untyped-def]
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
            count = _insert(touched[index], np.float32(sums[touched[index]]), out_docs[doc], out_cosines[doc], count)
            sums[touched[index]] = 0.0


@helper()
def _insert(doc, value, docs, values, count):  # type: ignore[no-untyped-def]
    """Insert a document, or a term's index, into a list by value, descending, then number; return the list's length."""
    if count == len(docs) and (values[-1] > value or (values[-1] == value and docs[-1] < doc)):
        return count
    index = min(count, len(docs) - 1)
    while index > 0 and (values[index - 1] < value or (values[index - 1] == value and docs[index - 1] > doc)):
        docs[index], values[index] = docs[index - 1], values[index - 1]
        index -= 1
    docs[index], values[index] = doc, value
    return min(count + 1, len(docs))


class LearnedFamily(RunFamily):
    """Scores that are learned from judgements.

    Attributes
    ----------
    scores : tuple of Feature
        The scores; columns are each score, its rank and its gap.

    """

    needs_history: ClassVar[bool] = True
    evidence: ClassVar[str] = "judgements of similar queries"
    rising: ClassVar[tuple[str, ...]] = ("*",)
    falling: ClassVar[tuple[str, ...]] = ("*.rank", "*.gap")
    scores: ClassVar[tuple[Feature, ...]]

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [
            feature
            for score in self.scores
            for feature in (
                score,
                replace(
                    score,
                    name=f"{score.name}.rank",
                    meaning=f"Rank of the document by {score.name}.",
                    formula="1 + number of candidates with a greater value",
                    unit="ranks",
                    low=1.0,
                    high=inf,
                ),
                replace(
                    score,
                    name=f"{score.name}.gap",
                    meaning=f"How far {score.name} is below the best of the query.",
                    formula=f"max - x; x = {score.name}",
                    low=0.0,
                    high=inf,
                ),
            )
        ]

    @abstractmethod
    def prepare(self, history: IndexHistory, vectors: Any) -> Any:
        """Return what `score` needs of all judged queries; it is kept with the history.

        vectors  for a family that needs a space of them
        """

    def prepared(self, history: IndexHistory, vectors: Any) -> Any:
        """Return what `prepare` returns, kept by family and, where it needs vectors, by their checksum."""
        checksum = vectors.checksum if vectors is not None and self.needs_space else None
        return history.prepared((type(self), checksum), partial(self.prepare, history, vectors))

    @abstractmethod
    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, n_scores) of one query, which is NaN before."""

    def fill(self, candidates: CandidateBatch, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 3 * n_scores)."""
        vectors = candidates.vectors
        values = np.full((candidates.n_rows, len(self.scores)), np.nan, dtype=np.float32)
        space = None if vectors is None else vectors.vectors
        for number, query in enumerate(candidates.history_queries):
            rows = slice(*candidates.query_ptr[number : number + 2].tolist())
            if self.needs_space and vectors is not None:
                query = replace(query, vector=vectors.queries[self.needs_space][number])
            self.score(self.prepared(candidates.history, space), candidates.history, query, values[rows])
            out[rows, 2::3] = np.fmax.reduce(values[rows], axis=0, initial=-np.inf) - values[rows]
        out[:, 0::3] = values
        out[:, 1::3] = relate(candidates.query_ptr, values)[:, 2::3]


class DocumentFamily(LearnedFamily):
    """A score of documents for a query, and its mean over the nearest documents of each document."""

    @abstractmethod
    def document_scores(self, prepared: Any, history: IndexHistory, query: HistoryQuery) -> Floats:
        """Return the score of each document, (n_docs,) float64; 0 where it has none."""

    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 2)."""
        near = history.neighbours
        _emit(self.document_scores(prepared, history, query), near.docs, near.cosines, query.docs, out)

    def all_scores(self, prepared: Any, history: IndexHistory, query: HistoryQuery) -> Floats:
        """Return the sum of both scores of each document of the index, (n_docs,) float64; 0 where both are missing."""
        every = replace(query, docs=np.arange(history.forward.n_docs))
        scores = np.full((len(every.docs), 2), np.nan, dtype=np.float32)
        self.score(prepared, history, every, scores)
        return np.nansum(scores.astype(np.float64), axis=1)  # type: ignore[no-any-return]


def with_smoothed(score: Feature) -> tuple[Feature, Feature]:
    """Return the documentation of a score, and of its mean over the nearest documents."""
    return score, replace(
        score,
        name=f"{score.name}_smoothed",
        meaning=f"Mean of {score.name} over the 20 documents that are nearest to the document.",
        formula=f"sum over the 20 nearest documents of cos * {score.name} / sum of cos; cos of tf-idf vectors",
        missing=(Missing.NO_HISTORY,),
    )


@kernel()
def _emit(scores, near_docs, cosines, rows, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_rows, 2): the score of each row's document, and its mean over the nearest documents."""
    for row in range(len(rows)):
        doc = rows[row]
        if doc < 0:
            continue
        total = 0.0
        norm = 0.0
        if scores[doc] > 0.0:
            out[row, 0] = scores[doc]
        for number in range(near_docs.shape[1]):
            other = near_docs[doc, number]
            if other < 0:
                break
            total += cosines[doc, number] * scores[other]
            norm += cosines[doc, number]
        if total > 0.0:
            out[row, 1] = total / norm


@register("history.expansion")
class ExpansionFeatures(DocumentFamily):
    """BM25 over past queries as a field of the document."""

    scores = with_smoothed(
        Feature(
            name="history.expansion",
            meaning="BM25 of the query over the texts of the judged queries to which the document is relevant.",
            formula="sum over t of idf(t) * tf / (tf + 0.9 * (1 - 0.4 + 0.4 * len / avgdl)), over field(d)",
            source="Robertson & Zaragoza 2009, eq. 3.15",
            unit="nats",
            missing=(Missing.NO_HISTORY,),
        )
    )

    def document_scores(self, prepared: Any, history: IndexHistory, query: HistoryQuery) -> Floats:
        """Return BM25 of each document's field."""
        hidden = query.hidden
        key = type(self), hidden.tobytes()  # of one fold, or none
        ptr, docs, scores = history.prepared(key, partial(_word_scores, history, hidden))
        counts = np.diff(ptr)[query.words]
        rows, _ = joined_rows(ptr[query.words], counts)
        weights = np.repeat(query.freqs, counts) * scores[rows]
        return np.bincount(docs[rows], weights, history.forward.n_docs).astype(np.float64, copy=False)


def _word_scores(history: IndexHistory, hidden: Ints) -> tuple[Ints, NDArray[np.int32], Floats]:
    """Return for each word its documents and their BM25, over the fields of all judged queries but the hidden ones."""
    judged = history.judged.select(np.setdiff1d(np.arange(len(history.judged.query_ids)), hidden))
    n_docs = history.forward.n_docs
    pair_query = query_rows(judged.doc_ptr)
    rows, _ = joined_rows(judged.word_ptr[pair_query], np.diff(judged.word_ptr)[pair_query])
    docs = np.repeat(judged.docs, np.diff(judged.word_ptr)[pair_query]).astype(np.int64)
    keys, inverse = np.unique(judged.query_words[rows].astype(np.int64) * n_docs + docs, return_inverse=True)
    tf = np.bincount(inverse, judged.freqs[rows], len(keys))
    words = keys // n_docs
    docs = keys % n_docs
    lengths = np.bincount(docs, tf, n_docs)
    n_with = int(np.count_nonzero(lengths))
    average = lengths.sum() / max(n_with, 1)
    doc_freq = np.bincount(words, minlength=len(judged.words))
    idf = inverse_document_frequency(doc_freq, n_with)[words]
    saturation = K1 * (1.0 - B + B * lengths[docs] / (average or 1.0))
    return pointers(doc_freq), docs.astype(np.int32), idf * tf / (tf + saturation)


@register("history.neighbours")
class NeighbourFeatures(DocumentFamily):
    """Relevance to the most similar judged queries."""

    scores = with_smoothed(
        Feature(
            name="history.neighbours",
            meaning="How relevant the document is to the judged queries that are most similar to the query.",
            formula="sum over p of near(q) of cos(q, p)^2 * label(p, d) / sqrt(number of documents relevant to p)",
            source="sparse clicks smoothed over similar queries, as Metzler et al., SIGIR 2009",
            unit="labels",
            missing=(Missing.NO_HISTORY,),
        )
    )

    def prepare(self, history: IndexHistory, vectors: Any) -> Any:
        """Return the queries of each word with their weights."""
        judged = history.judged
        ptr, order = by_number(judged.query_words, len(judged.words))
        return ptr, query_rows(judged.word_ptr)[order].astype(np.int32), history.weights[order]

    def document_scores(self, prepared: Any, history: IndexHistory, query: HistoryQuery) -> Floats:
        """Return how relevant each document is to the nearest queries."""
        ptr, queries, query_weights = prepared
        counts = np.diff(ptr)[query.words]
        rows, _ = joined_rows(ptr[query.words], counts)
        products = np.repeat(query.weights, counts) * query_weights[rows]
        cosines = np.bincount(queries[rows], products, len(history.judged.query_ids)).astype(np.float64, copy=False)
        return relevant_to_nearest(cosines, history, query, most=30, power=2)


def relevant_to_nearest(cosines: Floats, history: IndexHistory, query: HistoryQuery, most: int, power: int) -> Floats:
    """Return the sum of cosine^power * gain of each document over the `most` nearest queries, (n_docs,) float64.

    cosines  (n_queries,) of the judged queries, in which hidden ones are set to 0; one of 0 or less is not near
    power    2 or 4
    """
    judged = history.judged
    cosines[query.hidden] = 0.0
    least = np.partition(cosines, -most)[-most] if len(cosines) > most else 0.0
    near = np.flatnonzero((cosines > 0.0) & (cosines >= least))
    nearest = near[np.argsort(-cosines[near], kind="stable")[:most]]
    counts = np.diff(judged.doc_ptr)[nearest]
    rows, _ = joined_rows(judged.doc_ptr[nearest], counts)
    weights = np.repeat((cosines[nearest] ** 2) ** (power // 2), counts)
    return np.bincount(judged.docs[rows], weights * judged.gains[rows], history.forward.n_docs).astype(
        np.float64, copy=False
    )


def _scores(name: str, nearest: int, power: int) -> tuple[Feature, Feature]:
    return with_smoothed(
        Feature(
            name=name,
            meaning=f"How relevant the document is to the {nearest} judged queries that are nearest in latent "
            "semantics.",
            formula=f"sum over p of near(q, {nearest}) of cos(q, p)^{power} * label(p, d) / sqrt(number of documents "
            "relevant to p)",
            source="Deerwester et al., JASIS 1990; Cetintas, Si & Yuan, JASIST 2011",
            unit="labels",
            missing=(Missing.NO_HISTORY,),
        )
    )


class _LatentNeighbours(DocumentFamily):
    """Relevance to the nearest judged queries by latent semantic indexing.

    Attributes
    ----------
    nearest : int
        Number of judged queries.
    power : int
        Exponent of the cosine.

    """

    needs_space: ClassVar[str] = LSI
    nearest: ClassVar[int]
    power: ClassVar[int]

    def prepare(self, history: IndexHistory, vectors: Any) -> Any:
        """Return the vectors of the judged queries, of norm 1."""
        return padded_units(vectors.queries(LSI, history.terms))

    def document_scores(self, prepared: Any, history: IndexHistory, query: HistoryQuery) -> Floats:
        """Return how relevant each document is to the nearest queries."""
        cosines = np.empty(len(prepared))
        _fill_products(prepared, padded_units(np.array([query.vector]))[0], cosines)
        return relevant_to_nearest(cosines, history, query, self.nearest, self.power)


@register("history.neighbours_lsi")
class LatentNeighbourFeatures(_LatentNeighbours):
    """Relevance to the 30 nearest judged queries by latent semantic indexing."""

    nearest = 30
    power = 2
    scores = _scores("history.neighbours_lsi", nearest, power)


@register("history.neighbours_lsi_wide")
class WideLatentNeighbourFeatures(_LatentNeighbours):
    """Relevance to the 100 nearest judged queries by latent semantic indexing."""

    nearest = 100
    power = 4
    scores = _scores("history.neighbours_lsi_wide", nearest, power)


def padded_units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return unit vectors (n, dimensions), with zeros up to a multiple of 16 dimensions."""
    return np.pad(unit_vectors(vectors), ((0, 0), (0, -vectors.shape[1] % 16)))


@kernel()
def _fill_products(units, vector, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_queries,) with the products of each row and a vector, whose length is a multiple of 16."""
    sums = np.empty(16, np.float32)
    for query in range(len(units)):
        sums[:] = 0.0
        for first in range(0, len(vector), 16):
            for lane in range(16):
                sums[lane] += units[query, first + lane] * vector[first + lane]
        total = 0.0
        for lane in range(16):
            total += sums[lane]
        out[query] = total


@register("history.prior")
class PriorFeatures(LearnedFamily):
    """How often the document was judged relevant."""

    scores = (
        Feature(
            name="history.prior",
            meaning="Number of judged queries to which the document is relevant.",
            formula="number of queries of the history with a positive label of d",
            source="document prior, Kraaij, Westerveld & Hiemstra, SIGIR 2002",
            unit="queries",
            missing=(Missing.NO_HISTORY,),
        ),
    )

    def prepare(self, history: IndexHistory, vectors: Any) -> Any:
        """Return the number of judged queries that each document is relevant to, (n_docs,) int64."""
        return np.bincount(history.judged.docs, minlength=history.forward.n_docs)

    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 1)."""
        judged = history.judged
        of_hidden, _ = joined_rows(judged.doc_ptr[query.hidden], np.diff(judged.doc_ptr)[query.hidden])
        counts = prepared - np.bincount(judged.docs[of_hidden], minlength=history.forward.n_docs)
        out[:, 0] = np.where((counts > 0)[query.docs] & (query.docs >= 0), counts[query.docs], np.nan)

"""The families that are learned from judgements of similar queries.

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
queries); Cetintas, Si & Yuan, JASIST 2011 (past queries for retrieval); Deerwester et al., JASIS 1990.

"""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.features.family import Feature, Missing, register
from rerank.features.statistics import inverse_document_frequency
from rerank.history.judged import HistoryQuery, IndexHistory
from rerank.history.learned_family import DocumentFamily, LearnedFamily, with_smoothed
from rerank.runtime.kernels import kernel
from rerank.types.query_rows import Floats, Ints, by_number, pointers, query_rows, rows_of_groups
from rerank.types.retriever import K1, B
from rerank.vectors.space import unit_vectors
from rerank.vectors.vectors import LSI


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
        ptr, docs, of_words = history.prepared(key, partial(_word_scores, history, hidden))
        scores = np.zeros(history.forward.n_docs)
        _add_by_word(query.words, query.freqs, ptr, docs, of_words, scores)
        return scores


@kernel()
def _add_by_word(words, weights, ptr, numbers, values, out):
    """Add to `out` the values of some words times their weights, at the numbers of documents or queries.

    ptr, numbers, values  of all words: values of word w are [ptr[w], ptr[w + 1])
    """
    for index in range(len(words)):
        for row in range(ptr[words[index]], ptr[words[index] + 1]):
            out[numbers[row]] += weights[index] * values[row]


def _word_scores(history: IndexHistory, hidden: Ints) -> tuple[Ints, NDArray[np.int32], Floats]:
    """Return for each word its documents and their BM25, over the fields of all judged queries but the hidden ones."""
    judged = history.judged.select(np.setdiff1d(np.arange(len(history.judged.query_ids)), hidden))
    n_docs = history.forward.n_docs
    pair_query = query_rows(judged.doc_ptr)
    rows, _ = rows_of_groups(judged.word_ptr, pair_query)
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
        cosines = np.zeros(len(history.judged.query_ids))
        _add_by_word(query.words, query.weights, ptr, queries, query_weights, cosines)
        return relevant_to_nearest(cosines, history, query, most=30, power=2)


def relevant_to_nearest(cosines: Floats, history: IndexHistory, query: HistoryQuery, most: int, power: int) -> Floats:
    """Return the sum of cosine^power * gain of each document over the `most` nearest queries, (n_docs,) float64.

    cosines  (n_queries,) of the judged queries, in which hidden ones are set to 0; one of 0 or less is not near
    power    2 or 4
    """
    judged = history.judged
    cosines[query.hidden] = 0.0
    out = np.zeros(history.forward.n_docs)
    _add_gains(cosines, most, power, judged.doc_ptr, judged.docs, judged.gains, out)
    return out


@kernel()
def _add_gains(cosines, most, power, doc_ptr, docs, gains, out):
    """Add cosine^power * gain to `out` (n_docs,) for the `most` queries of the greatest cosines above 0.

    doc_ptr, docs, gains  documents and gains of query q are [doc_ptr[q], doc_ptr[q + 1])
    """
    nearest = np.empty(most, np.int64)
    n_nearest = 0
    for query in range(len(cosines)):
        cosine = cosines[query]
        if not cosine > 0.0 or (n_nearest == most and cosine <= cosines[nearest[most - 1]]):
            continue
        index = min(n_nearest, most - 1)
        while index > 0 and cosines[nearest[index - 1]] < cosine:
            nearest[index] = nearest[index - 1]
            index -= 1
        nearest[index] = query
        n_nearest = min(n_nearest + 1, most)
    for query in nearest[:n_nearest]:
        weight = (cosines[query] ** 2) ** (power // 2)
        for row in range(doc_ptr[query], doc_ptr[query + 1]):
            out[docs[row]] += weight * gains[row]


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
def _fill_products(units, vector, out):
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
class JudgedPriorFeatures(LearnedFamily):
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
        of_hidden, _ = rows_of_groups(judged.doc_ptr, query.hidden)
        hidden = np.bincount(judged.docs[of_hidden], minlength=history.forward.n_docs)
        counts = prepared[query.docs] - hidden[query.docs]
        out[:, 0] = np.where((counts > 0) & (query.docs >= 0), counts, np.nan)

"""Past queries as a field of the document, scored as BM25.

    field(d)  the terms of all queries of the history to which d is relevant, one text after the other
    tf, len   occurrences of a term in field(d), and its tokens; df, N, avgdl  those of all documents with such a field

References
----------
Robertson & Zaragoza, Foundations and Trends in Information Retrieval 2009, eq. 3.15, in Lucene's variant; Nogueira,
Yang, Lin & Cho 2019 (documents expanded by queries).

The nearest judged queries of a query, and the documents that are relevant to them.

    cos(q, p)  cosine of the queries' vectors of (1 + ln tf) * ln(N / df); N and df are those of the whole document
    near(q)    the 30 queries of the history with the greatest cosine above 0, ties by query id

References
----------
Cetintas, Si & Yuan, JASIST 2011 (past queries for retrieval); Metzler et al., SIGIR 2009 (smoothing of sparse clicks).

The nearest judged queries of a query by latent semantic indexing, and the documents that are relevant to them.

    cos(q, p)   cosine of the queries' vectors in the space `lsi` of the index's vectors (`rerank.vectors.vectors`)
    near(q, n)  the n queries of the history with the greatest cosine above 0, ties by query id

References
----------
Deerwester et al., JASIS 1990; Cetintas, Si & Yuan, JASIST 2011 (past queries for retrieval).

How often a document was judged relevant, whatever the query.

"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.features.match import inverse_document_frequency
from rerank.features.recipe import Feature, Missing, register
from rerank.history.judged import DocumentFamily, HistoryQuery, IndexHistory, LearnedFamily, with_smoothed
from rerank.runtime.kernels import kernel
from rerank.types import Floats, Ints, joined_rows, pointers, query_rows
from rerank.types.ids import by_number
from rerank.vectors.vectors import LSI

K1 = 0.9
B = 0.4


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
        name = f"{type(self).__name__} {hidden.tobytes().hex()}"  # of one fold, or none
        ptr, docs, scores = history.prepared(name, partial(_word_scores, history, hidden))
        counts = np.diff(ptr)[query.words]
        rows, _ = joined_rows(ptr[query.words], counts)
        weights = np.repeat(query.freqs, counts) * scores[rows]
        return np.bincount(docs[rows], weights, history.n_docs).astype(np.float64, copy=False)


def _word_scores(history: IndexHistory, hidden: Ints) -> tuple[Ints, NDArray[np.int32], Floats]:
    """Return for each word its documents and their BM25, over the fields of all judged queries but the hidden ones."""
    judged = history.judged.select(np.setdiff1d(np.arange(history.judged.n_queries), hidden))
    n_docs = history.n_docs
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


NEAREST = 30  # judged queries
_LANES = 16


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
        """Return the queries of each word with their weights, and the documents of each query."""
        judged = history.judged
        ptr, order = by_number(judged.query_words, len(judged.words))
        queries = query_rows(judged.word_ptr)[order].astype(np.int32)
        return (ptr, queries, history.weights[order]), (judged.doc_ptr, judged.docs, judged.gains)

    def document_scores(self, prepared: Any, history: IndexHistory, query: HistoryQuery) -> Floats:
        """Return how relevant each document is to the nearest queries."""
        inverted, judgements = prepared
        cosines = np.zeros(len(judgements[0]) - 1)
        _add_cosines(query.words, query.weights, inverted, cosines)
        cosines[query.hidden] = 0.0
        sums: Floats = relevant_to_nearest(cosines, judgements, history.n_docs, NEAREST, 2)
        return sums


@kernel()
def _add_cosines(words, weights, inverted, out):  # type: ignore[no-untyped-def]
    """Add the cosine with each judged query to `out` (n_queries,)."""
    word_ptr, queries, query_weights = inverted
    for index in range(len(words)):
        for posting in range(word_ptr[words[index]], word_ptr[words[index] + 1]):
            out[queries[posting]] += weights[index] * query_weights[posting]


@kernel()
def relevant_to_nearest(cosines, judgements, n_docs, most, power):  # type: ignore[no-untyped-def]
    """Return the sum of cosine^power * gain of each document over the `most` nearest queries, (n_docs,) float64.

    cosines     (n_queries,) float64; a query with a cosine of 0 or less is not near
    judgements  doc_ptr and docs, the relevant documents of each query, and gains (n_judgements,) float64
    """
    doc_ptr, docs, gains = judgements
    nearest = np.empty(most, np.int64)
    count = 0
    for query in range(len(cosines)):
        value = cosines[query]
        if value <= 0.0 or (count == most and cosines[nearest[most - 1]] >= value):
            continue
        slot = min(count, most - 1)
        while slot > 0 and cosines[nearest[slot - 1]] < value:
            nearest[slot] = nearest[slot - 1]
            slot -= 1
        nearest[slot] = query
        count = min(count + 1, most)
    sums = np.zeros(n_docs, np.float64)
    for number in range(count):
        query = nearest[number]
        weight = cosines[query] ** power
        for pair in range(doc_ptr[query], doc_ptr[query + 1]):
            sums[docs[pair]] += weight * gains[pair]
    return sums


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
        """Return the vectors of the judged queries, of norm 1, and the documents of each query."""
        judged = history.judged
        units = unit_vectors(vectors.queries(LSI, history.terms))
        return units, (judged.doc_ptr, judged.docs, judged.gains)

    def document_scores(self, prepared: Any, history: IndexHistory, query: HistoryQuery) -> Floats:
        """Return how relevant each document is to the nearest queries."""
        units, judgements = prepared
        cosines = np.empty(len(units))
        _fill_products(units, unit_vectors(np.array([query.vector]))[0], cosines)
        cosines[query.hidden] = 0.0
        sums: Floats = relevant_to_nearest(cosines, judgements, history.n_docs, self.nearest, self.power)
        return sums


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


def unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors (n, dimensions) divided by their norms; a vector of zeros stays one.

    Dimensions are padded with zeros to a multiple of 16.
    """
    padded = np.zeros((len(vectors), -(-vectors.shape[1] // _LANES) * _LANES), dtype=np.float32)
    norms = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    padded[:, : vectors.shape[1]] = vectors / np.where(norms > 0.0, norms, 1.0)
    return padded


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
        return np.bincount(history.judged.docs, minlength=history.n_docs)

    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 1)."""
        judged = history.judged
        of_hidden, _ = joined_rows(judged.doc_ptr[query.hidden], np.diff(judged.doc_ptr)[query.hidden])
        counts = prepared - np.bincount(judged.docs[of_hidden], minlength=history.n_docs)
        out[:, 0] = np.where((counts > 0)[query.docs] & (query.docs >= 0), counts[query.docs], np.nan)

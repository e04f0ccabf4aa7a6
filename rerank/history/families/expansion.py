"""Past queries as a field of the document, scored as BM25.

    field(d)  the terms of all queries of the history to which d is relevant, one text after the other
    tf, len   occurrences of a term in field(d), and its tokens; df, N, avgdl  those of all documents with such a field

References
----------
Robertson & Zaragoza, Foundations and Trends in Information Retrieval 2009, eq. 3.15, in Lucene's variant; Nogueira,
Yang, Lin & Cho 2019 (documents expanded by queries).

"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, Missing
from rerank.features.match import inverse_document_frequency
from rerank.features.recipe import register
from rerank.history.base import DocumentFamily, with_smoothed
from rerank.history.judged import HistoryQuery, IndexHistory
from rerank.runtime.kernels import kernel
from rerank.types import Floats, Ints, joined_rows, pointers, query_rows

if TYPE_CHECKING:
    from rerank.vectors.vectors import Vectors

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
            cost=Cost.HISTORY,
        )
    )

    def prepare(self, history: IndexHistory, vectors: Vectors | None) -> Any:
        """Return nothing: the fields of documents depend on which judged queries are hidden."""
        return None

    def document_scores(
        self, prepared: Any, history: IndexHistory, query: HistoryQuery
    ) -> tuple[NDArray[np.int32], Floats]:
        """Return the documents whose field holds a word of the query, and their scores."""
        hidden = query.hidden
        name = f"{type(self).__name__} {hidden.tobytes().hex()}"  # of one fold, or none
        ptr, docs, scores = history.prepared(name, partial(_word_scores, history, hidden))
        found, sums = _sum(query.words, query.freqs, ptr, docs, scores, history.n_docs)
        return found, sums


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


@kernel()
def _sum(words, freqs, ptr, docs, scores, n_docs):  # type: ignore[no-untyped-def]
    """Return documents, and the sum of their scores over the words of the query."""
    n_postings = 0
    for word in words:
        n_postings += ptr[word + 1] - ptr[word]
    sums = np.zeros(n_docs, np.float64)
    touched = np.empty(min(n_postings, n_docs), np.int32)
    n_touched = 0
    for index in range(len(words)):
        for posting in range(ptr[words[index]], ptr[words[index] + 1]):
            doc = docs[posting]
            if sums[doc] == 0.0:
                touched[n_touched] = doc
                n_touched += 1
            sums[doc] += freqs[index] * scores[posting]
    out = np.empty(n_touched, np.float64)
    for number in range(n_touched):
        out[number] = sums[touched[number]]
    return touched[:n_touched], out

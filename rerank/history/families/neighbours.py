"""The nearest judged queries of a query, and the documents that are relevant to them.

    cos(q, p)  cosine of the queries' vectors of (1 + ln tf) * ln(N / df); N and df are those of the whole document
    near(q)    the 30 queries of the history with the greatest cosine above 0, ties by query id

References
----------
Cetintas, Si & Yuan, JASIST 2011 (past queries for retrieval); Metzler et al., SIGIR 2009 (smoothing of sparse clicks).

"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, Missing
from rerank.features.registry import register
from rerank.history.base import DocumentFamily, with_smoothed
from rerank.history.bound import HistoryQuery, IndexHistory
from rerank.runtime.kernels import kernel
from rerank.types import Floats

if TYPE_CHECKING:
    from rerank.vectors.vectors import Vectors

NEAREST = 30  # judged queries


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
            cost=Cost.HISTORY,
        )
    )

    def prepare(self, history: IndexHistory, vectors: Vectors | None) -> Any:
        """Return the queries of each word with their weights, and the documents of each query."""
        judged = history.judged
        ptr, queries, order = judged.by_word()
        return (ptr, queries, history.weights[order]), (judged.doc_ptr, judged.docs, judged.gains)

    def document_scores(
        self, prepared: Any, history: IndexHistory, query: HistoryQuery
    ) -> tuple[NDArray[np.int32], Floats]:
        """Return the documents that are relevant to the nearest queries, and their scores."""
        inverted, judgements = prepared
        cosines = np.zeros(len(judgements[0]) - 1)
        _add_cosines(query.words, query.weights, inverted, cosines)
        cosines[query.hidden] = 0.0
        docs, scores = relevant_to_nearest(cosines, judgements, history.n_docs, NEAREST, 2)
        return docs, scores


@kernel()
def _add_cosines(words, weights, inverted, out):  # type: ignore[no-untyped-def]
    """Add the cosine with each judged query to `out` (n_queries,)."""
    word_ptr, queries, query_weights = inverted
    for index in range(len(words)):
        for posting in range(word_ptr[words[index]], word_ptr[words[index] + 1]):
            out[queries[posting]] += weights[index] * query_weights[posting]


@kernel()
def relevant_to_nearest(cosines, judgements, n_docs, most, power):  # type: ignore[no-untyped-def]
    """Return the documents relevant to the `most` nearest queries, ascending, and the sum of cosine^power * gain.

    cosines     (n_queries,) float64; a query with a cosine of 0 or less is not near
    judgements  doc_ptr and docs, the relevant documents of each query, and gains (n_judgements,) float64
    """
    doc_ptr, docs, gains = judgements
    nearest, count = np.empty(most, np.int64), 0
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
    n_pairs = 0
    for number in range(count):
        n_pairs += doc_ptr[nearest[number] + 1] - doc_ptr[nearest[number]]
    sums, touched, n_touched = np.zeros(n_docs, np.float64), np.empty(n_pairs, np.int32), 0
    for number in range(count):
        query = nearest[number]
        weight = cosines[query] ** power
        for pair in range(doc_ptr[query], doc_ptr[query + 1]):
            doc = docs[pair]
            if sums[doc] == 0.0:
                touched[n_touched] = doc
                n_touched += 1
            sums[doc] += weight * gains[pair]
    chosen = np.sort(touched[:n_touched])
    out = np.empty(n_touched, np.float64)
    for number in range(n_touched):
        out[number] = sums[chosen[number]]
    return chosen, out

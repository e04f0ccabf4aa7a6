"""IBM Model 1: how likely the document's terms translate into those of the query, learned from judged pairs.

    S(d)       terms of d: all of its title, and the heaviest of the whole document (`rerank.history.collection`), each
               of weight p(w|d) = 1 / (|S(d)| + 1); the empty term, which translates too, has the same weight
    T(q|w)     probability that the term w of a document becomes the term q of a query
    pairs      (query, relevant document), of weight 1 / sqrt(number of documents relevant to the query)

One round of expectation maximisation, from a uniform T:

    c(q, w)  = sum over pairs of weight * tf(q) * p(w|d) T(q|w) / sum over w' of p(w'|d) T(q|w')
    T(q|w)   = c(q, w) / sum over q' of c(q', w)

Probabilities below LEAST are dropped at the end.

References
----------
Brown et al., Computational Linguistics 1993, section 4.2 (Model 1); Berger & Lafferty, SIGIR 1999 (for retrieval);
Boytsov & Kolter, ECIR 2021 (as a feature).

"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, Missing
from rerank.features.registry import register
from rerank.history.base import LearnedFamily
from rerank.history.bound import Arrays, HistoryQuery, IndexHistory, Part
from rerank.history.collection import DocTerms
from rerank.history.judged import Judged
from rerank.runtime.container import Stored, offsets
from rerank.runtime.elementary import log1p
from rerank.runtime.kernels import kernel
from rerank.runtime.threads import in_threads, row_parts
from rerank.types import Floats, Ints, pointers

if TYPE_CHECKING:
    from rerank.vectors.vectors import Vectors

ROUNDS = 4
LEAST = 2e-3  # probability that is kept
RATIO = 9.0  # weight of the translation against that of the queries' own distribution


@register("history.translation")
class TranslationFeatures(LearnedFamily):
    """How likely the document's terms translate into the query, by IBM Model 1."""

    scores = (
        Feature(
            name="history.translation",
            meaning="How much likelier the query is as a translation of the document than as any query.",
            formula="sum over t of tf(t) ln(1 + 9 * sum over w of p(w|d) T(t|w) / p(t)) / sum over t of tf(t); p(t) is "
            "the share of t in the judged queries",
            source="Brown et al. 1993, Model 1; Berger & Lafferty, SIGIR 1999",
            unit="nats",
            missing=(Missing.NO_HISTORY,),
            cost=Cost.DOCUMENT,
        ),
    )
    stored: ClassVar = {
        "ptr": offsets("n_words", "n_sources"),
        "sources": Stored(np.int32, ("n_sources",), 0, lambda sizes: sizes["n_terms"] - 1),
        "probabilities": Stored(np.float32, ("n_sources",), 0.0, 1.0 + 1e-6),
    }

    def learn(self, part: Part, history: IndexHistory, threads: int) -> Arrays:
        """Return T, by term of the query: pointers, source terms, probabilities."""
        return learn_translation(part.judged, history.sources, history.n_terms, threads)

    def prepare(self, part: Part, history: IndexHistory, vectors: Vectors | None) -> Any:
        """Return T and the share of each word in the queries."""
        learned = part.learned["history.translation"]
        counts = np.bincount(part.judged.query_words, part.judged.freqs, len(part.judged.words))
        return learned["ptr"], learned["sources"], learned["probabilities"], counts / max(counts.sum(), 1.0)

    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 1)."""
        sources = history.sources
        total = float(query.freqs.sum() + query.n_unknown)
        _score(
            query.words, query.freqs, total, prepared, (sources.ptr, sources.terms), history.n_terms, query.docs, out
        )


def learn_translation(judged: Judged, doc_terms: DocTerms, n_terms: int, threads: int = 1) -> dict[str, NDArray[Any]]:
    """Return T(q|w) as arrays: pointers by word of the queries, source terms (ascending) and probabilities."""
    word_ptr, queries, order = judged.by_word()
    weights = judged.freqs[order] / np.sqrt(np.maximum(np.diff(judged.doc_ptr), 1))[queries]
    given = ((word_ptr, queries, weights), (judged.doc_ptr, judged.docs), (doc_terms.ptr, doc_terms.terms), n_terms)
    n_words = len(judged.words)
    parts = [(part.start, min(part.stop, n_words)) for part in row_parts(n_words, threads) if part.start < n_words]
    counts = np.zeros(n_words, dtype=np.int64)
    in_threads(lambda part: _count_sources(*given, *part, counts), parts, threads)
    ptr = pointers(counts)
    sources = np.empty(ptr[-1], dtype=np.int32)
    in_threads(lambda part: _fill_sources(*given, *part, ptr, sources), parts, threads)
    probabilities, expected = np.ones(len(sources)), np.zeros(len(sources))
    for _ in range(ROUNDS):
        in_threads(lambda part: _expect(*given, *part, (ptr, sources, probabilities), expected), parts, threads)
        probabilities[:] = _normalised(sources, expected, n_terms)
    return _kept(ptr, sources, probabilities, n_terms)


def _normalised(sources: NDArray[np.int32], expected: Floats, n_terms: int) -> Floats:
    """Return the counts divided by their sum over each source term."""
    totals = np.bincount(sources, expected, n_terms + 1)
    return expected / np.where(totals > 0.0, totals, 1.0)[sources]


def _kept(ptr: Ints, sources: NDArray[np.int32], probabilities: Floats, n_terms: int) -> dict[str, NDArray[Any]]:
    """Return the entries with a probability of at least LEAST, without the empty term."""
    kept = np.flatnonzero((probabilities >= LEAST) & (sources < n_terms))
    return {
        "ptr": np.searchsorted(kept, ptr).astype(np.int64),
        "sources": sources[kept],
        "probabilities": probabilities[kept].astype(np.float32),
    }


@kernel()
def _count_sources(by_word, pairs, documents, n_terms, first, last, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the number of source terms of the words [first, last), the empty term included."""
    word_ptr, queries, _ = by_word
    doc_ptr, docs = pairs
    ptr, terms = documents
    seen = np.full(n_terms, -1, np.int64)
    for word in range(first, last):
        count = 0
        for posting in range(word_ptr[word], word_ptr[word + 1]):
            query = queries[posting]
            for pair in range(doc_ptr[query], doc_ptr[query + 1]):
                for index in range(ptr[docs[pair]], ptr[docs[pair] + 1]):
                    if seen[terms[index]] != word:
                        seen[terms[index]] = word
                        count += 1
        out[word] = count + 1


@kernel()
def _fill_sources(by_word, pairs, documents, n_terms, first, last, out_ptr, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the source terms of the words [first, last), ascending; the empty term is last."""
    word_ptr, queries, _ = by_word
    doc_ptr, docs = pairs
    ptr, terms = documents
    seen = np.full(n_terms, -1, np.int64)
    for word in range(first, last):
        end = out_ptr[word]
        for posting in range(word_ptr[word], word_ptr[word + 1]):
            query = queries[posting]
            for pair in range(doc_ptr[query], doc_ptr[query + 1]):
                for index in range(ptr[docs[pair]], ptr[docs[pair] + 1]):
                    if seen[terms[index]] != word:
                        seen[terms[index]] = word
                        out[end] = terms[index]
                        end += 1
        out[end] = n_terms
        out[out_ptr[word] : end].sort()


@kernel()
def _expect(by_word, pairs, documents, n_terms, first, last, table, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the expected counts of the entries of the words [first, last)."""
    word_ptr, queries, weights = by_word
    doc_ptr, docs = pairs
    ptr, terms = documents
    table_ptr, sources, probabilities = table
    T, counts = np.zeros(n_terms + 1, np.float64), np.zeros(n_terms + 1, np.float64)
    for word in range(first, last):
        for entry in range(table_ptr[word], table_ptr[word + 1]):
            T[sources[entry]] = probabilities[entry]
            counts[sources[entry]] = 0.0
        for posting in range(word_ptr[word], word_ptr[word + 1]):
            query = queries[posting]
            for pair in range(doc_ptr[query], doc_ptr[query + 1]):
                start, end, total = ptr[docs[pair]], ptr[docs[pair] + 1], T[n_terms]
                for index in range(start, end):
                    total += T[terms[index]]
                if total <= 0.0:
                    continue
                share = weights[posting] / total
                for index in range(start, end):
                    counts[terms[index]] += share * T[terms[index]]
                counts[n_terms] += share * T[n_terms]
        for entry in range(table_ptr[word], table_ptr[word + 1]):
            out[entry] = counts[sources[entry]]


@kernel()
def _score(words, freqs, total, table, documents, n_terms, rows, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_rows, 1)."""
    table_ptr, sources, probabilities, shares = table
    ptr, terms = documents
    sums, T = np.zeros(len(rows), np.float64), np.zeros(n_terms, np.float32)
    for index in range(len(words)):
        word = words[index]
        if shares[word] <= 0.0:
            continue
        for entry in range(table_ptr[word], table_ptr[word + 1]):
            T[sources[entry]] = probabilities[entry]
        for row in range(len(rows)):
            start, end, mass = ptr[rows[row]], ptr[rows[row] + 1], 0.0
            for position in range(start, end):
                mass += T[terms[position]]
            sums[row] += freqs[index] * log1p(RATIO * mass / ((end - start + 1) * shares[word]))
        for entry in range(table_ptr[word], table_ptr[word + 1]):
            T[sources[entry]] = 0.0
    for row in range(len(rows)):
        if sums[row] > 0.0:
            out[row, 0] = sums[row] / total

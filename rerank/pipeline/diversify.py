"""Diversity: the first documents of a run in an order that repeats less.

mmr     maximal marginal relevance: next is the document with the greatest
        weight * relevance - (1 - weight) * greatest cosine to a document that was chosen
xquad   explicit query aspect diversification: next is the document with the greatest
        weight * relevance + (1 - weight) * sum over aspects a of P(a) P(d | a) product over chosen e of 1 - P(e | a)

relevance  the run's score on a scale from the query's least (0) to its greatest (1) of the reordered documents
weight     that of relevance, in both: it is lambda in MMR's paper and 1 - lambda in xQuAD's
aspect     a cluster of the query's own documents, as no further text is needed then: the document that is farthest from
           all earlier ones begins the next, the first document of the run the first; P(d | a) is the cosine to the
           document that began a, at least 0, over its sum over the aspects; P(a) is the share of relevance in P(d | a)

References
----------
J. Carbonell and J. Goldstein, The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing
Summaries, SIGIR 1998.
R. Santos, C. Macdonald and I. Ounis, Exploiting Query Reformulations for Web Search Result Diversification, WWW 2010.
T. Gonzalez, Clustering to Minimize the Maximum Intercluster Distance, 1985 (documents that begin aspects).

The last step of a ranking: its first documents in an order that repeats less.

"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.features.extract import doc_numbers
from rerank.files.lists import RunLike, run_of
from rerank.index.index import Index
from rerank.runtime.kernels import kernel
from rerank.runtime.numerics import dot
from rerank.types import Floats, Ints, RankingData, Run
from rerank.types.retriever import CONTENTS
from rerank.vectors.space import ENCODER, LSI

DEPTH = 100
MOST_DOCUMENTS = 1_000  # of a query: time grows with their square
N_ASPECTS = 10
METHODS = ("mmr", "xquad")
_GRAMMAR = re.compile(r"\s*(\w+)\s*(?:\(\s*([^\s,()]+)\s*(?:,\s*(\w+)\s*)?\))?\s*")
Vectors = Callable[[int, Ints], NDArray[np.float32]]  # number of a query, some rows of the run -> their vectors
FEATURES = "features"


@dataclass(frozen=True)
class Diversifier:
    """A method with its parameters, e.g. `mmr(0.7)` or `xquad(0.5,lsi)`.

    method  mmr or xquad
    weight  of relevance, from 0 to 1
    space   of the vectors that are compared; None is the best that there is
    """

    method: str
    weight: float = 0.7
    space: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return what `NAME(WEIGHT)` or `NAME(WEIGHT,SPACE)` describes."""
        match = _GRAMMAR.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise InvalidInputError(
                f"diversify: expected METHOD(WEIGHT) or METHOD(WEIGHT,SPACE), got {shown(text)}. Write e.g. mmr(0.7)."
            )
        method, weight, space = match.groups()
        if method not in METHODS:
            raise unknown_name("diversify", method, METHODS)
        try:
            number = cls.weight if weight is None else float(weight)
        except ValueError:
            number = np.nan
        if not 0.0 <= number <= 1.0:
            raise InvalidInputError(
                f"diversify: expected a weight of relevance from 0 to 1, got {shown(weight)}. Write e.g. {method}(0.7)."
            )
        return cls(method, number, space)

    def reorder(self, run: Run, vectors: Vectors, k: int = DEPTH) -> Run:
        """Return the run with the first k documents of each query chosen one after the other.

        Their scores are the values with which they were chosen; those of the others fall from there, by 1 each.
        """
        run = run.take(run.trec_order())
        order = np.arange(run.n_rows)
        scores = np.empty(run.n_rows, dtype=np.float32)
        for query, (first, last) in enumerate(zip(run.query_ptr[:-1], run.query_ptr[1:], strict=True)):
            n = min(k, int(last - first))
            rows = np.arange(first, first + n)
            chosen, values = self.choose(run.scores[rows], vectors(query, rows))
            order[rows] = first + chosen
            scores[rows] = values
            scores[first + n : last] = (values[-1] if n else 0.0) - 1.0 - np.arange(last - first - n)
        return replace(run.take(order), scores=scores.astype(np.float64))

    def choose(self, scores: Floats, vectors: NDArray[np.float32]) -> tuple[Ints, NDArray[np.float32]]:
        """Return the documents of a query in their new order, and the strictly falling values of the choices.

        Shapes: scores float64 (n_docs,), falling; vectors float32 (n_docs, dimensions).
        """
        order = np.empty(len(scores), dtype=np.int64)
        values = np.empty(len(scores), dtype=np.float32)
        spread = scores.max(initial=-np.inf) - scores.min(initial=np.inf)
        relevance = (scores - scores.min(initial=np.inf)) / spread if spread > 0.0 else np.ones(len(scores))
        units = np.zeros_like(vectors, dtype=np.float32)
        _fill_units(np.ascontiguousarray(vectors, dtype=np.float32), units)
        if self.method == "mmr":
            _fill_mmr(relevance, units, self.weight, order, values)
        else:
            aspects = np.empty((N_ASPECTS, len(scores)))
            n_aspects = _fill_aspects(units, aspects)
            _fill_xquad(relevance, aspects[:n_aspects], self.weight, order, values)
        return order, values


@kernel()
def _fill_units(vectors, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the vectors (n_docs, dimensions) at length 1; a zero vector remains."""
    for doc in range(vectors.shape[0]):
        norm = np.sqrt(dot(vectors[doc], vectors[doc]))
        if norm > 0.0:
            for i in range(vectors.shape[1]):
                out[doc, i] = vectors[doc, i] / norm


@kernel()
def _fill_mmr(relevance, units, weight, order, values):  # type: ignore[no-untyped-def]
    """Fill order (n_docs,) int64 and values (n_docs,) float32 by maximal marginal relevance; ties keep the order."""
    n = relevance.shape[0]
    nearest = np.zeros(n)
    taken = np.zeros(n, np.bool_)
    for position in range(n):
        best = -1
        best_value = 0.0
        for doc in range(n):
            value = weight * relevance[doc] - (1.0 - weight) * nearest[doc]
            if not taken[doc] and (best < 0 or value > best_value):
                best = doc
                best_value = value
        taken[best] = True
        order[position] = best
        value = np.float32(best_value)
        if position > 0 and value >= values[position - 1]:
            value = np.nextafter(values[position - 1], np.float32(-np.inf))
        values[position] = value
        for doc in range(n):
            if not taken[doc]:
                cosine = np.float64(dot(units[best], units[doc]))
                if position == 0 or cosine > nearest[doc]:
                    nearest[doc] = cosine


@kernel()
def _fill_aspects(units, out):  # type: ignore[no-untyped-def]
    """Fill rows of `out` (most_aspects, n_docs) with P(d | aspect), and return how many aspects there are."""
    n = units.shape[0]
    n_aspects = 0
    nearest = np.full(n, -2.0)
    first = 0
    while n_aspects < out.shape[0] and n > 0:
        least = 1.0 - 1e-6
        following = -1
        for doc in range(n):
            cosine = np.float64(dot(units[first], units[doc]))
            out[n_aspects, doc] = max(cosine, 0.0)
            nearest[doc] = max(nearest[doc], cosine)
            if nearest[doc] < least:
                least = nearest[doc]
                following = doc
        nearest[first] = 1.0
        n_aspects += 1
        if following < 0:
            break
        first = following
    for doc in range(n):
        total = 0.0
        for aspect in range(n_aspects):
            total += out[aspect, doc]
        for aspect in range(n_aspects):
            out[aspect, doc] = out[aspect, doc] / total if total > 0.0 else 0.0
    return n_aspects


@kernel()
def _fill_xquad(relevance, aspects, weight, order, values):  # type: ignore[no-untyped-def]
    """Fill order (n_docs,) int64 and values (n_docs,) float32 by xQuAD; aspects (n_aspects, n_docs) float64."""
    n = relevance.shape[0]
    n_aspects = aspects.shape[0]
    left = np.zeros(n_aspects)
    taken = np.zeros(n, np.bool_)
    total = 0.0
    for aspect in range(n_aspects):
        for doc in range(n):
            left[aspect] += relevance[doc] * aspects[aspect, doc]
        total += left[aspect]
    for aspect in range(n_aspects):
        left[aspect] = left[aspect] / total if total > 0.0 else 1.0 / n_aspects
    for position in range(n):
        best = -1
        best_value = 0.0
        for doc in range(n):
            if taken[doc]:
                continue
            novelty = 0.0
            for aspect in range(n_aspects):
                novelty += left[aspect] * aspects[aspect, doc]
            value = weight * relevance[doc] + (1.0 - weight) * novelty
            if best < 0 or value > best_value:
                best = doc
                best_value = value
        taken[best] = True
        order[position] = best
        value = np.float32(best_value)
        if position > 0 and value >= values[position - 1]:
            value = np.nextafter(values[position - 1], np.float32(-np.inf))
        values[position] = value
        for aspect in range(n_aspects):
            left[aspect] *= 1.0 - aspects[aspect, best]


def diversify(source: Index | RankingData | str | Path, run: RunLike, method: str = "mmr(0.7)", k: int = DEPTH) -> Run:
    """Return a run whose first documents repeat less: by maximal marginal relevance, or xQuAD.

    Parameters
    ----------
    source : Index, RankingData or path
        What has the documents' vectors: the index or its folder, or data with the features of all rows of the run.
    run : Run, mapping, DataFrame or path
        The ranking.
    method : str
        `mmr(WEIGHT)` or `xquad(WEIGHT)`, with the weight of relevance from 0 to 1; the remaining weight is that of
        what is new. `mmr(0.7,lsi)` names the vectors: `encoder` or `lsi` of an index, by default the former where it
        has one; `features` of data, which are standardised within the query.
    k : int
        Number of first documents of each query that are reordered; the others follow in their order.

    Returns
    -------
    Run
        The run; scores are the values with which documents were chosen.

    Raises
    ------
    InvalidInputError
        For another method, vectors that the index does not have, and a document that it does not hold.

    References
    ----------
    J. Carbonell and J. Goldstein, The Use of MMR, SIGIR 1998.
    R. Santos, C. Macdonald and I. Ounis, Exploiting Query Reformulations, WWW 2010.

    """
    diversifier = Diversifier.parse(method)
    ranking = run_of(run)
    if not isinstance(k, int | np.integer) or not 1 <= k <= MOST_DOCUMENTS:
        raise InvalidInputError(f"k: expected a whole number from 1 to {MOST_DOCUMENTS}, got {k!r}. Pass e.g. 100.")
    if isinstance(source, str | Path):
        with Index.open(source) as index:
            return diversify(index, ranking, method, k)
    ranking = ranking.take(ranking.trec_order())
    named = diversifier.space
    if isinstance(source, RankingData):
        if named not in {None, FEATURES}:
            raise unknown_name("diversify: vectors", str(named), [FEATURES])
        return diversifier.reorder(ranking, _features(source, ranking), int(k))
    return diversifier.reorder(ranking, _vectors(source, ranking, named), int(k))


def _vectors(index: Index, run: Run, space: str | None) -> Callable[[int, Ints], NDArray[np.float32]]:
    """Return a function to the vectors of rows of a run."""
    space = space or (ENCODER if index.encoder is not None else LSI)
    if space not in {ENCODER, LSI}:
        raise unknown_name("diversify: vectors", space, [ENCODER, LSI])
    if (index.encoder if space == ENCODER else index.vectors) is None:
        raise InvalidInputError(
            f"diversify: expected vectors of {space}, got an index without. Learn them (`rerank vectors INDEX`), or "
            "bind an encoder."
        )
    docs = doc_numbers(index.forward, run)
    if space == ENCODER:
        documents = index.encoded_documents()
        return lambda query, rows: documents[docs[rows]]
    vectors = index.vectors
    return lambda query, rows: vectors.documents(LSI, CONTENTS, docs[rows])  # type: ignore[union-attr]


def _features(data: RankingData, run: Run) -> Callable[[int, Ints], NDArray[np.float32]]:
    """Return a function to the features of rows of a run, standardised over the rows; a missing one is the mean."""
    numbers = {
        (query_id, doc_id): row
        for query_id in data
        for row, doc_id in enumerate(data.doc_ids[data.rows(query_id)].tolist(), data.rows(query_id).start)
    }
    names = run.query_ids.tolist()

    def vectors(query: int, rows: Ints) -> NDArray[np.float32]:
        ids = run.doc_ids[rows].tolist()
        missing = next((doc_id for doc_id in ids if (names[query], doc_id) not in numbers), None)
        if missing is not None:
            raise InvalidInputError(
                f"data: expected the features of every document of the run, got none of {shown(missing)} for query "
                f"{shown(names[query])}. Give the data of the run."
            )
        X = np.asarray(data.X[[numbers[names[query], doc_id] for doc_id in ids]], dtype=np.float64)
        known = np.isfinite(X)
        counts = np.maximum(known.sum(axis=0), 1)
        centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / counts, 0.0)
        deviation = np.sqrt((centred**2).sum(axis=0) / counts)
        standard: Floats = np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0)
        return standard.astype(np.float32)

    return vectors

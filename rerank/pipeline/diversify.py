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

"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.features.extract import doc_numbers
from rerank.files.lists import RunLike, run_of
from rerank.index.index import Index, opened
from rerank.runtime.kernels import kernel
from rerank.runtime.numerics import dot
from rerank.types import Floats, Ints, Run
from rerank.types.retriever import CONTENTS
from rerank.vectors.vectors import ENCODER, LSI

DEPTH = 100
MOST_DOCUMENTS = 1_000  # of a query: time grows with their square
N_ASPECTS = 10
METHODS = ("mmr", "xquad")
_GRAMMAR = re.compile(r"\s*(\w+)\s*(?:\(\s*([^\s,()]+)\s*(?:,\s*(\w+)\s*)?\))?\s*")
Vectors = Callable[[Ints], NDArray[np.float32]]  # of some rows of the run


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
        """Return a run in trec_eval's order with the first k documents of each query chosen one after the other.

        Their scores are the values with which they were chosen; those of the others fall from there, by 1 each.
        """
        order = np.arange(run.n_rows)
        scores = np.empty(run.n_rows, dtype=np.float32)
        for first, last in pairwise(run.query_ptr.tolist()):
            rows = np.arange(first, min(first + k, last))
            chosen, values = self.choose(run.scores[rows], vectors(rows))
            order[rows] = first + chosen
            scores[rows] = values
            n_others = last - first - len(rows)
            scores[last - n_others : last] = (values[-1] if len(rows) else 0.0) - 1.0 - np.arange(n_others)
        return replace(run.take(order), scores=scores.astype(np.float64))

    def choose(self, scores: Floats, vectors: NDArray[np.float32]) -> tuple[Ints, NDArray[np.float32]]:
        """Return the documents of a query in their new order, and the strictly falling values of the choices.

        Shapes: scores float64 (n_docs,), falling; vectors float32 (n_docs, dimensions).
        """
        n_docs = len(scores)
        order = np.empty(n_docs, dtype=np.int64)
        values = np.empty(n_docs, dtype=np.float32)
        if n_docs == 0:
            return order, values
        spread = scores.max() - scores.min()
        relevance = (scores - scores.min()) / spread if spread > 0.0 else np.ones(n_docs)
        units = np.zeros_like(vectors, dtype=np.float32)
        _fill_units(np.ascontiguousarray(vectors, dtype=np.float32), units)
        novelty = _Distances(units) if self.method == "mmr" else _Aspects(units, relevance)
        free = np.ones(n_docs, dtype=np.bool_)
        for position in range(n_docs):
            value = self.weight * relevance + (1.0 - self.weight) * novelty.values
            chosen = int(np.where(free, value, -np.inf).argmax())
            free[chosen] = False
            order[position] = chosen
            values[position] = value[chosen]
            if position > 0:
                values[position] = min(values[position], np.nextafter(values[position - 1], np.float32(-np.inf)))
            novelty.add(chosen)
        return order, values


class _Distances:
    """What maximal marginal relevance adds for a document: minus its greatest cosine to a chosen one, at first 0.

    values  (n_docs,) float64
    """

    def __init__(self, units: NDArray[np.float32]) -> None:
        self._units = units
        self._nearest = np.full(len(units), -np.inf)
        self.values = np.zeros(len(units))

    def add(self, doc: int) -> None:
        """Take a document as chosen."""
        self._nearest = np.maximum(self._nearest, _cosines(self._units, doc))
        self.values = -self._nearest


class _Aspects:
    """What xQuAD adds for a document: its share in the aspects that the chosen documents leave open.

    values  (n_docs,) float64
    """

    def __init__(self, units: NDArray[np.float32], relevance: Floats) -> None:
        rows: list[Floats] = []
        nearest = np.full(len(units), -np.inf)
        first = 0
        while len(rows) < N_ASPECTS and (not rows or nearest[first] < 1.0 - 1e-6):
            cosines = _cosines(units, first)
            rows.append(np.maximum(cosines, 0.0))
            nearest = np.maximum(nearest, cosines)
            nearest[first] = 1.0
            first = int(nearest.argmin())
        shares = np.array(rows)
        total = shares.sum(axis=0)
        self._shares = np.divide(shares, total, out=np.zeros_like(shares), where=total > 0.0)
        left = (relevance * self._shares).sum(axis=1)
        self._left = left / left.sum() if left.sum() > 0.0 else np.full(len(left), 1.0 / len(left))
        self.values = (self._left[:, None] * self._shares).sum(axis=0)

    def add(self, doc: int) -> None:
        """Take a document as chosen."""
        self._left = self._left * (1.0 - self._shares[:, doc])
        self.values = (self._left[:, None] * self._shares).sum(axis=0)


def _cosines(units: NDArray[np.float32], doc: int) -> Floats:
    """Return the cosine of each document with one of them, (n_docs,)."""
    cosines = np.empty(len(units))
    _fill_products(units, units[doc], cosines)
    return cosines


@kernel()
def _fill_units(vectors, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the vectors (n_docs, dimensions) at length 1; a zero vector remains."""
    for doc in range(vectors.shape[0]):
        norm = np.sqrt(dot(vectors[doc], vectors[doc]))
        if norm > 0.0:
            for i in range(vectors.shape[1]):
                out[doc, i] = vectors[doc, i] / norm


@kernel()
def _fill_products(vectors, vector, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_docs,) float64 with the products of vectors (n_docs, dimensions) and one."""
    for doc in range(vectors.shape[0]):
        out[doc] = dot(vectors[doc], vector)


def diversify(index: Index | str | Path, run: RunLike, method: str = "mmr(0.7)", k: int = DEPTH) -> Run:
    """Return a run whose first documents repeat less: by maximal marginal relevance, or xQuAD.

    Parameters
    ----------
    index : Index or path
        The index, which has the documents' vectors, or its folder.
    run : Run, mapping, DataFrame or path
        The ranking.
    method : str
        `mmr(WEIGHT)` or `xquad(WEIGHT)`, with the weight of relevance from 0 to 1; the remaining weight is that of
        what is new. `mmr(0.7,lsi)` names the vectors: `encoder` or `lsi`, by default the former where the index has
        one.
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
    if not isinstance(k, int | np.integer) or not 1 <= k <= MOST_DOCUMENTS:
        raise InvalidInputError(f"k: expected a whole number from 1 to {MOST_DOCUMENTS}, got {k!r}. Pass e.g. 100.")
    ranking = run_of(run)
    ranking = ranking.take(ranking.trec_order())
    with opened(index) as source:
        return diversifier.reorder(ranking, _vectors(source, ranking, diversifier.space), int(k))


def _vectors(index: Index, run: Run, space: str | None) -> Vectors:
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
        return lambda rows: documents[docs[rows]]
    vectors = index.vectors
    return lambda rows: vectors.documents(LSI, CONTENTS, docs[rows])  # type: ignore[union-attr]

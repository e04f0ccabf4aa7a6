"""Diversity: the first documents of a run in an order that repeats less, by maximal marginal relevance (MMR).

The next document is the one with the greatest

    weight * relevance - (1 - weight) * greatest cosine to a document that is already chosen

relevance  the run's score, scaled to 0 for the least and 1 for the greatest score of the query's reordered documents
weight     weight of relevance, lambda in the paper

J. Carbonell and J. Goldstein, The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing
Summaries, SIGIR 1998.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, check_known, shown
from rerank.features.extract import doc_numbers
from rerank.files.inputs import RunLike, run_of
from rerank.index.index import Index, opened
from rerank.retrieval.fusion import min_max
from rerank.runtime.elementary import dot
from rerank.runtime.fields import Whole, read_at
from rerank.runtime.kernels import kernel
from rerank.types import CONTENTS, Floats, Ints, Run
from rerank.vectors.vectors import ENCODER, LSI

DIVERSIFIED = 100  # first documents of a query that are reordered, where their number is not given
DEFAULT_WEIGHT = 0.7
MOST_DIVERSIFIED = 1_000  # of a query; time grows with the square of their number
_GRAMMAR = re.compile(r"\s*mmr\s*(?:\(\s*(\d+(?:\.\d+)?|\.\d+)\s*(?:,\s*(\w+)\s*)?\))?\s*")
VectorsOfRows = Callable[[Ints], NDArray[np.float32]]  # from rows of the run to their vectors


def parse_method(text: str) -> tuple[float, str | None]:
    """Return the weight of relevance and the name of the vectors of `mmr(WEIGHT)` or `mmr(WEIGHT,SPACE)`."""
    match = _GRAMMAR.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidInputError(
            f"diversify: expected mmr(WEIGHT) or mmr(WEIGHT,SPACE), got {shown(text)}. Write e.g. mmr(0.7)."
        )
    weight = float(match[1] or DEFAULT_WEIGHT)
    if weight > 1.0:
        raise InvalidInputError(
            f"diversify: expected a weight of relevance from 0 to 1, got {shown(match[1])}. Write e.g. mmr(0.7)."
        )
    return weight, match[2]


def diversified(run: Run, vectors: VectorsOfRows, weight: float, k: int = DIVERSIFIED) -> Run:
    """Return a run, whose rows are in trec_eval's order, with the first k documents of each query reordered by MMR.

    Their scores are the values by which they were chosen; the scores of the others go on from there, falling by 1 each.
    """
    order = np.arange(run.n_rows)
    scores = np.empty(run.n_rows, dtype=np.float32)
    for first, last in pairwise(run.query_ptr.tolist()):
        rows = np.arange(first, min(first + k, last))
        chosen, values = choose(run.scores[rows], vectors(rows), weight)
        order[rows] = first + chosen  # `choose` numbers the documents of one query
        scores[rows] = values
        n_others = last - first - len(rows)
        scores[last - n_others : last] = (values[-1] if len(rows) else 0.0) - 1.0 - np.arange(n_others)
    return replace(run.take(order), scores=scores.astype(np.float64))


def choose(scores: Floats, vectors: NDArray[np.float32], weight: float) -> tuple[Ints, NDArray[np.float32]]:
    """Return the documents of a query in their new order, and the strictly falling values of the choices.

    Shapes: scores float64 (n_docs,), falling; vectors float32 (n_docs, dimensions).
    """
    n_docs = len(scores)
    order = np.empty(n_docs, dtype=np.int64)
    values = np.empty(n_docs, dtype=np.float32)
    if n_docs == 0:
        return order, values
    relevance = min_max(scores, np.zeros(1, np.int64), np.array([n_docs]))
    units = np.zeros_like(vectors, dtype=np.float32)
    _fill_units(np.ascontiguousarray(vectors, dtype=np.float32), units)
    cosines = np.empty(n_docs)
    nearest = np.full(n_docs, -np.inf)  # greatest cosine to a chosen document
    marginal = weight * relevance
    limit = np.float32(np.inf)  # of the next value, so that values strictly fall
    for position in range(n_docs):
        chosen = int(marginal.argmax())
        order[position] = chosen
        values[position] = limit = min(np.float32(marginal[chosen]), limit)
        limit = np.nextafter(limit, np.float32(-np.inf))
        _fill_products(units, units[chosen], cosines)
        nearest = np.maximum(nearest, cosines)
        marginal = weight * relevance - (1.0 - weight) * nearest
        marginal[order[: position + 1]] = -np.inf
    return order, values


@kernel()
def _fill_units(vectors, out):
    """Fill `out` with the vectors (n_docs, dimensions), scaled to length 1; a zero vector stays zero."""
    for doc in range(vectors.shape[0]):
        norm = np.sqrt(dot(vectors[doc], vectors[doc]))
        if norm > 0.0:
            for i in range(vectors.shape[1]):
                out[doc, i] = vectors[doc, i] / norm


@kernel()
def _fill_products(vectors, vector, out):
    """Fill `out` (n_docs,) float64 with the products of vectors (n_docs, dimensions) and one."""
    for doc in range(vectors.shape[0]):
        out[doc] = dot(vectors[doc], vector)


def diversify(index: Index | str | Path, run: RunLike, method: str = "mmr(0.7)", k: int = DIVERSIFIED) -> Run:
    """Return a run whose first documents repeat less, by maximal marginal relevance.

    Parameters
    ----------
    index : Index or path
        The index, which has the documents' vectors, or its folder.
    run : Run, mapping, DataFrame or path
        The ranking.
    method : str
        `mmr(WEIGHT)`, with the weight of relevance from 0 to 1; the remaining weight is for novelty.
        `mmr(0.7,lsi)` names the vectors: `encoder` or `lsi`, by default the former where the index has one.
    k : int
        Number of first documents of each query that are reordered; the others follow in their order.

    Returns
    -------
    Run
        The run; scores are the values by which documents were chosen.

    Raises
    ------
    InvalidInputError
        For another method, vectors that the index does not have, and a document that it does not hold.

    References
    ----------
    J. Carbonell and J. Goldstein, The Use of MMR, SIGIR 1998.

    """
    weight, space = parse_method(method)
    k = read_at("k", Whole(1, MOST_DIVERSIFIED), k)
    ranking = run_of(run)
    ranking = ranking.take(ranking.trec_order())
    with opened(index) as source:
        return diversified(ranking, _vectors(source, ranking, space), weight, k)


def _vectors(index: Index, run: Run, space: str | None) -> VectorsOfRows:
    """Return the function that returns the vectors of rows of a run."""
    space = space or (ENCODER if index.encoder is not None else LSI)
    check_known("diversify: vectors", space, [ENCODER, LSI])
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

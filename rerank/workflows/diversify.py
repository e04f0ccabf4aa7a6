"""The last step of a ranking: its first documents in an order that repeats less."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rerank.combination.diversity import DEPTH, MOST_DOCUMENTS, Diversifier
from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.features.inputs import doc_numbers
from rerank.files.records import RunLike, run_of
from rerank.types import Floats, Ints, RankingData, Run
from rerank.types.retriever import CONTENTS
from rerank.vectors.space import ENCODER, LSI
from rerank.workflows.index import Index

FEATURES = "features"


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
    diversifier, ranking = Diversifier.parse(method), run_of(run)
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

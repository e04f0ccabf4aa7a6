"""Vectors of queries with those of documents, as the families of features are given them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types import ForwardIndex, Ints
from rerank.vectors.vectors import ENCODER, Vectors


@dataclass(frozen=True, eq=False)
class QueryVectors:
    """Vectors of some queries.

    Parameters
    ----------
    vectors : Vectors or None
        Vectors of terms and documents.
    queries : mapping from str to ndarray of shape (n_queries, dimensions) and dtype float32
        Vectors of the queries, by space; zeros where a query has none.
    encoded : ndarray of shape (n_docs, dimensions) and dtype float32, or None
        Vectors of the documents by an encoder.

    """

    vectors: Any
    queries: Mapping[str, NDArray[np.float32]]
    encoded: NDArray[np.float32] | None = None

    def documents(self, space: str, of_field: str, docs: Ints) -> tuple[NDArray[np.float32], Ints]:
        """Return an array of vectors of documents, and the row of each document in it, (n,) int64."""
        stored = self.vectors.stored.get((space, of_field))
        if stored is not None:
            return stored, docs
        distinct, rows = np.unique(docs, return_inverse=True)
        return self.vectors.documents(space, of_field, distinct), rows


@dataclass(frozen=True, eq=False)
class Encoded:
    """Vectors of an encoder.

    Parameters
    ----------
    name : str
        Name of the encoder.
    documents : ndarray of shape (n_docs, dimensions) and dtype float32
        Vectors of the documents of the index.
    queries : mapping from str to ndarray of shape (dimensions,) and dtype float32
        Vectors of the queries, by query id.

    """

    name: str
    documents: NDArray[np.float32]
    queries: Mapping[str, NDArray[np.float32]]

    def of_queries(self, query_ids: Iterable[str]) -> NDArray[np.float32]:
        """Return the vectors of some queries, (n_queries, dimensions) float32."""
        rows = [self.queries[query_id] for query_id in query_ids]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.documents.shape[1])


def query_vectors(
    vectors: Vectors | None,
    encoded: Encoded | None,
    forward: ForwardIndex,
    query_ids: Iterable[str],
    query_terms: Sequence[Sequence[str]],
) -> QueryVectors | None:
    """Return the vectors of queries; `forward` are the arrays of the index, or of texts that it does not hold."""
    queries: dict[str, NDArray[np.float32]] = {}
    if vectors is not None:
        queries = {name: space.queries(vectors.forward, query_terms) for name, space in vectors.spaces.items()}
    if encoded is not None:
        queries[ENCODER] = encoded.of_queries(query_ids)
    elif vectors is None:
        return None
    return QueryVectors(
        vectors=None if vectors is None else vectors.on(forward),
        queries=queries,
        encoded=None if encoded is None else encoded.documents,
    )

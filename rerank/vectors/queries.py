"""Vectors of queries beside those of documents: what the families of features are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rerank.types.arrays import Ints
from rerank.types.forward import ForwardIndex
from rerank.vectors.vectors import Vectors


@dataclass(frozen=True, eq=False)
class QueryVectors:
    """Vectors of some queries.

    Parameters
    ----------
    vectors : Vectors
        Vectors of the documents.
    queries : mapping from str to ndarray of shape (n_queries, dimensions) and dtype float32
        Vectors of the queries, by space; zeros where a query has none.

    """

    vectors: Vectors
    queries: Mapping[str, NDArray[np.float32]]

    def of_queries(self, first: int, last: int) -> QueryVectors:
        """Return those of the queries [first, last)."""
        return replace(self, queries={space: array[first:last] for space, array in self.queries.items()})

    def documents(self, space: str, of_field: str, docs: Ints) -> tuple[NDArray[np.float32], Ints]:
        """Return an array of vectors of documents, and the row of each document in it, (n,) int64."""
        stored = self.vectors.stored.get((space, of_field))
        if stored is not None:
            return stored, docs
        distinct, rows = np.unique(docs, return_inverse=True)
        return self.vectors.documents(space, of_field, distinct), rows


def query_vectors(vectors: Vectors, forward: ForwardIndex, query_terms: Sequence[Sequence[str]]) -> QueryVectors:
    """Return the vectors of queries; `forward` are the arrays of the index, or of texts that it does not hold."""
    queries = {name: space.queries(vectors.forward, query_terms) for name, space in vectors.spaces.items()}
    return QueryVectors(vectors.on(forward), queries)

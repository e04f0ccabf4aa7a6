"""Queries mapped to the vectors of the documents that judged queries have: the family `history.map`.

With p, the vector of norm 1 of a judged query, and r(p), the mean of those of its relevant documents weighted by their
labels, in the first 200 dimensions of the space `lsi` of the index's vectors, N minimises

    sum over p of |p' N - r(p)'|^2 + s * |N - c * I|^2

c  mean of p' r(p)
s  300 times the mean, over the dimensions, of the squares of p: the map is that of 300 queries that it leaves as they
   are, and of the judged ones

References
----------
Bai et al., Learning to rank with (a lot of) word features, Information Retrieval 2010.

"""

from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.features.families.cosines import cosine_feature, fill_cosines
from rerank.features.family import Missing, register
from rerank.history.judged import HistoryQuery, IndexHistory
from rerank.history.learned_family import LearnedFamily
from rerank.runtime.products import array_dot, cross_product, inverse_matrix, product
from rerank.types import CONTENTS, Floats, Ints
from rerank.vectors.query_vectors import QueryVectors
from rerank.vectors.space import unit_vectors
from rerank.vectors.vectors import LSI

DIMENSIONS = 200
UNMAPPED = 300  # queries that the map leaves as they are


class Pairs(NamedTuple):
    """Judged queries and their relevant documents.

    queries, relevant  (n_queries, dimensions) float64 vectors of norm 1, and means of such; zeros where one is unknown
    vectors            vectors of the documents, and their checksum
    """

    queries: Floats
    relevant: Floats
    vectors: QueryVectors


@register("history.map")
class MappedQueryFeatures(LearnedFamily):
    """Cosine of the document and the query, which is mapped as judged queries to their relevant documents."""

    needs_space: ClassVar[str] = LSI
    scores = (
        cosine_feature(
            name="history.map",
            meaning="Cosine of document and query in latent semantics, where the query is mapped to relevant documents "
            "as judged queries teach.",
            formula="cos(N' q, d); N minimises sum over p of |p' N - r(p)'|^2 + s * |N - c * I|^2",
            source="Bai et al., Information Retrieval 2010",
            missing=(Missing.NO_HISTORY,),
        ),
    )

    def prepare(self, history: IndexHistory, vectors: Any) -> Pairs:
        """Return the vectors of judged queries and of their relevant documents."""
        judged = history.judged
        queries = unit_vectors(vectors.queries(LSI, history.terms)[:, :DIMENSIONS])
        distinct, rows = np.unique(judged.docs, return_inverse=True)
        docs = unit_vectors(vectors.documents(LSI, CONTENTS, distinct)[:, :DIMENSIONS]).astype(np.float64)
        labels = judged.labels.astype(np.float64)
        relevant = np.zeros(queries.shape)
        for query, (first, last) in enumerate(pairwise(judged.doc_ptr.tolist())):
            if last > first:
                weights = labels[first:last, None]
                relevant[query] = (weights * docs[rows[first:last]]).sum(axis=0) / weights.sum()
        are_known = np.logical_and(queries.any(axis=1), relevant.any(axis=1))[:, None]
        return Pairs(queries.astype(np.float64) * are_known, relevant * are_known, QueryVectors(vectors, {}))

    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 1)."""
        key = type(self), prepared.vectors.vectors.checksum, query.hidden.tobytes()  # of one fold, or none
        learned = history.prepared(key, partial(_learned_map, prepared, query.hidden))
        vectors = unit_vectors(np.array([query.vector])[:, :DIMENSIONS])
        mapped = product(vectors, learned).astype(np.float32)
        known = np.flatnonzero(query.docs >= 0)
        documents, rows = prepared.vectors.documents(LSI, CONTENTS, query.docs[known])
        cosines = np.empty((len(known), 1), np.float32)
        fill_cosines(np.array([0, len(known)]), rows, mapped, documents, (DIMENSIONS,), cosines)
        out[known] = cosines


def _learned_map(pairs: Pairs, hidden: Ints) -> Floats:
    """Return N, (dimensions, dimensions), of all judged queries but the hidden ones; zeros where there is none."""
    queries, relevant = (np.delete(vectors, hidden, axis=0) for vectors in pairs[:2])
    n_known = int(np.count_nonzero(queries.any(axis=1))) or 1
    unit = np.eye(queries.shape[1])
    strength = UNMAPPED / queries.shape[1]
    likeness = array_dot(queries.ravel(), relevant.ravel()) / n_known
    squares = cross_product(queries, queries) + strength * unit
    return product(inverse_matrix(squares), cross_product(queries, relevant) + strength * likeness * unit)

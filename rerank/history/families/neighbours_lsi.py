"""The nearest judged queries of a query by latent semantic indexing, and the documents that are relevant to them.

    cos(q, p)   cosine of the queries' vectors in the space `lsi` of the index's vectors (`rerank.vectors.space`)
    near(q, n)  the n queries of the history with the greatest cosine above 0, ties by query id

References
----------
Deerwester et al., JASIS 1990; Cetintas, Si & Yuan, JASIST 2011 (past queries for retrieval).

"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, Missing
from rerank.features.registry import register
from rerank.history.base import DocumentFamily, with_smoothed
from rerank.history.bound import HistoryQuery, IndexHistory
from rerank.history.families.neighbours import relevant_to_nearest
from rerank.history.judged import Judged
from rerank.runtime.kernels import kernel
from rerank.types import Floats
from rerank.vectors.space import LSI

if TYPE_CHECKING:
    from rerank.vectors.vectors import Vectors

_LANES = 16


def _scores(name: str, nearest: int, power: int) -> tuple[Feature, Feature]:
    return with_smoothed(
        Feature(
            name=name,
            meaning=f"How relevant the document is to the {nearest} judged queries that are nearest in latent "
            "semantics.",
            formula=f"sum over p of near(q, {nearest}) of cos(q, p)^{power} * label(p, d) / sqrt(number of documents "
            "relevant to p)",
            source="Deerwester et al., JASIS 1990; Cetintas, Si & Yuan, JASIST 2011",
            unit="labels",
            missing=(Missing.NO_HISTORY,),
            cost=Cost.HISTORY,
        )
    )


class _LatentNeighbours(DocumentFamily):
    """Relevance to the nearest judged queries by latent semantic indexing.

    Attributes
    ----------
    nearest : int
        Number of judged queries.
    power : int
        Exponent of the cosine.

    """

    needs_space: ClassVar[str] = LSI
    nearest: ClassVar[int]
    power: ClassVar[int]

    def prepare(self, history: IndexHistory, vectors: Vectors | None) -> Any:
        """Return the vectors of the judged queries, of norm 1, and the documents of each query."""
        if vectors is None:
            raise TypeError("latent neighbours need vectors")
        judged = history.judged
        units = unit_vectors(vectors.queries(LSI, _tokens(judged)))
        return units, (judged.doc_ptr, judged.docs, judged.gains)

    def document_scores(
        self, prepared: Any, history: IndexHistory, query: HistoryQuery
    ) -> tuple[NDArray[np.int32], Floats]:
        """Return the documents that are relevant to the nearest queries, and their scores."""
        units, judgements = prepared
        if query.vector is None:
            raise TypeError("latent neighbours need the vector of the query")
        cosines = np.empty(len(units))
        _fill_products(units, unit_vectors(query.vector[None, :])[0], cosines)
        cosines[query.hidden] = 0.0
        docs, scores = relevant_to_nearest(cosines, judgements, history.n_docs, self.nearest, self.power)
        return docs, scores


@register("history.neighbours_lsi")
class LatentNeighbourFeatures(_LatentNeighbours):
    """Relevance to the 30 nearest judged queries by latent semantic indexing."""

    nearest, power = 30, 2
    scores = _scores("history.neighbours_lsi", nearest, power)


@register("history.neighbours_lsi_wide")
class WideLatentNeighbourFeatures(_LatentNeighbours):
    """Relevance to the 100 nearest judged queries by latent semantic indexing."""

    nearest, power = 100, 4
    scores = _scores("history.neighbours_lsi_wide", nearest, power)


def unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors (n, dimensions) divided by their norms; a vector of zeros stays one.

    Dimensions are padded with zeros to a multiple of 16.
    """
    padded = np.zeros((len(vectors), -(-vectors.shape[1] // _LANES) * _LANES), dtype=np.float32)
    norms = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    padded[:, : vectors.shape[1]] = vectors / np.where(norms > 0.0, norms, 1.0)
    return padded


def _tokens(judged: Judged) -> Sequence[Sequence[str]]:
    """Return the tokens of each query, in alphabetical order."""
    words = np.repeat(judged.query_words, judged.freqs).tolist()
    ends = np.concatenate([[0], np.cumsum(judged.freqs)])[judged.word_ptr].tolist()
    return [[judged.words[word] for word in words[first:last]] for first, last in pairwise(ends)]


@kernel()
def _fill_products(units, vector, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_queries,) with the products of each row and a vector, whose length is a multiple of 16."""
    sums = np.empty(16, np.float32)
    for query in range(len(units)):
        sums[:] = 0.0
        for first in range(0, len(vector), 16):
            for lane in range(16):
                sums[lane] += units[query, first + lane] * vector[first + lane]
        total = 0.0
        for lane in range(16):
            total += sums[lane]
        out[query] = total

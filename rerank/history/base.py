"""Base classes of the families that are learned from judgements: each score has its rank and gap within the query."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, Missing, RunFamily
from rerank.runtime.container import Stored
from rerank.runtime.kernels import kernel
from rerank.types import Floats, Ints

if TYPE_CHECKING:
    from rerank.features.candidates import Candidates
    from rerank.features.recipe import Recipe
    from rerank.history.bound import IndexHistory
    from rerank.history.judged import Judged
    from rerank.vectors.vectors import Vectors

Arrays = Mapping[str, NDArray[Any]]


@dataclass(eq=False)
class Part:
    """What is learned from some of the judged queries.

    Parameters
    ----------
    judged : Judged
        The queries.
    learned : mapping from str to mapping from str to ndarray
        Stored arrays by family.

    """

    judged: Judged
    learned: dict[str, Arrays] = field(default_factory=dict)
    _prepared: dict[str, Any] = field(default_factory=dict)
    _lock: RLock = field(default_factory=RLock)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was learned; what families prepare of it is prepared anew."""
        return type(self), (self.judged, self.learned)

    def prepared(self, member: LearnedFamily, history: IndexHistory, vectors: Vectors | None) -> Any:
        """Return what a family prepares of this part, kept by family and, where it needs vectors, by their checksum."""
        name = type(member).__name__
        if vectors is not None and member.needs_space:
            name = f"{name} {vectors.checksum}"
        if name not in self._prepared:
            with self._lock:
                if name not in self._prepared:
                    self._prepared[name] = member.prepare(self, history, vectors)
        return self._prepared[name]


@dataclass(frozen=True, eq=False)
class HistoryQuery:
    """A query and its candidates as the learned families need them.

    Parameters
    ----------
    words, freqs : ndarray of shape (n_known,) and dtype int64
        Words of the judged queries that the query has, and how often.
    weights : ndarray of shape (n_known,) and dtype float64
        Weights of these words; those of all terms of the query have norm 1.
    n_unknown : int
        Occurrences of other terms in the query.
    docs : ndarray of shape (n_rows,) and dtype int64
        Documents of the rows.
    vector : ndarray of shape (dimensions,) and dtype float32, or None
        Vector of the query in the space that the family needs.

    """

    words: Ints
    freqs: Ints
    weights: Floats
    n_unknown: int
    docs: Ints
    vector: NDArray[np.float32] | None = None


class LearnedFamily(RunFamily):
    """Scores that are learned from judgements.

    Attributes
    ----------
    scores : tuple of Feature
        The scores; columns are each score, its rank and its gap.
    stored : mapping from str to Stored
        The arrays that `learn` returns, which a history file holds; the sizes `n_words` and `n_terms` are known.

    """

    needs_history: ClassVar[bool] = True
    scores: ClassVar[tuple[Feature, ...]]
    stored: ClassVar[Mapping[str, Stored]] = {}

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [feature for score in self.scores for feature in (score, _rank(score), _gap(score))]

    def learn(self, part: Part, history: IndexHistory, threads: int) -> Arrays:
        """Return what takes long to learn from the queries of a part, as arrays that a file holds."""
        return {}

    def prepare(self, part: Part, history: IndexHistory, vectors: Vectors | None) -> Any:
        """Return what `score` needs of a part, made of its queries and stored arrays; it is kept with the part.

        vectors  for a family that needs a space of them
        """
        return None

    @abstractmethod
    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, n_scores) of one query, which is NaN before."""

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 3 * n_scores)."""
        history, vectors = candidates.history, candidates.vectors
        if history is None:
            raise TypeError("features that are learned from judgements need a history")
        values = np.full((candidates.n_rows, len(self.scores)), np.nan, dtype=np.float32)
        for query, (part, asked) in enumerate(candidates.history_queries):
            if part is not None:
                rows = slice(*candidates.query_ptr[query : query + 2].tolist())
                prepared = part.prepared(self, history, None if vectors is None else vectors.vectors)
                if self.needs_space and vectors is not None:
                    asked = replace(asked, vector=vectors.queries[self.needs_space][query])
                self.score(prepared, history, asked, values[rows])
        _relate(candidates.query_ptr, values, out)


class DocumentFamily(LearnedFamily):
    """A score of documents for a query, and its mean over the nearest documents of each document."""

    @abstractmethod
    def document_scores(
        self, prepared: Any, history: IndexHistory, query: HistoryQuery
    ) -> tuple[NDArray[np.int32], Floats]:
        """Return the documents that have a score, each once, and the scores, which are positive."""

    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 2)."""
        docs, scores = self.document_scores(prepared, history, query)
        near = history.neighbours
        _emit(docs, scores, near.docs, near.cosines, query.docs, out)

    def all_scores(self, prepared: Any, history: IndexHistory, query: HistoryQuery) -> Floats:
        """Return the sum of both scores of each document of the index, (n_docs,) float64; 0 where both are missing."""
        every = replace(query, docs=np.arange(history.n_docs))
        scores = np.full((history.n_docs, 2), np.nan, dtype=np.float32)
        self.score(prepared, history, every, scores)
        total: Floats = np.nansum(scores.astype(np.float64), axis=1)
        return total


def with_smoothed(score: Feature) -> tuple[Feature, Feature]:
    """Return the documentation of a score, and of its mean over the nearest documents."""
    smoothed = replace(
        score,
        name=f"{score.name}_smoothed",
        meaning=f"Mean of {score.name} over the 20 documents that are nearest to the document.",
        formula=f"sum over the 20 nearest documents of cos * {score.name} / sum of cos; cos of tf-idf vectors",
        missing=(Missing.NO_HISTORY,),
    )
    return score, smoothed


def _rank(score: Feature) -> Feature:
    return replace(
        score,
        name=f"{score.name}.rank",
        meaning=f"Rank of the document by {score.name}.",
        formula="1 + number of candidates with a greater value",
        unit="ranks",
        low=1.0,
        high=inf,
        cost=Cost.PAIR,
    )


def _gap(score: Feature) -> Feature:
    return replace(
        score,
        name=f"{score.name}.gap",
        meaning=f"How far {score.name} is below the best of the query.",
        formula=f"max - x; x = {score.name}",
        low=0.0,
        high=inf,
        cost=Cost.PAIR,
    )


@kernel()
def _emit(docs, scores, near_docs, cosines, rows, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_rows, 2): the score of each row's document, and its mean over the nearest documents."""
    score_of = np.zeros(len(near_docs), np.float64)
    for index in range(len(docs)):
        score_of[docs[index]] = scores[index]
    for row in range(len(rows)):
        doc, total, norm = rows[row], 0.0, 0.0
        if score_of[doc] > 0.0:
            out[row, 0] = score_of[doc]
        for number in range(near_docs.shape[1]):
            other = near_docs[doc, number]
            if other < 0:
                break
            total += cosines[doc, number] * score_of[other]
            norm += cosines[doc, number]
        if total > 0.0:
            out[row, 1] = total / norm


@kernel()
def _relate(query_ptr, values, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_rows, 3 * n_scores) with each score, its rank and its gap; NaN where the score is."""
    for query in range(len(query_ptr) - 1):
        first, last = query_ptr[query], query_ptr[query + 1]
        for score in range(values.shape[1]):
            present = np.empty(last - first, np.float32)
            count = 0
            for row in range(first, last):
                if not np.isnan(values[row, score]):
                    present[count] = values[row, score]
                    count += 1
            ordered = np.sort(present[:count])
            for row in range(first, last):
                value = values[row, score]
                out[row, 3 * score] = value
                if np.isnan(value):
                    out[row, 3 * score + 1], out[row, 3 * score + 2] = np.nan, np.nan
                else:
                    out[row, 3 * score + 1] = 1 + count - np.searchsorted(ordered, value, side="right")
                    out[row, 3 * score + 2] = ordered[count - 1] - value

"""Families of features that are learned from judgements: scores, each with its rank and its gap within the query.

References
----------
Metzler et al., SIGIR 2009 (smoothing of sparse clicks).

"""

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.features.families.relative import relate
from rerank.features.family import Feature, Missing, RunFamily
from rerank.features.match import CandidateBatch
from rerank.features.recipe import Recipe
from rerank.history.judged import HistoryQuery, IndexHistory, UnnamedHistory
from rerank.runtime.kernels import kernel
from rerank.types.query_rows import Floats


class LearnedFamily(RunFamily):
    """Scores that are learned from judgements.

    Attributes
    ----------
    scores : tuple of Feature
        The scores; each has three columns: the score, its rank and its gap.

    """

    needs_history: ClassVar[bool] = True
    evidence: ClassVar[str] = "judgements of similar queries"
    rising: ClassVar[tuple[str, ...]] = ("*",)
    falling: ClassVar[tuple[str, ...]] = ("*.rank", "*.gap")
    scores: ClassVar[tuple[Feature, ...]]

    def __init_subclass__(cls) -> None:
        """List the columns of the scores of a family."""
        super().__init_subclass__()
        cls.listed = tuple(column for score in getattr(cls, "scores", ()) for column in _columns(score))

    @abstractmethod
    def prepare(self, history: IndexHistory, vectors: Any) -> Any:
        """Return what `score` needs of all judged queries; it is kept with the history.

        vectors  vectors of the collection, for a family that needs them (`needs_space`)
        """

    def prepared(self, history: IndexHistory, vectors: Any) -> Any:
        """Return the result of `prepare`, kept by family and, where it needs vectors, by their checksum."""
        checksum = vectors.checksum if vectors is not None and self.needs_space else None
        return history.prepared((type(self), checksum), partial(self.prepare, history, vectors))

    @abstractmethod
    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, n_scores), which is NaN before, for one query."""

    def fill(self, candidates: CandidateBatch, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 3 * n_scores)."""
        if isinstance(candidates.history, UnnamedHistory):
            out[:] = np.nan
            return
        vectors = candidates.vectors
        values = np.full((candidates.n_rows, len(self.scores)), np.nan, dtype=np.float32)
        space = None if vectors is None else vectors.vectors
        for number, query in enumerate(candidates.history_queries):
            rows = slice(*candidates.query_ptr[number : number + 2].tolist())
            if self.needs_space and vectors is not None:
                query = replace(query, vector=vectors.queries[self.needs_space][number])
            self.score(self.prepared(candidates.history, space), candidates.history, query, values[rows])
            out[rows, 2::3] = np.fmax.reduce(values[rows], axis=0, initial=-np.inf) - values[rows]
        out[:, 0::3] = values
        out[:, 1::3] = relate(candidates.query_ptr, values)[:, 2::3]


def _columns(score: Feature) -> tuple[Feature, Feature, Feature]:
    """Return the documentation of a score, of its rank and of its gap."""
    return (
        score,
        replace(
            score,
            name=f"{score.name}.rank",
            meaning=f"Rank of the document by {score.name}.",
            formula="1 + number of candidates with a greater value",
            unit="ranks",
            low=1.0,
            high=inf,
        ),
        replace(
            score,
            name=f"{score.name}.gap",
            meaning=f"How far {score.name} is below the best of the query.",
            formula=f"max - x; x = {score.name}",
            low=0.0,
            high=inf,
        ),
    )


class DocumentFamily(LearnedFamily):
    """A score of documents for a query, and its mean over the nearest documents of each document."""

    @abstractmethod
    def document_scores(self, prepared: Any, history: IndexHistory, query: HistoryQuery) -> Floats:
        """Return the score of each document, (n_docs,) float64; 0 where it has none."""

    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 2)."""
        near = history.neighbours
        _emit(self.document_scores(prepared, history, query), near.docs, near.cosines, query.docs, out)

    def all_scores(self, prepared: Any, history: IndexHistory, query: HistoryQuery) -> Floats:
        """Return the sum of both scores of each document of the index, (n_docs,) float64; 0 where both are missing."""
        every = replace(query, docs=np.arange(history.forward.n_docs))
        scores = np.full((len(every.docs), 2), np.nan, dtype=np.float32)
        self.score(prepared, history, every, scores)
        return np.nansum(scores.astype(np.float64), axis=1)  # type: ignore[no-any-return]


def with_smoothed(score: Feature) -> tuple[Feature, Feature]:
    """Return the documentation of a score, and of its mean over the nearest documents."""
    return score, replace(
        score,
        name=f"{score.name}_smoothed",
        meaning=f"Mean of {score.name} over the 20 documents that are nearest to the document.",
        formula=f"sum over the 20 nearest documents of cos * {score.name} / sum of cos; cos of tf-idf vectors",
        missing=(Missing.NO_HISTORY,),
    )


@kernel()
def _emit(scores, near_docs, cosines, rows, out):
    """Fill `out` (n_rows, 2): the score of each row's document, and its mean over the nearest documents."""
    for row in range(len(rows)):
        doc = rows[row]
        if doc < 0:
            continue
        total = 0.0
        norm = 0.0
        if scores[doc] > 0.0:
            out[row, 0] = scores[doc]
        for number in range(near_docs.shape[1]):
            other = near_docs[doc, number]
            if other < 0:
                break
            total += cosines[doc, number] * scores[other]
            norm += cosines[doc, number]
        if total > 0.0:
            out[row, 1] = total / norm

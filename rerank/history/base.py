"""Base classes of the families that are learned from judgements: each score has its rank and gap within the query.

A history on an opened index: what the learned families compute features from.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, Missing, RunFamily
from rerank.features.families.run import relate
from rerank.features.match import Candidates
from rerank.features.near_duplicates import known_idf, word_idf
from rerank.history.judged import Judged, Key, Neighbours, key_of
from rerank.runtime.kernels import kernel
from rerank.runtime.numerics import array_log
from rerank.types import Floats, Ints
from rerank.types.forward import ForwardIndex

if TYPE_CHECKING:
    from rerank.features.recipe import Recipe
    from rerank.vectors.vectors import Vectors


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
    hidden : ndarray of shape (n_hidden,) and dtype int64
        Judged queries that the features may not come from: those of its fold.
    vector : ndarray of shape (dimensions,) and dtype float32, or None
        Vector of the query in the space that the family needs.

    """

    words: Ints
    freqs: Ints
    weights: Floats
    n_unknown: int
    docs: Ints
    hidden: Ints
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class JudgedRelevant:
    """A judged query to which a document is relevant.

    Parameters
    ----------
    query_id : str
        The judged query.
    terms : str
        Its distinct analysed terms, in alphabetical order.
    label : float
        The document's label.
    cosine : float
        Cosine with the query that is explained, see `rerank.history.families.neighbours`.

    """

    query_id: str
    terms: str
    label: float
    cosine: float


@dataclass(frozen=True, eq=False)
class IndexHistory:
    """A history whose documents have the numbers of an index.

    Parameters
    ----------
    judged, folds, neighbours
        See `History`.
    forward : ForwardIndex
        Forward arrays of the index.

    """

    judged: Judged
    folds: Ints
    neighbours: Neighbours
    forward: ForwardIndex
    _prepared: dict[str, Any] = field(default_factory=dict)
    _lock: RLock = field(default_factory=RLock)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what was learned; what families prepare of it is prepared anew."""
        return type(self), (self.judged, self.folds, self.neighbours, self.forward)

    def prepared(self, name: str, prepare: Callable[[], Any]) -> Any:
        """Return what `prepare` returned when it was first called for this name."""
        if name not in self._prepared:
            with self._lock:
                if name not in self._prepared:
                    self._prepared[name] = prepare()
        return self._prepared[name]

    @property
    def n_docs(self) -> int:
        """Number of documents of the index."""
        return self.forward.n_docs

    @cached_property
    def idf(self) -> Floats:
        """The idf of each word, (n_words,) float64."""
        return word_idf(self.forward, self.judged.words)

    @cached_property
    def weights(self) -> Floats:
        """The weights of the words of each judged query, of norm 1, (n_query_words,) float64."""
        return self.judged.unit_weights(self.idf)

    @cached_property
    def _fold_of_id(self) -> dict[str, int]:
        return dict(zip(self.judged.query_ids.tolist(), self.folds.tolist(), strict=True))

    @cached_property
    def _fold_of_key(self) -> dict[Key, int]:
        return dict(zip(self.judged.keys(), self.folds.tolist(), strict=True))

    def hidden(self, candidates: Candidates, query: int, query_id: str = "") -> Ints:
        """Return the judged queries that a query's features may not come from: those of its id's and its terms' folds.

        query_id  the id, where the candidates have none
        """
        first, last = candidates.term_ptr[query : query + 2].tolist()
        key = key_of(candidates.words[query], candidates.query_freq[first:last].tolist())
        of_id = self._fold_of_id.get(query_id or str(candidates.query_ids[query]), -1)
        return np.flatnonzero(np.isin(self.folds, [of_id, self._fold_of_key.get(key, -1)]))

    def judged_relevant(
        self, candidates: Candidates, query: int, query_id: str, doc: int, most: int
    ) -> list[JudgedRelevant]:
        """Return the judged queries to which a document is relevant and which share terms with a query, nearest first.

        Only those queries are returned that the query's features may come from; at most `most`.
        """
        judged = self.judged
        asked = self.query(candidates, query, query_id)
        weight_of = dict(zip(asked.words.tolist(), asked.weights.tolist(), strict=True))
        nearest = []
        hidden = set(asked.hidden.tolist())
        for row in np.flatnonzero(judged.docs == doc).tolist():
            other = int(np.searchsorted(judged.doc_ptr, row, side="right")) - 1
            if other in hidden:
                continue
            first, last = judged.word_ptr[other : other + 2].tolist()
            words = judged.query_words[first:last].tolist()
            cosine = sum(weight_of.get(word, 0.0) * self.weights[first + at] for at, word in enumerate(words))
            if cosine > 0.0:
                terms = " ".join(judged.words[word] for word in words)
                label = float(judged.labels[row])
                nearest.append(JudgedRelevant(str(judged.query_ids[other]), terms, label, float(cosine)))
        return sorted(nearest, key=lambda each: (-each.cosine, each.query_id))[:most]

    def queries(self, candidates: Candidates) -> list[HistoryQuery]:
        """Return each query as the families need it."""
        return [self.query(candidates, query) for query in range(len(candidates.words))]

    def query(self, candidates: Candidates, query: int, query_id: str = "") -> HistoryQuery:
        """Return a query of the candidates as the learned families need it."""
        first, last = candidates.term_ptr[query : query + 2].tolist()
        terms = candidates.terms[first:last]
        freqs = candidates.query_freq[first:last]
        idf = known_idf(self.forward, terms)
        weights = (1.0 + array_log(freqs)) * idf
        norm = np.sqrt((weights**2).sum()) or 1.0
        numbers = np.array([self.judged.word_numbers.get(word, -1) for word in candidates.words[query]], dtype=np.int64)
        order = np.argsort(numbers, kind="stable")
        known = order[numbers[order] >= 0]
        return HistoryQuery(
            words=numbers[known],
            freqs=freqs[known],
            weights=weights[known] / norm,
            n_unknown=int(freqs.sum() - freqs[known].sum()),
            docs=candidates.docs[slice(*candidates.query_ptr[query : query + 2].tolist())],
            hidden=self.hidden(candidates, query, query_id),
        )


class LearnedFamily(RunFamily):
    """Scores that are learned from judgements.

    Attributes
    ----------
    scores : tuple of Feature
        The scores; columns are each score, its rank and its gap.

    """

    needs_history: ClassVar[bool] = True
    evidence: ClassVar[str] = "judgements of similar queries"
    rising: ClassVar[tuple[str, ...]] = ("*",)
    falling: ClassVar[tuple[str, ...]] = ("*.rank", "*.gap")
    scores: ClassVar[tuple[Feature, ...]]

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [feature for score in self.scores for feature in (score, _rank(score), _gap(score))]

    @abstractmethod
    def prepare(self, history: IndexHistory, vectors: Vectors | None) -> Any:
        """Return what `score` needs of all judged queries; it is kept with the history.

        vectors  for a family that needs a space of them
        """

    def prepared(self, history: IndexHistory, vectors: Vectors | None) -> Any:
        """Return what `prepare` returns, kept by family and, where it needs vectors, by their checksum."""
        name = type(self).__name__
        if vectors is not None and self.needs_space:
            name = f"{name} {vectors.checksum}"
        return history.prepared(name, partial(self.prepare, history, vectors))

    @abstractmethod
    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, n_scores) of one query, which is NaN before."""

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 3 * n_scores)."""
        history = candidates.history
        vectors = candidates.vectors
        if not isinstance(history, IndexHistory):
            raise TypeError("features that are learned from judgements need a history")
        values = np.full((candidates.n_rows, len(self.scores)), np.nan, dtype=np.float32)
        space = None if vectors is None else vectors.vectors
        queries: Sequence[HistoryQuery] = candidates.history_queries
        for number, query in enumerate(queries):
            rows = slice(*candidates.query_ptr[number : number + 2].tolist())
            if self.needs_space and vectors is not None:
                query = replace(query, vector=vectors.queries[self.needs_space][number])
            self.score(self.prepared(history, space), history, query, values[rows])
            out[rows, 2::3] = np.fmax.reduce(values[rows], axis=0, initial=-np.inf) - values[rows]
        out[:, 0::3] = values
        out[:, 1::3] = relate(candidates.query_ptr, values)[:, 2::3]


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
        doc = rows[row]
        total = 0.0
        norm = 0.0
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

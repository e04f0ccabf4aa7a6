"""A history on an opened index: what the learned families compute features from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.candidates import Candidates
from rerank.features.near_duplicates import known_idf, word_idf
from rerank.history.collection import Neighbours
from rerank.history.judged import Judged, Key, key_of
from rerank.runtime.elementary import array_log
from rerank.types import Floats, Ints
from rerank.types.forward import ForwardIndex


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
        judged, asked = self.judged, self.query(candidates, query, query_id)
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
        return [self.query(candidates, query) for query in range(len(candidates.query_lengths))]

    def query(self, candidates: Candidates, query: int, query_id: str = "") -> HistoryQuery:
        """Return a query of the candidates as the learned families need it."""
        first, last = candidates.term_ptr[query : query + 2].tolist()
        terms, freqs = candidates.terms[first:last], candidates.query_freq[first:last]
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

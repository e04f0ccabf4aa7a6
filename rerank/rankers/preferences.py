"""Preference pairs as rows of training data, and the rankers that learn from them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError
from rerank.rankers.ranker import Ranker
from rerank.rankers.training import TrainingSet
from rerank.types import Floats, Ints, RankingData, query_rows
from rerank.types.preferences import Preferences

log = logging.getLogger("rerank")


class PreferenceRows(NamedTuple):
    """Preference pairs, each column (n_pairs,): rows of the better document, ascending, of the worse, probabilities."""

    better: Ints
    worse: Ints
    probabilities: Floats

    @classmethod
    def of(cls, preferences: Preferences, data: RankingData) -> PreferenceRows:
        """Return the rows of the pairs; those with a document that the data lack are left out and counted in the log.

        Raises InvalidInputError where no pair is left.
        """
        row_of = _rows_by_id(preferences, data)
        columns = (preferences.query_ids, preferences.better, preferences.worse)
        pairs = zip(*(column.tolist() for column in columns), strict=True)
        rows = np.array([(row_of.get((query, x), -1), row_of.get((query, y), -1)) for query, x, y in pairs])
        kept = np.flatnonzero((rows >= 0).all(axis=1))
        if not len(kept):
            raise InvalidInputError(
                "preferences: expected pairs of documents that the training data hold, got none. Check that both "
                "name the same queries and documents."
            )
        if len(kept) < len(rows):
            log.info("preferences: %d of %d pairs are of documents not in the data", len(rows) - len(kept), len(rows))
        kept = kept[np.argsort(rows[kept, 0], kind="stable")]
        return cls(rows[kept, 0], rows[kept, 1], preferences.probabilities[kept])

    def of_query(self, rows: Ints) -> PreferenceRows:
        """Return the pairs of the query whose documents are these rows of the data, by position among them.

        rows  (n,) all rows of one query, in any order
        """
        lowest = int(rows.min())
        first, last = np.searchsorted(self.better, [lowest, lowest + len(rows)])
        position = np.argsort(rows)
        better, worse = (position[column[first:last] - lowest] for column in (self.better, self.worse))
        return PreferenceRows(better, worse, self.probabilities[first:last])

    def in_order(self, order: Ints) -> PreferenceRows:
        """Return the pairs by canonical row; order (n_rows,) are the data's rows in canonical order."""
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        better, worse = position[self.better], position[self.worse]
        sums = np.lexsort((self.probabilities, worse, better))  # in one order, whatever that of the data
        return PreferenceRows(better[sums], worse[sums], self.probabilities[sums])


class LearnsFromPairs(Ranker):
    """A ranker that learns from preference pairs where `fit` is given some, else from labels.

    Its `_learn` reads the pairs from `_pairs`, None for labels.
    """

    learns_from_pairs: ClassVar[bool] = True
    _pairs: PreferenceRows | None = None

    def _with_preferences(
        self, preferences: Preferences | Iterable[Sequence[Any]] | None, X: RankingData | ArrayLike
    ) -> RankingData | ArrayLike:
        if preferences is None:
            return X
        self._pairs = _rows_of(preferences, X)
        if isinstance(X, RankingData) and X.labels is None:
            return replace(X, labels=np.zeros(X.n_rows))
        return X

    def _forget_input(self) -> None:
        super()._forget_input()
        self.__dict__.pop("_pairs", None)

    def _pair_arrays(self) -> list[NDArray[Any]]:
        pairs = self._pairs
        return [] if pairs is None else [pairs.better, pairs.worse, pairs.probabilities]

    def _learns_from_labels(self) -> bool:
        return self._pairs is None

    @staticmethod
    def _canonical_pairs(pairs: PreferenceRows, train: TrainingSet, evenly: bool) -> tuple[Ints, Ints, Floats, Floats]:
        """Return the better and the worse row, the probability and the weight of each pair, in canonical order.

        evenly  the pairs of a query share its weight; otherwise each pair has it
        Raises InvalidInputError where no pair has a weight.
        """
        better, worse, probabilities = pairs.in_order(train.order)
        query = query_rows(train.query_ptr)[better]
        counts = np.bincount(query, minlength=len(train.weights)) if evenly else np.ones(len(train.weights))
        weights = (train.weights / np.maximum(counts, 1.0))[query]
        if not weights.any():
            raise InvalidInputError(
                "preferences: expected pairs of a query whose weight is above 0, got none. Change the weights."
            )
        return better, worse, probabilities, weights


def _rows_of(preferences: Preferences | Iterable[Sequence[Any]], X: RankingData | ArrayLike) -> PreferenceRows:
    if not isinstance(X, RankingData):
        raise InvalidInputError(
            "preferences: expected RankingData beside them, got arrays without document ids. Pass RankingData."
        )
    return PreferenceRows.of(Preferences.of(preferences), X)


def _rows_by_id(preferences: Preferences, data: RankingData) -> dict[tuple[str, str], int]:
    """Return the row of each (query id, document id) of the queries that have preferences."""
    row_of: dict[tuple[str, str], int] = {}
    for query_id in set(preferences.query_ids.tolist()).intersection(data):
        rows = data.rows(query_id)
        row_of.update(
            ((query_id, doc_id), rows.start + number) for number, doc_id in enumerate(data.doc_ids[rows].tolist())
        )
    return row_of

"""Preference pairs as rows of training data."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np

from rerank.errors import InvalidInputError
from rerank.preferences import Preferences
from rerank.types import Floats, Ints, RankingData

log = logging.getLogger("rerank")


class PreferenceRows(NamedTuple):
    """Preference pairs, each column (n_pairs,): rows of the better document, ascending, of the worse, probabilities."""

    better: Ints
    worse: Ints
    probabilities: Floats

    @classmethod
    def of(cls, preferences: Preferences, data: RankingData) -> PreferenceRows:
        """Find the documents; pairs with one that the data lack are left out, and the log says how many.

        Raises InvalidInputError where no pair is left.
        """
        row_of = _rows_by_id(preferences, data)
        columns = (preferences.query_ids, preferences.better, preferences.worse)
        pairs = zip(*(column.tolist() for column in columns), strict=True)
        found = np.array([(row_of.get((query, x), -1), row_of.get((query, y), -1)) for query, x, y in pairs])
        kept = np.flatnonzero((found >= 0).all(axis=1))
        if not len(kept):
            raise InvalidInputError(
                "preferences: expected pairs of documents that the training data hold, found none; check that both "
                "name the same queries and documents."
            )
        if len(kept) < len(found):
            log.info("preferences: %d of %d pairs are of documents not in the data", len(found) - len(kept), len(found))
        kept = kept[np.argsort(found[kept, 0], kind="stable")]
        return cls(found[kept, 0], found[kept, 1], preferences.probabilities[kept])

    def of_query(self, rows: Ints) -> PreferenceRows:
        """Return the pairs of the query whose documents are these rows of the data, by place among them.

        rows  (n,) all rows of one query, in any order
        """
        lowest = int(rows.min())
        first, last = np.searchsorted(self.better, [lowest, lowest + len(rows)])
        place = np.argsort(rows)
        better, worse = (place[column[first:last] - lowest] for column in (self.better, self.worse))
        return PreferenceRows(better, worse, self.probabilities[first:last])


def _rows_by_id(preferences: Preferences, data: RankingData) -> dict[tuple[str, str], int]:
    """Return the row of each (query id, document id) of the queries that have preferences."""
    found: dict[tuple[str, str], int] = {}
    for query_id in set(preferences.query_ids.tolist()).intersection(data):
        rows = data.rows(query_id)
        found.update(
            ((query_id, doc_id), rows.start + place) for place, doc_id in enumerate(data.doc_ids[rows].tolist())
        )
    return found

"""The result lists of a click log as rows of the training data."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np

from rerank.clicks.cells import Cells
from rerank.clicks.examination import examination
from rerank.clicks.record import Clicks
from rerank.errors import InvalidInputError
from rerank.types import Floats, Ints, RankingData, pointers, query_rows
from rerank.types.ids import QueryDocIndex

log = logging.getLogger("rerank")


class ClickRows(NamedTuple):
    """Distinct lists with a click and a document that was not clicked.

    Attributes
    ----------
    rows : int64 array of shape (n_impressions,)
        Row of each impression, list by list from its first position.
    positions : int64 array of shape (n_impressions,)
        Position in the list, from 0.
    clicked : float64 array of shape (n_impressions,)
        1 where the document was clicked.
    list_ptr : int64 array of shape (n_lists + 1,)
        Impressions of each list.
    counts : float64 array of shape (n_lists,)
        How often the log has the list.
    examination : float64 array of shape (n_positions,)
        Probability of examination by position, see `rerank.clicks.examination`.

    """

    rows: Ints
    positions: Ints
    clicked: Floats
    list_ptr: Ints
    counts: Floats
    examination: Floats

    @classmethod
    def of(cls, clicks: Clicks, data: RankingData) -> ClickRows:
        """Return the lists of a log; documents that the data lack are left out, and counted in the log of messages.

        Raises InvalidInputError where no list is left.
        """
        if not isinstance(data, RankingData):
            raise InvalidInputError(
                "clicks: expected RankingData beside them, got arrays without document ids. Pass RankingData."
            )
        row, lists = _rows_of_impressions(clicks, data), query_rows(clicks.list_ptr)
        known = row >= 0
        n_clicked, n_shown = (np.bincount(lists[known], of, clicks.n_rows) for of in (clicks.clicked[known], None))
        kept = np.flatnonzero(known & (n_clicked[lists] > 0) & (n_clicked[lists] < n_shown[lists]))
        if not len(kept):
            raise InvalidInputError(
                "clicks: expected lists of the data's documents with some of them clicked, got none. Check that both "
                "name the same queries and documents."
            )
        if not known.all():
            log.info("clicks: %d of %d impressions are of rows that the data lack", (~known).sum(), len(known))
        table = np.full((len(np.unique(lists[kept])), clicks.n_positions), -1)
        number = np.cumsum(np.diff(lists[kept], prepend=-1) != 0) - 1
        table[number, clicks.position[kept] - 1] = 2 * row[kept] + clicks.clicked[kept]
        distinct, counts = np.unique(table, axis=0, return_counts=True)
        shown = distinct >= 0
        values, positions = distinct[shown], np.nonzero(shown)[1]
        theta = examination(Cells.of(clicks)).theta
        ptr = pointers(shown.sum(axis=1))
        return cls(values // 2, positions, (values % 2).astype(np.float64), ptr, counts.astype(np.float64), theta)

    def in_order(self, order: Ints) -> ClickRows:
        """Return the lists by canonical row; order (n_rows,) are the data's rows in canonical order."""
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        table = np.full((len(self.counts), len(self.examination)), -1)
        lists = query_rows(self.list_ptr)
        table[lists, self.positions] = 2 * position[self.rows] + self.clicked.astype(np.int64)
        sums = np.lexsort(table.T[::-1])  # in one order, whatever that of the data
        table, shown = table[sums], table[sums] >= 0
        return self._replace(
            rows=table[shown] // 2,
            positions=np.nonzero(shown)[1],
            clicked=(table[shown] % 2).astype(np.float64),
            list_ptr=pointers(shown.sum(axis=1)),
            counts=self.counts[sums],
        )


def _rows_of_impressions(clicks: Clicks, data: RankingData) -> Ints:
    """Return the row of each impression, (n_rows,) int64, -1 where the data lack it."""
    numbers = {query: number for number, query in enumerate(data)}
    of_query = np.array([numbers.get(query, -1) for query in clicks.query_ids.tolist()], dtype=np.int64)
    keys = clicks.query.astype(np.int64) * max(len(clicks.doc_ids), 1) + clicks.document
    pairs, inverse = np.unique(keys, return_inverse=True)
    query, document = np.divmod(pairs, max(len(clicks.doc_ids), 1))
    index = QueryDocIndex.of(query_rows(data.query_ptr), data.doc_ids)
    found, rows = index.find(of_query[query], clicks.doc_ids[document])
    of_pair = np.full(len(pairs), -1)
    of_pair[found] = rows
    return np.asarray(of_pair[inverse.reshape(-1)], dtype=np.int64)

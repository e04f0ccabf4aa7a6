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
        cells, lists = Cells.of(clicks), query_rows(clicks.list_ptr)
        pairs, rows = cells.matches(clicks, data)
        of_pair = np.full(cells.n_pairs, -1)
        of_pair[pairs] = rows
        row = of_pair[cells.pair_of_rows(clicks)]
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
        return cls(*_impressions(distinct), counts.astype(np.float64), examination(cells).theta)

    def in_order(self, order: Ints) -> ClickRows:
        """Return the lists by canonical row; order (n_rows,) are the data's rows in canonical order."""
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        table = np.full((len(self.counts), len(self.examination)), -1)
        lists = query_rows(self.list_ptr)
        table[lists, self.positions] = 2 * position[self.rows] + self.clicked.astype(np.int64)
        sums = np.lexsort(table.T[::-1])  # in one order, whatever that of the data
        return ClickRows(*_impressions(table[sums]), self.counts[sums], self.examination)


def _impressions(table: Ints) -> tuple[Ints, Ints, Floats, Ints]:
    """Return row, position and click of each impression, and `list_ptr`.

    table  (n_lists, n_positions) int64: 2 row + click, -1 where nothing was shown
    """
    is_shown = table >= 0
    values = table[is_shown]
    return values // 2, np.nonzero(is_shown)[1], (values % 2).astype(np.float64), pointers(is_shown.sum(axis=1))

"""The counts of a log.

pair  a query and a document of the log
cell  a pair at a position
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.record import Clicks, Numbers
from rerank.types import Floats, Ids, Ints, pointers
from rerank.types.query_table import QueryTable


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells, sorted by query, document and position, and their pairs.

    pair         (n_cells,) int64 number of the pair
    place        (n_cells,) int64 position, from 0
    impressions  (n_cells,) float64
    clicks       (n_cells,) float64
    query        (n_pairs,) int32 number of the query in the log
    document     (n_pairs,) int32
    n_positions  the last position of the log
    """

    pair: Ints
    place: Ints
    impressions: Floats
    clicks: Floats
    query: Numbers
    document: Numbers
    n_positions: int

    @classmethod
    def of(cls, clicks: Clicks, rows: NDArray[np.bool_] | None = None) -> Cells:
        """Return the counts of a log, or of some of its rows."""
        chosen = clicks if rows is None else clicks.select(rows)
        n_documents = max(len(clicks.doc_ids), 1)
        n_positions = clicks.n_positions
        pair_of_row = chosen.query.astype(np.int64) * n_documents + chosen.document
        cells, row, counts = np.unique(
            pair_of_row * n_positions + (chosen.position - 1), return_inverse=True, return_counts=True
        )
        pairs, place = np.divmod(cells, n_positions)
        numbers, pair = np.unique(pairs, return_inverse=True)
        query, document = (part.astype(np.int32) for part in np.divmod(numbers, n_documents))
        clicked = np.bincount(row, chosen.clicked, len(cells)).astype(np.float64)
        return cls(pair, place, counts.astype(np.float64), clicked, query, document, n_positions)

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.query)

    def by_pair(self, values: Floats) -> Floats:
        """Return the sum of the values of each pair's cells, (n_pairs,) float64."""
        return np.asarray(np.bincount(self.pair, values, self.n_pairs), dtype=np.float64)

    def by_place(self, values: Floats) -> Floats:
        """Return the sum of the values at each position, (n_positions,) float64."""
        return np.asarray(np.bincount(self.place, values, self.n_positions), dtype=np.float64)

    def select(self, cells: NDArray[np.bool_]) -> Cells:
        """Return some cells; pairs keep their numbers."""
        columns = self.pair[cells], self.place[cells], self.impressions[cells], self.clicks[cells]
        return Cells(*columns, self.query, self.document, self.n_positions)


def matched_pairs(
    table: QueryTable, query_ids: Ids, doc_ids: Ids, query: Numbers, document: Numbers
) -> tuple[Ints, Ints]:
    """Return the pairs that a table of documents has, and their rows in it, ascending; (n_matches,) int64 each.

    query, document  of each pair, (n_pairs,), as numbers in `query_ids` and `doc_ids`; queries ascend
    """
    query_ptr = pointers(np.bincount(query, minlength=len(query_ids)))
    pairs, rows = table.matches(query_ids, query_ptr, doc_ids[document])
    order = np.argsort(rows)
    return pairs[order], rows[order]

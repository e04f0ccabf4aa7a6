"""Preference pairs: two documents of a query, one of them better, with an optional probability."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.types.ids import Ids, id_array
from rerank.types.query_rows import Floats


@dataclass(frozen=True, eq=False)
class Preferences:
    """Preference pairs, which may contradict each other and occur more than once.

    Parameters
    ----------
    query_ids, better, worse : ndarray of shape (n_pairs,), dtype str
        The query, the better and the worse document of each pair.
    probabilities : ndarray of shape (n_pairs,), dtype float64
        Probability, from 0 to 1, that the better document is better: P̄_ij.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 2, where P̄_ij is the
    target of RankNet's cost.

    """

    query_ids: Ids
    better: Ids
    worse: Ids
    probabilities: Floats

    def __len__(self) -> int:
        return len(self.query_ids)

    @classmethod
    def of(cls, pairs: Preferences | Iterable[Sequence[Any]]) -> Preferences:
        """Return preferences made of (query id, better document id, worse document id[, probability]) rows.

        Parameters
        ----------
        pairs : Preferences or iterable of sequence
            Rows of a query id, the better and the worse document id, and optionally a probability from 0 to 1.

        Returns
        -------
        Preferences
            The pairs.

        Raises
        ------
        InvalidInputError
            If there is no row, or one of another form.

        """
        if isinstance(pairs, cls):
            return pairs
        rows = [(*row, 1.0) if isinstance(row, Iterable) else (row,) for row in pairs]  # type: ignore[union-attr]
        invalid = next(
            (
                row
                for row in rows
                if len(row) not in (4, 5)
                or not isinstance(row[3], int | float | np.integer | np.floating)
                or not 0.0 <= row[3] <= 1.0
            ),
            None,
        )
        if invalid is not None or not rows:
            got = "none" if invalid is None else shown(invalid[:-1] or invalid)
            raise InvalidInputError(
                "preferences: expected rows of query id, better document id, worse document id and optionally a "
                f"probability from 0 to 1, got {got}. Pass e.g. ('q1', 'd1', 'd2')."
            )
        queries, better, worse = (id_array([str(row[column]) for row in rows]) for column in range(3))
        return cls(queries, better, worse, np.array([float(row[3]) for row in rows]))

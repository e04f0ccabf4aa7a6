"""Pairs of documents of which one is better, each perhaps with the probability that it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.types.arrays import Floats
from rerank.types.ids import Ids, id_array


@dataclass(frozen=True, eq=False)
class Preferences:
    """Pairs of documents of one query, the better one named first; they may contradict each other and return.

    query_ids, better, worse  (n_pairs,) text
    probabilities             (n_pairs,) float64, 0 to 1, that the better one is better: Burges' P̄_ij
    """

    query_ids: Ids
    better: Ids
    worse: Ids
    probabilities: Floats

    def __len__(self) -> int:
        return len(self.query_ids)

    @classmethod
    def of(cls, pairs: Preferences | Iterable[Sequence[Any]]) -> Preferences:
        """Take a record or plain (qid, better docid, worse docid[, probability]) rows."""
        if isinstance(pairs, cls):
            return pairs
        rows = [(*row, 1.0) for row in pairs]  # type: ignore[union-attr]
        strange = next((row for row in rows if len(row) not in (4, 5) or not 0.0 <= float(row[3]) <= 1.0), None)
        if strange is not None or not rows:
            raise InvalidInputError(
                "preferences: expected rows of query id, better document id, worse document id and perhaps a "
                f"probability from 0 to 1, got {strange[:-1] if strange else 'none'}. Pass e.g. ('q1', 'd1', 'd2')."
            )
        queries, better, worse = (id_array([str(row[place]) for row in rows]) for place in range(3))
        return cls(queries, better, worse, np.array([float(row[3]) for row in rows]))

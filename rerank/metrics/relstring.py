"""The labels of the first documents as text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.metrics.base import TEXT, Measure
from rerank.metrics.lists import in_pool
from rerank.metrics.registry import register
from rerank.metrics.structures import RankedLists
from rerank.types.ids import Ids


@register("RelString", trec="relstring", trec_parameter="cutoff")
@dataclass(frozen=True)
class RelString(Measure):
    """Text with one character for each of the first k documents, 10 by default (trec_eval); it has no mean.

    The character is the label from 0 to 9, `>` for a larger one, `.` for a negative one (in the pool, not judged) and
    `-` for a document that is not in the qrels.
    """

    cutoff: int | None = 10
    averaging: ClassVar[str] = TEXT
    asks_judged: ClassVar[bool] = True  # it marks documents that are not in the qrels

    def scores(self, lists: RankedLists) -> Ids:  # type: ignore[override]
        """Return the text of every query, (n_queries,) of text."""
        if self.cutoff is None:
            raise InvalidInputError("RelString: expected a cutoff, got none. Write e.g. RelString@10.")
        letters = np.where(lists.labels > 9, ">", np.maximum(lists.labels, 0).astype(np.int64).astype("U1"))
        letters = np.where(lists.labels < 0, ".", letters)
        letters = np.where(in_pool(lists), letters, "-").tolist()
        bounds = pairwise(lists.query_ptr.tolist())
        return np.array(
            ["".join(letters[start : min(end, start + self.cutoff)]) for start, end in bounds], dtype=np.str_
        )

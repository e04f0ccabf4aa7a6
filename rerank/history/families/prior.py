"""How often a document was judged relevant, whatever the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, Missing
from rerank.features.registry import register
from rerank.history.base import LearnedFamily
from rerank.history.bound import HistoryQuery, IndexHistory, Part

if TYPE_CHECKING:
    from rerank.vectors.vectors import Vectors


@register("history.prior")
class PriorFeatures(LearnedFamily):
    """How often the document was judged relevant."""

    scores = (
        Feature(
            name="history.prior",
            meaning="Number of judged queries to which the document is relevant.",
            formula="number of queries of the history with a positive label of d",
            source="document prior, Kraaij, Westerveld & Hiemstra, SIGIR 2002",
            unit="queries",
            missing=(Missing.NO_HISTORY,),
            cost=Cost.PAIR,
        ),
    )

    def prepare(self, part: Part, history: IndexHistory, vectors: Vectors | None) -> Any:
        """Return the count of each document, NaN for none, (n_docs,) float32."""
        counts = np.bincount(part.judged.docs, minlength=history.n_docs).astype(np.float32)
        return np.where(counts > 0, counts, np.float32(np.nan))

    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 1)."""
        out[:, 0] = prepared[query.docs]

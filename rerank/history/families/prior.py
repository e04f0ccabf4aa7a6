"""How often a document was judged relevant, whatever the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, Missing
from rerank.features.registry import register
from rerank.history.base import LearnedFamily
from rerank.history.bound import HistoryQuery, IndexHistory
from rerank.types import joined_rows

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

    def prepare(self, history: IndexHistory, vectors: Vectors | None) -> Any:
        """Return the number of judged queries that each document is relevant to, (n_docs,) int64."""
        return np.bincount(history.judged.docs, minlength=history.n_docs)

    def score(self, prepared: Any, history: IndexHistory, query: HistoryQuery, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 1)."""
        judged = history.judged
        of_hidden, _ = joined_rows(judged.doc_ptr[query.hidden], np.diff(judged.doc_ptr)[query.hidden])
        counts = prepared - np.bincount(judged.docs[of_hidden], minlength=history.n_docs)
        out[:, 0] = np.where(counts > 0, counts, np.nan)[query.docs]

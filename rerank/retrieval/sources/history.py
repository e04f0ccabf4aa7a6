"""Documents that judgements of similar queries point to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.features.match import Candidates, gather_candidates
from rerank.features.recipe import family
from rerank.history.judged import IndexHistory
from rerank.retrieval.base import Hits, SearchInputs, Source, best_hits, register, run_of
from rerank.types import Run

FAMILY = "history.neighbours"


@register("history")
class JudgedNeighbours(Source):
    """The features history.neighbours and history.neighbours_smoothed of each document, added up.

    The judgements of a query itself and of its near duplicates do not find its documents.
    """

    learned = True
    reads = ("history", "vectors")

    def search(self, inputs: SearchInputs, k: int) -> Run:
        """Return the k best documents of each query."""
        if inputs.history is None:
            raise InvalidInputError(
                "candidates: expected a history for the source history, got none. Learn it (`rerank history INDEX "
                "TOPICS QRELS`), or leave the source out."
            )
        empty = np.zeros(0, dtype=np.int64)
        ptr = np.zeros(len(inputs.query_ids) + 1, dtype=np.int64)
        queries = gather_candidates(inputs.forward, inputs.query_terms, ptr, empty, np.zeros(0))
        hits = self._hits(inputs.history, replace(queries, query_ids=inputs.query_ids), inputs, k)
        return run_of(inputs.query_ids, inputs.forward.doc_ids, hits, "history-neighbours")

    def _hits(self, history: IndexHistory, queries: Candidates, inputs: SearchInputs, k: int) -> Iterator[Hits]:
        member: Any = family(FAMILY)
        for query in history.queries(queries):
            scores = member.all_scores(member.prepared(history, inputs.vectors), history, query)
            docs = np.flatnonzero(scores > 0.0)
            yield best_hits(docs, scores[docs], inputs.forward.doc_ids, k)

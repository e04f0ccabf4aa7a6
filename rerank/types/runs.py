"""Runs: the documents of each query in the order of a ranker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rerank.types.arrays import Floats, Ints, joined_rows
from rerank.types.ids import id_array
from rerank.types.ordering import trec_order
from rerank.types.query_table import QueryTable, group_rows, mapping_columns
from rerank.types.retriever import UNNAMED, Retriever


@dataclass(frozen=True, eq=False)
class Run(QueryTable):
    """Ranked documents: scores (n_rows,) float64; within a query, rows stand as the ranker ordered them.

    name  one word that says what made the run: the tag of TREC run files, see `retriever`
    """

    scores: Floats
    name: str = UNNAMED

    def __getitem__(self, query_id: str) -> dict[str, float]:
        rows = self.rows(query_id)
        return dict(zip(self.doc_ids[rows].tolist(), self.scores[rows].tolist(), strict=True))

    @classmethod
    def from_rows(cls, query_ids: ArrayLike, doc_ids: ArrayLike, scores: ArrayLike, name: str = UNNAMED) -> Run:
        """Group rows (any order) by query and put each query in trec_eval's order."""
        names, query_ptr, order = group_rows(id_array(query_ids), id_array(doc_ids))
        run = cls(names, query_ptr, id_array(doc_ids)[order], np.asarray(scores, dtype=np.float64)[order], name)
        return run.take(run.trec_order())

    @classmethod
    def of(cls, run: Run | Mapping[str, Mapping[str, float]]) -> Run:
        """Take a record or a plain `{qid: {docid: score}}`."""
        if isinstance(run, cls):
            return run
        queries, docs, scores = mapping_columns("run", "score", run)
        return cls.from_rows(queries, docs, scores)

    @property
    def retriever(self) -> Retriever | None:
        """What made the run, as far as its name tells; None where it was given no name."""
        return None if self.name == UNNAMED else Retriever.of_tag(self.name)

    def trec_order(self) -> Ints:
        """Return the rows query by query as trec_eval orders them: score, then document id, descending."""
        return trec_order(self.query_ptr, self.scores, self.stored_ids)

    def take(self, order: Ints) -> Run:
        """Return the run with its rows in another order (rows stay within their query)."""
        return replace(self, doc_ids=self.stored_ids[order], scores=self.scores[order])

    def head(self, k: int) -> Run:
        """Return the first k rows of each query."""
        counts = np.minimum(np.diff(self.query_ptr), k)
        rows, query_ptr = joined_rows(self.query_ptr[:-1], counts)
        return replace(self, query_ptr=query_ptr, doc_ids=self.stored_ids[rows], scores=self.scores[rows])

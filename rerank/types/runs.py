"""Runs: the documents of each query in the order of a ranker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InvalidInputError, shown
from rerank.types import frames
from rerank.types.frames import Frame
from rerank.types.ids import Floats, Ids, Ints, id_array, pointers, query_rows, trec_order
from rerank.types.query_table import QueryTable, group_rows
from rerank.types.retriever import UNNAMED, Retriever


@dataclass(frozen=True, eq=False, repr=False)
class Run(QueryTable):
    """Ranked documents of queries.

    Parameters
    ----------
    query_ids : ndarray of shape (n_queries,), dtype str
        The query ids, each once.
    query_ptr : ndarray of shape (n_queries + 1,), dtype int64
        Rows of query q: [query_ptr[q], query_ptr[q + 1]), in the order of the ranker.
    doc_ids : ndarray of shape (n_rows,), dtype str
        Document of each row.
    scores : ndarray of shape (n_rows,), dtype float64
        Score of each row.
    name : str
        One word that names the system: the tag of TREC run files, see `retriever`.

    """

    scores: Floats
    name: str = UNNAMED
    value_names: ClassVar[Mapping[str, str]] = {"scores": frames.SCORE}

    def __getitem__(self, query_id: str) -> dict[str, float]:
        rows = self.rows(query_id)
        return dict(zip(self.doc_ids[rows].tolist(), self.scores[rows].tolist(), strict=True))

    def items(self) -> Iterator[tuple[str, dict[str, float]]]:
        """Return each query id with the score of each of its documents.

        Returns
        -------
        iterator of (str, dict of str to float)
            The query, and the scores by document id.

        """
        return ((query_id, self[query_id]) for query_id in self)

    @classmethod
    def from_rows(cls, query_ids: ArrayLike, doc_ids: ArrayLike, scores: ArrayLike, name: str = UNNAMED) -> Run:
        """Return a run made of one query id, document id and score for each row, in any order.

        Queries are in the order of their first row, documents in trec_eval's order.

        Parameters
        ----------
        query_ids, doc_ids : array of shape (n_rows,), str
            Query and document of each row.
        scores : array of shape (n_rows,)
            Score of each row.
        name : str
            Name of the run.

        Returns
        -------
        Run
            The run.

        """
        names, query_ptr, order = group_rows(id_array(query_ids), id_array(doc_ids))
        run = cls(names, query_ptr, id_array(doc_ids)[order], np.asarray(scores, dtype=np.float64)[order], name)
        return run.take(run.trec_order())

    @classmethod
    def of(cls, run: Run | Mapping[str, Mapping[str, float]] | Frame) -> Run:
        """Return a run as it is, or made of a plain `{query id: {document id: score}}` or of a data frame.

        Parameters
        ----------
        run : Run, mapping or DataFrame
            A run; a DataFrame as for `from_frame`. A query of a mapping may have no document.

        Returns
        -------
        Run
            The run.

        Raises
        ------
        InvalidInputError
            For another form, an id that is neither text nor a whole number, or a score that is not a finite number.

        """
        if isinstance(run, cls):
            return run
        if frames.is_frame(run):
            return cls.from_frame(run)  # type: ignore[arg-type]
        table: Any = run
        filled = cls.from_frame(frames.MappingFrame.of("run", frames.SCORE, table))
        return filled if len(filled) == len(table) else filled._with_empty(frames.query_ids("run", table))

    @classmethod
    def from_frame(cls, frame: Frame, name: str | None = None) -> Run:
        """Return a run made of a data frame with a row for each document.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns query_id (or qid), doc_id (or docno, doc) and score; rank is optional, others are ignored. Rows are
            in any order. Documents are ordered by rank if there is one, else as in trec_eval: by score, then
            document id, descending. Ids are text; whole numbers are converted to their decimal text.
        name : str or None
            Name of the run; None is the name that `to_frame` stored in `frame.attrs`, or the default name.

        Returns
        -------
        Run

        Raises
        ------
        InvalidInputError
            If a column is missing, ids are not text or whole numbers, scores or ranks are not finite numbers, scores
            contradict the ranks, or a query has a document twice.

        """
        names, query_ptr, doc_ids, order = frames.grouped_rows("run", frame)
        scores = frames.number_column("run", frame, frames.column_name("run", frame, frames.SCORE))[order]
        stored_name = frames.frame_attributes(frame).get("name") if name is None else name
        run = cls(names, query_ptr, doc_ids, scores, UNNAMED if stored_name is None else str(stored_name))
        rank_column = frames.column_name("run", frame, frames.RANK, required=False)
        if rank_column is None:
            return run.take(run.trec_order())
        ranks = frames.number_column("run", frame, rank_column)[order]
        run = run.take(np.lexsort((ranks, query_rows(query_ptr))))
        _check_scores_fall(run)
        return run

    def _with_empty(self, query_ids: Ids) -> Run:
        """Return the run with these queries, in this order, those that it does not have without documents."""
        counts = dict(zip(self, np.diff(self.query_ptr).tolist(), strict=True))
        query_ptr = pointers([counts.get(name, 0) for name in query_ids.tolist()])
        return replace(self, query_ids=query_ids, query_ptr=query_ptr)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the columns query_id, doc_id, score and rank, a row for each document.

        The rank is the position of the row in its query, from 1. The name of the run is stored in
        `frame.attrs`. `from_frame` restores the run, except for queries without a document, which have no row.

        Returns
        -------
        pandas.DataFrame
            The run.

        """
        numbers = query_rows(self.query_ptr)
        columns = {
            frames.QUERY_ID: self.query_ids[numbers].astype(object),
            frames.DOC_ID: self.doc_ids.astype(object),
            frames.SCORE: self.scores,
            frames.RANK: np.arange(1, self.n_rows + 1) - self.query_ptr[:-1][numbers],
        }
        return frames.new_frame(columns, attrs={"name": self.name})

    def summary(self) -> str:
        """Return the name and the counts.

        Returns
        -------
        str
            One line.

        """
        return f"Run {shown(self.name)}: {self._counts()}"

    def _value_columns(self, rows: slice) -> dict[str, list[Any]]:
        ranks = np.arange(self.n_rows)[rows] - self.query_ptr[:-1][query_rows(self.query_ptr)[rows]] + 1
        return {**super()._value_columns(rows), frames.RANK: ranks.tolist()}

    @property
    def retriever(self) -> Retriever | None:
        """What retrieved the run, parsed from its name; None if it has the default name."""
        return None if self.name == UNNAMED else Retriever.of_tag(self.name)

    @classmethod
    def joined(cls, runs: Sequence[Self]) -> Self:
        """Return the queries of several runs as one run, in order.

        Parameters
        ----------
        runs : sequence of Run
            At least one run. No query is in two of them.

        Returns
        -------
        Run
            The run, with the name of the first.

        """
        columns: dict[str, Any] = {
            "query_ids": np.concatenate([run.query_ids for run in runs]),
            "query_ptr": pointers(np.concatenate([np.diff(run.query_ptr) for run in runs])),
            "doc_ids": np.concatenate([run.doc_ids for run in runs]),
            "scores": np.concatenate([run.scores for run in runs]),
        }
        return replace(runs[0], **columns)

    def trec_order(self) -> Ints:
        """Return the rows of each query as trec_eval orders them: by score, then document id, descending.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64
            Numbers of the rows.

        """
        return trec_order(self.query_ptr, self.scores, self.stored_ids)

    def take(self, order: Ints) -> Run:
        """Return the run with its rows in another order (rows stay within their query).

        Parameters
        ----------
        order : ndarray of shape (n_rows,), dtype int64
            Number of the row that comes to each position.

        Returns
        -------
        Run
            The reordered run.

        """
        return replace(self, doc_ids=self.stored_ids[order], scores=self.scores[order])


def _check_scores_fall(run: Run) -> None:
    """Refuse a run in which a score is above that of the rank before, as trec_eval compares them (float32)."""
    with np.errstate(over="ignore"):
        scores = run.scores.astype(np.float32)
    rises = scores[1:] > scores[:-1]
    rises[run.query_ptr[1:-1] - 1] = False  # queries have rows here: the first row of a query has no row before it
    rows = np.flatnonzero(rises)
    if len(rows):
        row = int(rows[0]) + 1
        query_id = run.query_ids[np.searchsorted(run.query_ptr, row, side="right") - 1]
        raise InvalidInputError(
            f"run: expected scores that do not rise with the rank, got a higher score for document "
            f"{shown(str(run.doc_ids[row]))} of query {shown(str(query_id))} than for the rank before. "
            "Correct the ranks or drop their column."
        )

"""Diversity qrels: the judgements of documents for the subtopics of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InvalidInputError
from rerank.types import frames
from rerank.types.arrays import Ints, joined_rows, pointers, query_rows
from rerank.types.frames import Frame
from rerank.types.ids import Ids, id_array, sort_keys
from rerank.types.qrels import Qrels
from rerank.types.query_table import QueryTable, group_rows

SUBTOPIC = "subtopic"


@dataclass(frozen=True, eq=False, repr=False)
class SubtopicQrels(QueryTable):
    """Relevance judgements of documents for the subtopics of a query.

    Parameters
    ----------
    query_ids : ndarray of shape (n_queries,), dtype str
        The query ids, each once.
    query_ptr : ndarray of shape (n_queries + 1,), dtype int64
        Rows of query q: [query_ptr[q], query_ptr[q + 1]).
    doc_ids : ndarray of shape (n_rows,), dtype str
        Document of each row, ascending within a query; a document has a row for each of its subtopics.
    subtopics : ndarray of shape (n_rows,), dtype str
        Subtopic of each row, ascending within a document.
    labels : ndarray of shape (n_rows,), dtype int64
        Label of each row.

    """

    subtopics: Ids
    labels: Ints

    @classmethod
    def from_rows(cls, query_ids: ArrayLike, subtopics: ArrayLike, doc_ids: ArrayLike, labels: ArrayLike) -> Self:
        """Return judgements made of one query, subtopic, document and label for each row, in any order.

        Parameters
        ----------
        query_ids, subtopics, doc_ids : array of shape (n_rows,), str
            What is judged. The subtopics of two queries differ, whatever their names.
        labels : array of shape (n_rows,), int
            Label of each judgement.

        Returns
        -------
        SubtopicQrels
            The judgements.

        Raises
        ------
        InvalidInputError
            If a document is judged twice for a subtopic, or no query has two subtopics.

        """
        docs, subtopic_ids = id_array(doc_ids), id_array(subtopics)
        names, query_ptr, by_doc = group_rows(id_array(query_ids), docs)
        query = query_rows(query_ptr)
        keys = (*sort_keys(subtopic_ids[by_doc]), *sort_keys(docs[by_doc]), query)
        order = by_doc[np.lexsort(keys)]
        columns = docs[order], subtopic_ids[order]
        same = (query[1:] == query[:-1]) & (columns[0][1:] == columns[0][:-1]) & (columns[1][1:] == columns[1][:-1])
        if same.any():
            row = int(np.flatnonzero(same)[0])
            raise InvalidInputError(
                f"qrels: expected each document once for a subtopic of a query, got {str(columns[0][row])!r} twice "
                f"for subtopic {str(columns[1][row])!r} of query {str(names[query[row]])!r}. Drop one of the rows."
            )
        first = columns[1][np.minimum(query_ptr[:-1], max(len(query) - 1, 0))] if len(query) else columns[1]
        if not (columns[1] != first[query]).any():
            raise InvalidInputError(
                "qrels: expected judgements of subtopics, got no query with two of them. Give rows of query, "
                "subtopic, document and label; without subtopics, measure e.g. nDCG@10."
            )
        return cls(names, query_ptr, columns[0], columns[1], np.asarray(labels, dtype=np.int64)[order])

    @classmethod
    def from_frame(cls, frame: Frame) -> Self:
        """Return judgements made of a data frame with a row for each.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns query_id (or qid), subtopic (or subtopic_id, iteration), doc_id (or docno, doc) and label (or
            relevance); others are ignored.

        Returns
        -------
        SubtopicQrels
            The judgements.

        Raises
        ------
        InvalidInputError
            As for `from_rows`, and if a column is missing or a label is not a whole number.

        """
        query_ids, subtopics, doc_ids = (
            frames.id_column("qrels", frame, name) for name in (frames.QUERY_ID, SUBTOPIC, frames.DOC_ID)
        )
        return cls.from_rows(query_ids, subtopics, doc_ids, frames.label_column("qrels", frame))

    def numbered(self) -> tuple[Qrels, Ints]:
        """Return the judged documents, each once with its number from 1 as its label, and the number of each row.

        Returns
        -------
        documents : Qrels
            The documents.
        numbers : ndarray of shape (n_rows,), dtype int64
            The number of each row's document.

        """
        query = query_rows(self.query_ptr)
        new = np.ones(self.n_rows, dtype=np.bool_)
        new[1:] = (query[1:] != query[:-1]) | (self.doc_ids[1:] != self.doc_ids[:-1])
        counts = np.bincount(query[new], minlength=len(self))
        numbers = np.cumsum(new).astype(np.int64)
        return Qrels(self.query_ids, pointers(counts), self.doc_ids[new], numbers[new]), numbers

    def rows_of(self, query_ids: Ids) -> tuple[Ints, Ints]:
        """Return the rows of some queries, and their `query_ptr`.

        Parameters
        ----------
        query_ids : ndarray of shape (n_queries,), dtype str
            The queries.

        Returns
        -------
        rows : ndarray of shape (n_selected,), dtype int64
            Rows, query by query.
        query_ptr : ndarray of shape (n_queries + 1,), dtype int64
            Where the rows of each query begin and end.

        """
        numbers = self.query_numbers(query_ids.tolist())
        return joined_rows(self.query_ptr[numbers], np.diff(self.query_ptr)[numbers])

    def summary(self) -> str:
        """Return the counts.

        Returns
        -------
        str
            One line.

        """
        return f"SubtopicQrels: {len(self):,} queries, {self.n_rows:,} judgements of subtopics"

    def _value_columns(self, rows: slice) -> dict[str, list[Any]]:
        return {SUBTOPIC: self.subtopics[rows].tolist(), frames.LABEL: self.labels[rows].tolist()}

    def _selected(self, queries: Ints, rows: Ints) -> dict[str, Any]:
        return {"subtopics": self.subtopics[rows], "labels": self.labels[rows]}

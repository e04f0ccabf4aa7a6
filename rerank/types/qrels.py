"""Qrels: the judgements of documents for queries.

Diversity qrels: the judgements of documents for the subtopics of queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError
from rerank.types import frames
from rerank.types.frames import Frame
from rerank.types.ids import Floats, Ids, Ints, id_array, ideal_of_rows, joined_rows, pointers, query_rows, sort_keys
from rerank.types.query_table import QueryTable, group_rows

SUBTOPIC = "subtopic"


@dataclass(frozen=True, eq=False, repr=False)
class Qrels(QueryTable):
    """Relevance judgements.

    Parameters
    ----------
    query_ids : ndarray of shape (n_queries,), dtype str
        The query ids, each once.
    query_ptr : ndarray of shape (n_queries + 1,), dtype int64
        Rows of query q: [query_ptr[q], query_ptr[q + 1]).
    doc_ids : ndarray of shape (n_rows,), dtype str
        Document of each row, ascending within a query.
    labels : ndarray of shape (n_rows,), dtype int64
        Label of each row.

    """

    labels: Ints
    value_names: ClassVar[Mapping[str, str]] = {"labels": frames.LABEL}

    def __getitem__(self, query_id: str) -> dict[str, int]:
        rows = self.rows(query_id)
        return dict(zip(self.doc_ids[rows].tolist(), self.labels[rows].tolist(), strict=True))

    def items(self) -> Iterator[tuple[str, dict[str, int]]]:
        """Return each query id with the label of each of its documents.

        Returns
        -------
        iterator of (str, dict of str to int)
            The query, and the labels by document id.

        """
        return ((query_id, self[query_id]) for query_id in self)

    @classmethod
    def from_rows(cls, query_ids: ArrayLike, doc_ids: ArrayLike, labels: ArrayLike) -> Qrels:
        """Return qrels made of one query id, document id and label for each row, in any order.

        Queries are in the order of their first row. Duplicates are not looked for.

        Parameters
        ----------
        query_ids, doc_ids : array of shape (n_rows,), str
            Query and document of each judgement.
        labels : array of shape (n_rows,), int
            Label of each judgement.

        Returns
        -------
        Qrels
            The judgements.

        """
        names, query_ptr, order = group_rows(id_array(query_ids), id_array(doc_ids))
        return cls(names, query_ptr, id_array(doc_ids)[order], np.asarray(labels, dtype=np.int64)[order])

    @classmethod
    def of(cls, qrels: Qrels | Mapping[str, Mapping[str, int]] | Frame) -> Qrels:
        """Return qrels as they are, or made of a plain `{query id: {document id: label}}` or of a data frame.

        Parameters
        ----------
        qrels : Qrels, mapping or DataFrame
            Judgements; a DataFrame as for `from_frame`.

        Returns
        -------
        Qrels
            The judgements.

        Raises
        ------
        InvalidInputError
            For another form, an id that is neither text nor a whole number, or a label that is not a whole number.

        """
        if isinstance(qrels, cls):
            return qrels
        if frames.is_frame(qrels):
            return cls.from_frame(qrels)  # type: ignore[arg-type]
        return cls.from_frame(frames.MappingFrame.of("qrels", frames.LABEL, qrels))

    @classmethod
    def from_frame(cls, frame: Frame) -> Qrels:
        """Return qrels made of a data frame with a row for each judgement.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns query_id (or qid), doc_id (or docno, doc) and label (or relevance); others are ignored. Rows are in
            any order. Ids are text; whole numbers are converted to their decimal text.

        Returns
        -------
        Qrels

        Raises
        ------
        InvalidInputError
            If a column is missing, ids are not text or whole numbers, labels are not whole numbers, or a query has a
            document twice.

        """
        names, query_ptr, doc_ids, order = frames.grouped_rows("qrels", frame)
        return cls(names, query_ptr, doc_ids, frames.label_column("qrels", frame)[order])

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the columns query_id, doc_id and label, a row for each judgement.

        `from_frame` restores the qrels, except for queries without a judgement, which have no row.

        Returns
        -------
        pandas.DataFrame
            The judgements.

        """
        columns = {
            frames.QUERY_ID: self.query_ids[query_rows(self.query_ptr)].astype(object),
            frames.DOC_ID: self.doc_ids.astype(object),
            frames.LABEL: self.labels,
        }
        return frames.new_frame(columns)

    def summary(self) -> str:
        """Return the counts.

        Returns
        -------
        str
            One line.

        """
        return f"Qrels: {self._counts()}, {np.count_nonzero(self.labels > 0):,} with a positive label"

    def lookup(self, query_ids: Ids, query_ptr: Ints, doc_ids: Ids) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the label of every row of a run (0 if unjudged) and whether it is judged.

        Parameters
        ----------
        query_ids, query_ptr, doc_ids : as for `matches`
            Queries and documents of the run.

        Returns
        -------
        labels : ndarray of shape (n_rows,), dtype int64
            Label of each row, 0 if unjudged.
        judged : ndarray of shape (n_rows,), dtype bool
            Whether the row is judged.

        """
        labels = np.zeros(len(doc_ids), np.int64)
        judged = np.zeros(len(doc_ids), np.bool_)
        rows, qrels_rows = self.matches(query_ids, query_ptr, doc_ids)
        labels[rows], judged[rows] = self.labels[qrels_rows], True
        return labels, judged

    def count(self, label: int, query_ids: Ids) -> Floats:
        """Return how many documents of each query have a given label, (n_queries,) float64.

        Parameters
        ----------
        label : int
            The label.
        query_ids : ndarray of shape (n_queries,), dtype str
            The queries.

        Returns
        -------
        ndarray of shape (n_queries,), dtype float64
            Number of documents of each query.

        """
        counts = np.bincount(query_rows(self.query_ptr)[self.labels == label], minlength=len(self) + 1)
        return counts[self._numbers(query_ids)].astype(np.float64)  # the last element, -1, is for unjudged queries

    def ideal(self, query_ids: Ids) -> tuple[Floats, Ints]:
        """Return all positive labels of the queries, best first, and their `query_ptr`.

        They include judged documents that a run did not retrieve: this is the ideal ranking of nDCG, AP and R.

        Parameters
        ----------
        query_ids : ndarray of shape (n_queries,), dtype str
            The queries.

        Returns
        -------
        labels : ndarray of shape (n_positive,), dtype float64
            Labels, query by query, descending.
        query_ptr : ndarray of shape (n_queries + 1,), dtype int64
            Where the labels of each query begin and end.

        """
        numbers = self._numbers(query_ids)
        counts = np.where(numbers < 0, 0, np.diff(self.query_ptr, append=0)[numbers])
        rows, query_ptr = joined_rows(self.query_ptr[numbers], counts)
        return ideal_of_rows(self.labels[rows].astype(np.float64), query_ptr)


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
    value_names: ClassVar[Mapping[str, str]] = {"subtopics": SUBTOPIC, "labels": frames.LABEL}

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
        docs = id_array(doc_ids)
        subtopic_ids = id_array(subtopics)
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

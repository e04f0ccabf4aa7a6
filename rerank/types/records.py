"""Topics, judgements and runs: queries by id, and their documents with labels or scores."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, Sized, ValuesView
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, shown
from rerank.types.data_frames import (
    DOC_ID,
    LABEL,
    QUERY_ID,
    RANK,
    SCORE,
    TEXT,
    TOPIC_ID,
    Frame,
    MappingFrame,
    column_name,
    column_values,
    frame_of,
    grouped_rows,
    id_column,
    is_frame,
    is_whole,
    label_column,
    new_frame,
    number_column,
    rows_as_frame,
)
from rerank.types.ids import Ids, id_array, id_bytes, repeated_row, row_codes, sort_keys
from rerank.types.query_rows import Floats, Ints, ideal_of_rows, joined_rows, pointers, query_rows, rows_of_groups
from rerank.types.query_table import QueryTable, group_rows, numbered
from rerank.types.retriever import UNNAMED, Retriever
from rerank.types.text_tables import Shown, counted
from rerank.types.tie_order import trec_order

Value = TypeVar("Value", int, float)


@dataclass(frozen=True, repr=False)
class Topics(Shown, Mapping[str, str]):
    """Texts of queries by query id, in the order of the input.

    Parameters
    ----------
    texts : mapping of str to str
        Text of each query, which must not be blank.

    """

    texts: Mapping[str, str]

    def __post_init__(self) -> None:
        for query_id, text in self.texts.items():
            if not isinstance(text, str) or not text.strip():
                of_texts = "Pass one of them, e.g. {i: topic['title'] for i, topic in topics.items()}"  # of Pyserini
                remedy = of_texts if isinstance(text, Mapping) else "Write it or drop the query"
                raise InvalidInputError(f"topics: expected a text for query {query_id!r}, got {shown(text)}. {remedy}.")

    def __getitem__(self, query_id: str) -> str:
        return self.texts[query_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    @classmethod
    def of(cls, topics: Mapping[str, str] | Frame) -> Topics:
        """Return topics as they are, or made of a plain `{query id: text}` or of a data frame.

        Parameters
        ----------
        topics : Topics, mapping, DataFrame or rows
            Topics; a DataFrame as for `from_frame`, or its rows as mappings or named tuples.

        Returns
        -------
        Topics
            The topics.

        Raises
        ------
        InvalidInputError
            If there is no topic, two have the same id, or a text is blank.

        """
        if isinstance(topics, cls):
            return topics
        topics = rows_as_frame(topics)
        if is_frame(topics):
            return cls.from_frame(topics)
        if not isinstance(topics, Mapping) or not len(topics):
            size = f"{len(topics)} entries" if isinstance(topics, Sized) else "no size"
            raise InvalidInputError(
                "topics: expected a non-empty mapping {query id: text}, "
                f"got {type(topics).__name__} of {size}. Pass e.g. {{'q1': 'heat flow'}}."
            )
        return cls._of_rows(map(str, topics), topics.values())

    @classmethod
    def from_frame(cls, frame: Frame) -> Topics:
        """Return topics made of a data frame with a row for each query.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns query_id (or qid) and text (or query); others are ignored. Ids are text; whole numbers are converted
            to their decimal text.

        Returns
        -------
        Topics

        Raises
        ------
        InvalidInputError
            If a column is missing, an id is not text or a whole number or occurs twice, or a text is missing or blank.

        """
        return cls._of_rows(
            id_column("topics", frame, TOPIC_ID).tolist(),
            column_values("topics", frame, column_name("topics", frame, TEXT)).tolist(),
        )

    @classmethod
    def _of_rows(cls, query_ids: Iterable[str], rows: Iterable[Any]) -> Topics:
        texts: dict[str, str] = {}
        for query_id, text in zip(query_ids, rows, strict=True):
            if query_id in texts:
                raise InvalidInputError(
                    f"topics: expected each query id once, got {query_id!r} twice. Rename one of the two."
                )
            texts[query_id] = str(text) if is_whole(text) else text
        return cls(texts)

    def summary(self) -> str:
        """Return the number of topics.

        Returns
        -------
        str
            One line.

        """
        return f"Topics: {counted(len(self), 'query', 'queries')}"

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the first n topics.

        Parameters
        ----------
        n : int
            Number of topics.

        Returns
        -------
        header : list of str
            The column names.
        rows : list of list
            Id and text of the first n topics.
        n_rows : int
            Number of all topics.

        """
        return ["query_id", "text"], [list(row) for row in islice(self.texts.items(), n)], len(self)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the columns query_id and text, a row for each query.

        Returns
        -------
        pandas.DataFrame
            The topics.

        """
        columns = {QUERY_ID: list(self.texts), TEXT: list(self.texts.values())}
        return new_frame({name: np.array(values, dtype=object) for name, values in columns.items()})


SUBTOPIC = "subtopic"


@dataclass(frozen=True, eq=False, repr=False)
class QueryValues(QueryTable, Generic[Value]):
    """A value of each document of queries: `{query id: {document id: value}}`, as a mapping."""

    def __getitem__(self, query_id: str) -> dict[str, Value]:
        rows = self.rows(query_id)
        values = getattr(self, next(iter(self.value_names)))
        return dict(zip(self.doc_ids[rows].tolist(), values[rows].tolist(), strict=True))

    def keys(self) -> KeysView[str]:
        """Return the query ids.

        Returns
        -------
        KeysView of str
            The ids, in the order of the rows.

        """
        return self._positions.keys()

    def get(self, query_id: str, default: Any = None) -> Any:
        """Return the values of a query, or a default.

        Parameters
        ----------
        query_id : str
            The query.
        default : object
            What is returned for a query that is not there.

        Returns
        -------
        dict of str to int or float
            The values by document id.

        """
        try:
            return self[query_id]
        except KeyError:
            return default

    def items(self) -> ItemsView[str, dict[str, Value]]:
        """Return each query id with the value of each of its documents.

        Returns
        -------
        ItemsView of (str, dict of str to int or float)
            The query, and the labels or scores by document id.

        """
        return ItemsView(self)

    def values(self) -> ValuesView[dict[str, Value]]:
        """Return the values of the documents of each query.

        Returns
        -------
        ValuesView of dict of str to int or float
            The labels or scores by document id.

        """
        return ValuesView(self)

    def _id_columns(self) -> dict[str, NDArray[Any]]:
        """Return the query id and the document id of each row, as columns of a data frame."""
        return {
            QUERY_ID: self.query_ids[query_rows(self.query_ptr)].astype(object),
            DOC_ID: self.doc_ids.astype(object),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Qrels(QueryValues[int]):
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
    value_names: ClassVar[Mapping[str, str]] = {"labels": LABEL}

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
        qrels : Qrels, mapping, DataFrame or rows
            Judgements, also of ranx; a DataFrame as for `from_frame`, or its rows as mappings or named tuples (of
            ir_measures).

        Returns
        -------
        Qrels
            The judgements.

        Raises
        ------
        InvalidInputError
            For another form, an id that is neither text nor a whole number, or a label that is not a whole number.

        """
        return qrels if isinstance(qrels, cls) else cls.from_frame(frame_of("qrels", LABEL, qrels))

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
        names, query_ptr, doc_ids, order = grouped_rows("qrels", frame)
        return cls(names, query_ptr, doc_ids, label_column(frame)[order])

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the columns query_id, doc_id and label, a row for each judgement.

        `from_frame` restores the qrels, except for queries without a judgement, which have no row.

        Returns
        -------
        pandas.DataFrame
            The judgements.

        """
        return new_frame({**self._id_columns(), LABEL: self.labels})

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
    value_names: ClassVar[Mapping[str, str]] = {"subtopics": SUBTOPIC, "labels": LABEL}

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
        names, query = numbered(id_array(query_ids))
        columns = id_array(doc_ids), id_array(subtopics)
        order = np.lexsort((*sort_keys(columns[1]), *sort_keys(columns[0]), query))
        query = query[order]
        docs, subtopic_ids = (column[order] for column in columns)
        same = (query[1:] == query[:-1]) & (docs[1:] == docs[:-1]) & (subtopic_ids[1:] == subtopic_ids[:-1])
        wrong = np.flatnonzero(same)
        if len(wrong):
            row = wrong[0]
            raise InvalidInputError(
                f"qrels: expected each document once for a subtopic of a query, got {str(docs[row])!r} twice "
                f"for subtopic {str(subtopic_ids[row])!r} of query {str(names[query[row]])!r}. Drop one of the rows."
            )
        query_ptr = pointers(np.bincount(query, minlength=len(names)))
        if (subtopic_ids == subtopic_ids[query_ptr[query]]).all():
            raise InvalidInputError(
                "qrels: expected judgements of subtopics, got no query with two of them. Give rows of query, "
                "subtopic, document and label; without subtopics, measure e.g. nDCG@10."
            )
        return cls(names, query_ptr, docs, subtopic_ids, np.asarray(labels, dtype=np.int64)[order])

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
        query_ids, subtopics, doc_ids = (id_column("qrels", frame, name) for name in (QUERY_ID, SUBTOPIC, DOC_ID))
        return cls.from_rows(query_ids, subtopics, doc_ids, label_column(frame))

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
        return rows_of_groups(self.query_ptr, self.query_numbers(query_ids.tolist()))

    def summary(self) -> str:
        """Return the counts.

        Returns
        -------
        str
            One line.

        """
        return f"SubtopicQrels: {len(self):,} queries, {self.n_rows:,} judgements of subtopics"


@dataclass(frozen=True, eq=False, repr=False)
class Run(QueryValues[float]):
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
    value_names: ClassVar[Mapping[str, str]] = {"scores": SCORE}

    def own_rows(self) -> Ints:
        """Return the rows whose document has the id of its query.

        Returns
        -------
        ndarray of shape (n_own,), dtype int64
            The rows, ascending.

        """
        ids = id_bytes(self.query_ids) if self.stored_ids.dtype.kind == "S" else self.query_ids
        rows = zip(self.query_ptr[:-1].tolist(), self.query_ptr[1:].tolist(), ids, strict=True)
        parts = [first + np.flatnonzero(self.stored_ids[first:last] == own) for first, last, own in rows]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def without_own(self) -> Self:
        """Return the run without the document that has the id of its query.

        Where topics are documents of the collection, as ArguAna's, each finds itself first.

        Returns
        -------
        Run
            The other rows; a query without one remains, without rows.

        """
        return self.of_rows(np.delete(np.arange(self.n_rows), self.own_rows()))

    def each_once(self) -> Self:
        """Return the run with the first row of each document of a query.

        An index may hold several documents of one id, and files of runs do not.

        Returns
        -------
        Run
            The rows, in their order; this run where no document is repeated.

        """
        query = query_rows(self.query_ptr)
        if repeated_row(query, self.stored_ids) is None:
            return self
        return self.of_rows(np.sort(np.unique(row_codes(query, self.stored_ids), return_index=True)[1]))

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
        run : Run, mapping, DataFrame or rows
            A run, also of ranx; a mapping may have hits of Pyserini or pairs of document and score for each query, and
            queries without documents; a DataFrame as for `from_frame`, or its rows as mappings or named tuples.

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
        table = rows_as_frame(run)
        filled = cls.from_frame(frame_of("run", SCORE, table))
        if not isinstance(table, Mapping) or len(filled) == len(table):
            return filled
        names = np.fromiter(table, dtype=object, count=len(table))  # also of queries without a document
        query_ids = id_column("run", MappingFrame({QUERY_ID: names}, 0), QUERY_ID)
        counts = dict(zip(filled, np.diff(filled.query_ptr).tolist(), strict=True))
        query_ptr = pointers([counts.get(name, 0) for name in query_ids.tolist()])
        return replace(filled, query_ids=query_ids, query_ptr=query_ptr)

    @classmethod
    def from_frame(cls, frame: Frame, name: str = UNNAMED) -> Run:
        """Return a run made of a data frame with a row for each document.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns query_id (or qid), doc_id (or docno, doc), score or rank, or both; others are ignored. Rows are
            in any order. Documents are ordered by rank if there is one, else as in trec_eval: by score, then
            document id, descending. Without scores, they are 1 / rank. Ids are text; whole numbers are converted to
            their decimal text.
        name : str
            Name of the run.

        Returns
        -------
        Run

        Raises
        ------
        InvalidInputError
            If a column is missing, ids are not text or whole numbers, scores or ranks are not finite numbers, scores
            contradict the ranks, or a query has a document twice.

        """
        names, query_ptr, doc_ids, order = grouped_rows("run", frame)
        rank_column = column_name("run", frame, RANK, required=False)
        ranks = None if rank_column is None else number_column("run", frame, rank_column)[order]
        score_column = column_name("run", frame, SCORE, required=ranks is None)
        if ranks is not None and score_column is None:  # as those of files of ranks
            scores = 1.0 / (ranks - ranks.min(initial=np.inf) + 1.0)
        else:
            scores = number_column("run", frame, score_column)[order]
        run = cls(names, query_ptr, doc_ids, scores, name)
        if ranks is None:
            return run.take(run.trec_order())
        run = run.take(np.lexsort((ranks, query_rows(query_ptr))))
        with np.errstate(over="ignore", invalid="ignore"):
            rises = np.diff(run.scores.astype(np.float32), prepend=np.float32(np.inf)) > 0  # as trec_eval compares them
        rises[query_ptr[:-1]] = False  # the first row of a query has no row before it
        wrong = np.flatnonzero(rises)
        if len(wrong):
            row = wrong[0]
            raise InvalidInputError(
                f"run: expected scores that do not rise with the rank, got a higher score for document "
                f"{shown(str(run.doc_ids[row]))} of query {shown(str(names[query_rows(query_ptr)[row]]))} than for the "
                "rank before. Correct the ranks or drop their column."
            )
        return run

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the columns query_id, doc_id, score and rank, a row for each document.

        The rank is the position of the row in its query, from 1. `from_frame` restores the run, except for its name
        and queries without a document, which have no row.

        Returns
        -------
        pandas.DataFrame
            The run.

        """
        return new_frame({**self._id_columns(), SCORE: self.scores, RANK: self.places()})

    def summary(self) -> str:
        """Return the name and the counts.

        Returns
        -------
        str
            One line.

        """
        return f"Run {shown(self.name)}: {self._counts()}"

    def _value_columns(self, rows: slice) -> dict[str, list[Any]]:
        return {**super()._value_columns(rows), RANK: self.places()[rows].tolist()}

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

    def check_finite(self) -> None:
        """Raise InvalidInputError where a score is not finite.

        Raises
        ------
        InvalidInputError
            With the score and the document that has it.

        """
        wrong = np.flatnonzero(~np.isfinite(self.scores))
        if len(wrong):
            row = wrong[0]
            raise InvalidInputError(
                f"run {self.name}: expected finite scores, got {self.scores[row]} for document "
                f"{str(self.doc_ids[row])!r}. Score it or leave it out."
            )

    def trec_order(self) -> Ints:
        """Return the rows of each query as trec_eval orders them: by score, then document id, descending.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64
            Numbers of the rows.

        """
        return trec_order(self.query_ptr, self.scores, self.stored_ids)

    def take(self, order: Ints) -> Self:
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

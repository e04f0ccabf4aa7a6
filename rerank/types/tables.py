"""Tables: rows of documents, query by query, data frames as input and output, and short tables of text.

`QueryTable` is the base class of qrels, runs and ranking data; `Shown` that of what is shown as text.

pandas is imported only where a frame is made; input frames are known by attributes. The accepted column names are those
of this package, ir_measures and PyTerrier:

query id      query_id, qid
document id   doc_id, docno, doc
score         score
rank          rank
label         label, relevance
subtopic      subtopic, subtopic_id, iteration
topic         text, query

An id is text. Whole numbers are converted to their decimal text (301 is '301'), which cannot restore leading zeros that
were lost when a file was read as numbers: read ids with `dtype=str`. Ids of any other type are refused.
"""

import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, RerankError, shown
from rerank.runtime.threads import in_threads
from rerank.types.hash_slots import find_in_slots, hash_slots
from rerank.types.ids import Ids, Words, id_array, id_bytes, id_texts, repeated_row, row_codes, sort_keys
from rerank.types.query_rows import Floats, Ints, are_pointers, joined_rows, pointers, query_blocks, query_rows

FIRST_ROWS = 5  # rows shown
FIRST_COLUMNS = 8  # columns shown
MOST_CHARACTERS = 40  # of a cell


class Shown:
    """Base class of data structures that are shown as one line of counts and a table of their first rows."""

    @abstractmethod
    def summary(self) -> str:
        """Return one line with the name and the counts of the object."""

    @abstractmethod
    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the column names, the values of the first n rows, and the number of all rows."""

    def _cells(self) -> tuple[list[list[str]], list[list[Any]], int]:
        """Return the header and the first rows as texts, the values of these rows, and the number of all rows."""
        header, rows, n_rows = self.first_rows(FIRST_ROWS)
        others = ["..."] if len(header) > FIRST_COLUMNS else []
        return [[*map(_cell, row[:FIRST_COLUMNS]), *others] for row in (header, *rows)], rows, n_rows

    def _repr_html_(self) -> str:
        """Return the counts and the first rows for a notebook."""
        (header, *cells), rows, n_rows = self._cells()
        more = "<p>...</p>" if n_rows > len(rows) else ""
        return f"<p>{escape(self.summary())}</p>\n{text_table(cells, header, len(header), 'html')}{more}"

    def __repr__(self) -> str:
        """Return the counts and the first rows as text."""
        cells, rows, n_rows = self._cells()
        aligned = []
        for column, texts in enumerate(zip(*cells, strict=True)):
            is_number = bool(rows) and all(isinstance(row[column], int | float) for row in rows)
            width = max(map(len, texts))
            aligned.append([text.rjust(width) if is_number else text.ljust(width) for text in texts])
        lines = ["  ".join(line).rstrip() for line in zip(*aligned, strict=True)]
        return "\n".join([self.summary(), *lines, *(["..."] if n_rows > len(rows) else [])])


def text_table(rows: Sequence[Sequence[Any]], header: Sequence[str], n_left: int = 1, form: str = "simple") -> str:
    """Return a table of text: the first `n_left` columns are left-aligned, the others right-aligned."""
    from tabulate import tabulate  # imported here: most commands write no table

    align = ("left",) * n_left + ("right",) * (len(header) - n_left)
    return tabulate(rows, header, tablefmt=form, disable_numparse=True, colalign=align)


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 query` or `2 queries`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _cell(value: Any) -> str:
    """Return a value on one line, shortened."""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    text = str(value)
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


@dataclass(frozen=True, eq=False, repr=False)
class QueryTable(Shown):
    """Rows of documents, query by query."""

    query_ids: Ids
    query_ptr: Ints
    doc_ids: Ids
    stored_ids: ClassVar[NDArray[Any]]  # doc_ids of the instance as they are stored: text or UTF-8 bytes
    _positions: ClassVar[dict[str, int]]
    value_names: ClassVar[Mapping[str, str]] = {}  # the further columns of rows: how tables call them

    def __post_init__(self) -> None:
        positions = {str(query_id): number for number, query_id in enumerate(self.query_ids)}
        if len(positions) != len(self.query_ids):
            raise InvalidInputError(
                f"{type(self).__name__}: expected each query id once, got one twice. Put the rows of a query together."
            )
        if not are_pointers(self.query_ptr, len(positions), self.n_rows):
            raise InvalidInputError(
                f"{type(self).__name__}: expected query_ptr of {len(positions) + 1} whole numbers that rise from 0 to "
                f"{self.n_rows}, got others. Pass the first row of each query, and the number of rows."
            )
        vars(self)["_positions"] = positions

    def __len__(self) -> int:
        return len(self.query_ids)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._positions

    def __iter__(self) -> Iterator[str]:
        return (str(query_id) for query_id in self.query_ids)

    def rows(self, query_id: str) -> slice:
        """Return the rows of one query.

        Parameters
        ----------
        query_id : str
            The query.

        Returns
        -------
        slice
            Its rows.

        Raises
        ------
        KeyError
            If the table does not have the query.

        """
        number = self._positions[query_id]
        return slice(int(self.query_ptr[number]), int(self.query_ptr[number + 1]))

    def query_numbers(self, query_ids: Iterable[str]) -> Ints:
        """Return the numbers of some queries; those that the table does not have are left out.

        Parameters
        ----------
        query_ids : iterable of str
            The queries.

        Returns
        -------
        ndarray of shape (n_known,), dtype int64
            Numbers of the queries, from 0, in the given order.

        """
        return np.array([self._positions[query] for query in query_ids if query in self._positions], dtype=np.int64)

    def matches(self, query_ids: Ids, query_ptr: Ints, doc_ids: NDArray[Any]) -> tuple[Ints, Ints]:
        """Return which of other rows the table has, and their rows in the table.

        Parameters
        ----------
        query_ids : ndarray of shape (n_queries,), dtype str
            The queries of the other rows.
        query_ptr : ndarray of shape (n_queries + 1,), dtype int64
            Rows of query q: [query_ptr[q], query_ptr[q + 1]).
        doc_ids : ndarray of shape (n_rows,), dtype str or bytes
            Document of each row.

        Returns
        -------
        rows : ndarray of shape (n_matches,), dtype int64
            The other rows that the table has, ascending.
        own_rows : ndarray of shape (n_matches,), dtype int64
            Their rows in the table.

        """
        numbers = self._numbers(query_ids)
        own_query, own_codes, slots = self._index

        def find(block: tuple[int, int]) -> tuple[Ints, Ints]:
            first, last = block
            start = int(query_ptr[first])
            query = np.repeat(numbers[first:last], np.diff(query_ptr[first : last + 1]))
            docs = doc_ids[start : int(query_ptr[last])]
            codes = row_codes(query, docs)

            def is_same(own_rows: Ints, rows: Ints) -> NDArray[np.bool_]:
                same: NDArray[np.bool_] = own_codes[own_rows] == codes[rows]
                alike = np.flatnonzero(same)
                own, other = own_rows[alike], rows[alike]
                are_docs = id_bytes(self.stored_ids[own]) == id_bytes(docs[other])
                same[alike] = are_docs & (own_query[own] == query[other])
                return same

            own_rows = find_in_slots(slots, codes, is_same)
            rows = np.flatnonzero(own_rows >= 0)
            return rows + start, own_rows[rows]

        parts = [(np.empty(0, np.int64), np.empty(0, np.int64)), *in_threads(find, query_blocks(query_ptr))]
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([own_rows for _, own_rows in parts])

    @cached_property
    def _index(self) -> tuple[Ints, Words, NDArray[np.int32]]:
        """The query of each row, its hash, and the hash table of the rows."""
        query = query_rows(self.query_ptr)
        codes = row_codes(query, self.stored_ids)
        return query, codes, hash_slots(codes)

    def _numbers(self, query_ids: Ids) -> Ints:
        """Return the number of each query in the table, -1 if it does not have it."""
        return np.array([self._positions.get(query_id, -1) for query_id in query_ids.tolist()], dtype=np.int64)

    def select(self, queries: ArrayLike) -> Self:
        """Return some queries, given by number, in that order.

        Parameters
        ----------
        queries : array of shape (n_selected,), int
            Numbers of the queries, from 0, see `query_numbers`.

        Returns
        -------
        object of the same class
            Their rows.

        """
        numbers = np.asarray(queries, dtype=np.int64)
        rows, query_ptr = joined_rows(self.query_ptr[numbers], np.diff(self.query_ptr)[numbers])
        columns = {"query_ids": self.query_ids[numbers], "query_ptr": query_ptr, "doc_ids": self.stored_ids[rows]}
        return replace(self, **columns, **self._selected(numbers, rows))

    def of_rows(self, rows: ArrayLike) -> Self:
        """Return some rows, given by number in ascending order; queries without one remain, without rows.

        Parameters
        ----------
        rows : array of shape (n_selected,), int
            Numbers of the rows, from 0.

        Returns
        -------
        object of the same class
            The rows.

        """
        numbers = np.asarray(rows, dtype=np.int64)
        counts = np.bincount(query_rows(self.query_ptr)[numbers], minlength=len(self))
        columns = {"query_ptr": pointers(counts), "doc_ids": self.stored_ids[numbers]}
        return replace(self, **columns, **self._selected(np.arange(len(self)), numbers))

    def head(self, k: int) -> Self:
        """Return the first k rows of each query, which in retrieved data are the best documents of the first stage.

        Parameters
        ----------
        k : int
            Number of rows.

        Returns
        -------
        object of the same class
            The first rows.

        """
        firsts = self.query_ptr[query_rows(self.query_ptr)]
        return self.of_rows(np.flatnonzero(np.arange(self.n_rows) - firsts < k))

    @property
    def n_rows(self) -> int:
        """Number of query-document pairs."""
        return len(self.stored_ids)

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the column names, the values of the first n rows, and the number of all rows.

        Parameters
        ----------
        n : int
            Number of rows.

        Returns
        -------
        header : list of str
            The column names.
        rows : list of list
            The values of the first n rows.
        n_rows : int
            Number of all rows.

        """
        rows = slice(0, n)
        ids = self.stored_ids[rows]
        columns = {
            "query_id": self.query_ids[query_rows(self.query_ptr)[rows]].tolist(),
            "doc_id": (id_texts(ids) if ids.dtype.kind == "S" else ids).tolist(),
            **self._value_columns(rows),
        }
        return list(columns), [list(row) for row in zip(*columns.values(), strict=True)], self.n_rows

    def _selected(self, queries: Ints, rows: Ints) -> dict[str, Any]:
        """Return the further columns of some queries, by their numbers, and of their rows."""
        return {name: getattr(self, name)[rows] for name in self.value_names}

    def _counts(self) -> str:
        return f"{counted(len(self), 'query', 'queries')}, {counted(self.n_rows, 'document')}"

    def _value_columns(self, rows: slice) -> dict[str, list[Any]]:
        """Return the values of some rows, by column."""
        return {column: getattr(self, name)[rows].tolist() for name, column in self.value_names.items()}


def _doc_ids(table: Any) -> Ids:
    """Return the document ids of a table as text, decoded at the first access."""
    if table.stored_ids.dtype.kind == "S":
        vars(table)["stored_ids"] = id_texts(table.stored_ids)
    return table.stored_ids  # type: ignore[no-any-return]


QueryTable.doc_ids = property(_doc_ids, lambda table, ids: vars(table).update(stored_ids=ids))  # type: ignore


def numbered(ids: Ids) -> tuple[Ids, Ints]:
    """Return distinct ids by first appearance, and the number of each id among them."""
    names, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return names[order], np.argsort(order)[inverse.reshape(-1)]


def group_rows(query_ids: Ids, doc_ids: Ids) -> tuple[Ids, Ints, Ints]:
    """Return query ids by first appearance, query_ptr, and the rows sorted by (query, document id)."""
    names, query = numbered(query_ids)
    return names, pointers(np.bincount(query, minlength=len(names))), np.lexsort((*sort_keys(doc_ids), query))


QUERY_ID = "query_id"
DOC_ID = "doc_id"
SCORE = "score"
RANK = "rank"
LABEL = "label"
TEXT = "text"
MISSING = ("NAType", "NaTType")  # of pandas, by name: pandas is not imported
ALIASES: Mapping[str, tuple[str, ...]] = {
    QUERY_ID: ("query_id", "qid"),
    DOC_ID: ("doc_id", "docno", "doc"),
    SCORE: ("score",),
    RANK: ("rank",),
    LABEL: ("label", "relevance"),
    "subtopic": ("subtopic", "subtopic_id", "iteration"),
    TEXT: ("text", "query"),
}
_ID = re.compile(r"[^\0\ud800-\udfff]+")  # without NUL, which NumPy drops, and halves of surrogate pairs
Frame = Any  # a data frame of pandas, or any other with `columns` that are read by name


@dataclass(frozen=True, eq=False)
class MappingFrame:
    """Columns as a data frame: of `{query id: {document id: value}}`, or of rows of a file, from `first` on."""

    values: Mapping[str, Any]
    first: int | None = None

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.values)

    def __getitem__(self, name: str, /) -> Any:
        return self.values[name]

    def place(self, row: int) -> str:
        """Return the name of a row in messages."""
        if self.first is not None:
            return f"row {self.first + row}"
        return f"document {shown(self.values[DOC_ID][row])} of query {shown(self.values[QUERY_ID][row])}"


def frame_of(what: str, column: str, table: Any) -> Frame:
    """Return a data frame as it is, or the rows of a mapping as one, whose values are the `column`."""
    if is_frame(table):
        return table
    by_query = table.values() if isinstance(table, Mapping) else [table]
    wrong = [value for value in by_query if not isinstance(value, Mapping)]
    if wrong:
        raise InvalidInputError(
            f"{what}: expected a {what} object or {{query id: {{document id: {column}}}}}, got {shown(wrong[0])} "
            f"({type(wrong[0]).__name__}). Read one with rerank.read_{what}."
        )
    queries = [query_id for query_id, documents in table.items() for _ in documents]
    docs = [doc_id for documents in table.values() for doc_id in documents]
    values = [value for documents in table.values() for value in documents.values()]
    columns = {QUERY_ID: queries, DOC_ID: docs, column: values}
    return MappingFrame({name: np.fromiter(cells, dtype=object, count=len(cells)) for name, cells in columns.items()})


def place(frame: Frame, row: Any) -> str:
    """Return the name of a row in messages."""
    return frame.place(row) if isinstance(frame, MappingFrame) else f"row {row}"


def refuse_categories(what: str, column: Any, name: Any = None) -> None:
    """Refuse a column of categories (pandas, polars, pyarrow), even of numbers: their order need not mean anything."""
    kind = str(getattr(column, "dtype", getattr(column, "type", "")))
    if kind.lower().startswith(("category", "categorical", "enum", "dictionary")):
        of_column = "" if name is None else f" in column {shown(name)}"
        raise InvalidInputError(
            f"{what}: expected numbers, got categories{of_column}. Convert them to numbers, or train boosted trees, "
            "which take pandas columns of the dtype category, by fit(X, y, qid=)."
        )


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, or what pandas has for a missing one."""
    return (
        value is None
        or type(value).__name__ in MISSING
        or (isinstance(value, float | np.generic) and bool(value != value))
    )


def plain_value(value: Any) -> Any:
    """Return a scalar of NumPy, pandas or Arrow, or an array of one, as Python's value; anything else as it is."""
    value = value.as_py() if hasattr(value, "as_py") else value
    is_scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim)
    return value.item() if is_scalar else value


def number_of(value: Any) -> int | float | None:
    """Return a number of any type as int or float: NaN of a missing value, None of what is no number.

    True is 1; numbers are what has `__float__` (Decimal, Fraction, a scalar of NumPy, Arrow, PyTorch), but text.
    """
    value = plain_value(value)
    if value is None or type(value).__name__ in MISSING:
        return math.nan
    if isinstance(value, int | float):
        return float(value) if isinstance(value, float) else int(value)
    if isinstance(value, str | bytes | complex | np.ndarray) or not hasattr(value, "__float__"):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None


def unmasked(values: Any) -> Any:
    """Return a masked array with None, or NaN among numbers, where it is masked; other values as they are."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    missing: Any = np.nan if values.dtype.kind in "biuf" else None
    mask = np.ma.getmaskarray(values)
    return np.where(mask, missing, np.ma.getdata(values)) if mask.any() else np.ma.getdata(values)


def is_frame(value: Any) -> bool:
    """Return whether a value is a data frame, without importing a frame library."""
    return hasattr(value, "columns") and hasattr(value, "dtypes") and not isinstance(value, Mapping)


def frame_rows(frame: Any) -> list[dict[str, Any]]:
    """Return each row of a data frame as a mapping of its columns; arrays, as of lists in Parquet, become lists."""
    columns = {
        str(name): [value.tolist() if isinstance(value, np.ndarray) else value for value in frame[name]]
        for name in frame.columns
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def new_frame(columns: Mapping[str, Any], index: tuple[str, Any] | None = None) -> Any:
    """Return a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise RerankError(
            "pandas: expected it installed to make a data frame, got none. Run `pip install pandas`."
        ) from error
    return pd.DataFrame(dict(columns), index=None if index is None else pd.Index(index[1], name=index[0]))


def column_name(what: str, frame: Frame, column: str, required: bool = True) -> str | None:
    """Return the name that a frame gives a column; refuse a frame without it or with two of its names."""
    names = [name for name in ALIASES.get(column, (column,)) if name in list(frame.columns)]
    if len(names) > 1:
        raise InvalidInputError(
            f"{what}: expected one column of {' or '.join(names)}, got both. Drop one from the data frame."
        )
    if not names and required:
        have = shown(", ".join(str(name) for name in frame.columns))
        raise InvalidInputError(
            f"{what}: expected a column {' or '.join(ALIASES.get(column, (column,)))}, got {have}. Rename the columns."
        )
    return names[0] if names else None


def id_column(what: str, frame: Frame, column: str) -> Ids:
    """Return the ids (n_rows,) of a frame as text; whole numbers become their decimal text."""
    name = column_name(what, frame, column)
    values = np.asarray(unmasked(frame[name]))
    if values.dtype.kind in "iu":
        return id_array(values.astype(np.str_))
    listed = values.astype(object).tolist()
    for row, value in enumerate(listed) if not set(map(type, listed)) <= {str, int} else ():
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not (isinstance(value, str) or is_whole):
            raise InvalidInputError(
                f"{what}: expected text or whole numbers in column {name}, got {shown(value)} "
                f"({type(value).__name__}) at {place(frame, row)}. Convert the ids to text."
            )
    ids = [str(value) for value in listed]
    are_right = all(ids) and _ID.fullmatch("".join(ids))  # in one call
    wrong = None if are_right else next((row for row, text in enumerate(ids) if _ID.fullmatch(text) is None), None)
    if wrong is not None:
        remedy = "Take NUL and halves of surrogate pairs out" if ids[wrong] else "Name each one"
        raise InvalidInputError(
            f"{what}: expected ids in column {name}, got {shown(ids[wrong])} at {place(frame, wrong)}. {remedy}."
        )
    return id_array(ids)


def number_column(what: str, frame: Frame, name: Any, allow_nan: bool = False) -> Floats:
    """Return the numbers (n_rows,) float64 of a frame's column; text, missing and infinite values are refused.

    NaN and other missing values become NaN if `allow_nan`.
    """
    values = np.asarray(unmasked(frame[name]))
    if values.ndim > 1:
        raise InvalidInputError(f"{what}: expected each column once, got {shown(name)} again. Rename or drop one.")
    if values.dtype.kind not in "biuf":
        rows = enumerate(values.tolist())
        values = np.array([_number(what, frame, name, row, value) for row, value in rows], np.float64)
    numbers: Floats = values.astype(np.float64)
    bad = np.flatnonzero(np.isinf(numbers) if allow_nan else ~np.isfinite(numbers))
    if len(bad):
        raise InvalidInputError(
            f"{what}: expected finite numbers in column {name}, got {numbers[bad[0]]} at {place(frame, bad[0])}. "
            "Correct it or drop the row."
        )
    return numbers


def _number(what: str, frame: Frame, name: Any, row: int, value: Any) -> float:
    number = number_of(value)
    if number is not None:
        try:
            return float(number)
        except OverflowError:  # a whole number beyond float64
            return math.inf
    raise InvalidInputError(
        f"{what}: expected numbers in column {shown(name)}, got {shown(value)} ({type(value).__name__}) at "
        f"{place(frame, row)}. Convert the column, or drop it."
    )


def label_column(what: str, frame: Frame) -> Ints:
    """Return the labels (n_rows,) int64 of a frame; a label that is not a whole number is refused."""
    name = column_name(what, frame, LABEL)
    values = np.asarray(unmasked(frame[name]))
    if values.dtype.kind == "i" or (values.dtype.kind == "O" and set(map(type, values.tolist())) == {int}):
        with suppress(OverflowError):  # refused below
            return values.astype(np.int64)
    labels = number_column(what, frame, name)
    bad = np.flatnonzero((labels != np.floor(labels)) | (np.abs(labels) >= 2.0**63))
    if len(bad):
        raise InvalidInputError(
            f"{what}: expected whole numbers as labels, got {labels[bad[0]]:g} at {place(frame, bad[0])}. Round or "
            "scale them."
        )
    return labels.astype(np.int64)


def grouped_rows(what: str, frame: Frame) -> tuple[Ids, Ints, Ids, Ints]:
    """Return the query ids, their pointers, the documents in their order, and the order of the frame's rows."""
    query_ids = id_column(what, frame, QUERY_ID)
    doc_ids = id_column(what, frame, DOC_ID)
    names, query = numbered_queries(what, query_ids, doc_ids)
    order = np.lexsort((*sort_keys(doc_ids), query))
    return names, pointers(np.bincount(query, minlength=len(names))), doc_ids[order], order


def numbered_queries(what: str, query_ids: Ids, doc_ids: Ids) -> tuple[Ids, Ints]:
    """Return the query ids, and the number of each row's query; refuse a document that a query has twice."""
    names, query = numbered(query_ids)
    row = repeated_row(query, doc_ids)
    if row is not None:
        raise InvalidInputError(
            f"{what}: expected each document once in a query, got {shown(str(doc_ids[row]))} twice in query "
            f"{shown(str(query_ids[row]))}. Drop one of the rows."
        )
    return names, query

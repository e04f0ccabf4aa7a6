"""Data frames as input and output.

pandas is imported only where a frame is made; input frames are known by attributes. The accepted column names are those
of this package, ir_measures and PyTerrier:

query id      query_id, qid
document id   doc_id, docno, doc
score         score
rank          rank
label         label, relevance
subtopic      subtopic, subtopic_id, iteration
topic         text, query

A column that is needed may have the name of another tool, too (`OTHER_NAMES`), in whatever case and with `-`, `_` or
blanks between its words; files that name their columns are read by the same names.

An id is text. Whole numbers are converted to their decimal text (301 is '301'), which cannot restore leading zeros that
were lost when a file was read as numbers: read ids with `dtype=str`. Ids of any other type are refused.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, RerankError, shown
from rerank.runtime.fields import first_repeated
from rerank.types.ids import Ids, id_array, repeated_row, sort_keys
from rerank.types.query_rows import Floats, Ints, pointers
from rerank.types.query_table import numbered

QUERY_ID = "query_id"
DOC_ID = "doc_id"
SCORE = "score"
RANK = "rank"
LABEL = "label"
TEXT = "text"
TOPIC_ID = "topic id"  # of topics, whose column `query` has their texts
MISSING = ("NAType", "NaTType")  # of pandas, by name: pandas is not imported
ALIASES: Mapping[str, tuple[str, ...]] = {
    QUERY_ID: ("query_id", "qid"),
    DOC_ID: ("doc_id", "docno", "doc"),
    SCORE: ("score",),
    RANK: ("rank",),
    LABEL: ("label", "relevance"),
    "subtopic": ("subtopic", "subtopic_id", "iteration"),
    TEXT: ("text", "query"),
    TOPIC_ID: ("query_id", "qid"),
}
HEADERS = (
    "qid",
    "queryid",
    "topicid",
    "topid",
    "qno",
    "topicno",
    "qnum",
    "querynum",
    "topicnum",
    "querynumber",
    "topicnumber",
)
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {  # as `plain_name` gives them; of several the first is meant
    QUERY_ID: (*HEADERS, "topic", "query", "querytext"),
    DOC_ID: ("docno", "docid", "corpusid", "pid", "did", "doc", "documentid", "document", "productid", "itemid"),
    SCORE: ("score",),
    RANK: ("rank",),
    LABEL: ("label", "relevance", "rel", "rating", "grade", "score"),
    TEXT: ("text", "query", "querytext", "title", "input", "question", "topic"),
    TOPIC_ID: ("id", *HEADERS, "number", "topic", "num", "tid"),
}
_VALUES = {  # of lists of documents: how they get values
    SCORE: "{q: {d: -n for n, d in enumerate(docs)} for q, docs in run.items()}; of hits, "
    "{q: {hit['id']: hit['score'] for hit in hits} for q, hits in run.items()}",
    LABEL: "{q: dict.fromkeys(docs, 1) for q, docs in qrels.items()}",
}
_INDEX = re.compile(r"(__index_level_\d+__|Unnamed: \d+)|index|level_\d+")  # columns that pandas makes of an index
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
    """Return a data frame as it is; rows of ir_measures, and a mapping whose values are the `column`, as one."""
    table = rows_as_frame(table)
    if is_frame(table):
        return table
    by_query = {name: _pairs(values) for name, values in table.items()} if isinstance(table, Mapping) else {}
    wrong = [table[name] for name in by_query if by_query[name] is None] if isinstance(table, Mapping) else [table]
    if wrong:
        are_lists = isinstance(table, Mapping) and isinstance(wrong[0], list | tuple | set)
        read = f"Read one with rerank.read_{what}, or pass its mapping; qrels come before runs"
        others = "Take a split of the data set: data['test']" if is_frame(wrong[0]) else read
        remedy = f"Of lists of documents, pass {_VALUES[column]}" if are_lists else others
        raise InvalidInputError(
            f"{what}: expected a {what} object or {{query id: {{document id: {column}}}}}, got {shown(wrong[0])} "
            f"({type(wrong[0]).__name__}). {remedy}."
        )
    rows = [(query_id, *pair) for query_id, pairs in by_query.items() for pair in pairs or ()]
    queries, docs, values = zip(*rows, strict=True) if rows else ((), (), ())
    return _mapping_frame({QUERY_ID: queries, DOC_ID: docs, column: values})


def _pairs(values: Any) -> list[tuple[Any, Any]] | None:
    """Return the documents of a query with values, of a mapping, hits of Pyserini or pairs; None for anything else."""
    if isinstance(values, Mapping):
        return list(values.items())
    listed: Sequence[Any] = values if isinstance(values, list | tuple) else [None]
    pairs: list[Any] = [(hit.docid, hit.score) if hasattr(hit, "docid") else hit for hit in listed]
    return pairs if all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs) else None


def rows_as_frame(table: Any) -> Any:
    """Return named tuples, as ir_measures has them, mappings, and lists by name as a data frame.

    A member that a mapping lacks is None. A plan of polars is carried out, names of an index are columns, and what has
    `to_dict` (a series, or a run of ranx) is a mapping. Anything else is returned as it is.
    """
    if any(name is not None for name in getattr(getattr(table, "index", None), "names", ())):
        return table.reset_index()
    if hasattr(table, "collect") or (hasattr(table, "to_dict") and not is_frame(table)):
        table = table.collect() if hasattr(table, "collect") else table.to_dict()
    are_lists = isinstance(table, Mapping) and set(map(type, table.values())) == {list} and len(table) > 1
    if are_lists and len(set(map(len, table.values()))) == 1 and first_column(list(table), QUERY_ID) is not None:
        return _mapping_frame(table, 0)
    is_stream = isinstance(table, Iterator) and not hasattr(table, "read")  # an open file is read elsewhere
    rows = list(table) if is_stream or isinstance(table, list | tuple) else []
    members = [row if isinstance(row, Mapping) else getattr(row, "_asdict", dict)() for row in rows]
    names = dict.fromkeys(chain.from_iterable(members))
    if not names or not all(members) or isinstance(members[0][next(iter(members[0]))], Mapping):
        return rows if is_stream else table
    return _mapping_frame({name: [row.get(name) for row in members] for name in names}, 0)


def _mapping_frame(columns: Mapping[str, Sequence[Any]], first: int | None = None) -> MappingFrame:
    """Return columns of any values as a frame; `first` as in MappingFrame."""
    return MappingFrame(
        {name: np.fromiter(values, dtype=object, count=len(values)) for name, values in columns.items()}, first
    )


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

    True is 1; anything but text with `__float__` is a number (Decimal, Fraction, a scalar of NumPy, Arrow, PyTorch).
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
    """Return whether a value is a data frame, or a table of Arrow or Hugging Face; imports no library of them.

    A stream of rows or a plan (LazyFrame) is not one: it has no length.
    """
    return isinstance(value, MappingFrame) or (
        hasattr(value, "__len__")
        and not isinstance(value, Mapping)
        and (hasattr(value, "column_names") or (hasattr(value, "columns") and hasattr(value, "dtypes")))
    )


def names_of(frame: Frame) -> list[Any]:
    """Return the names of a data frame's columns; `columns` of Arrow are the columns themselves."""
    if not is_frame(frame):
        raise InvalidInputError(
            f"data frame: expected one, got {type(frame).__name__}. Pass pandas.DataFrame(rows), or collect() a plan."
        )
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def is_row_number(name: Any, values: Any) -> bool:
    """Return whether a column is one that pandas has made of an index.

    `index` and `level_0`, of `reset_index()`, may be names of others: they have another whole number in each row.
    """
    found = _INDEX.fullmatch(str(name))
    if found is None or found[1]:
        return found is not None
    values = np.asarray(unmasked(values))
    is_whole_number = values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == values.round()).all()))
    return is_whole_number and len(np.unique(values)) == len(values)


def frame_rows(frame: Any) -> list[dict[str, Any]]:
    """Return each row of a data frame as a mapping of its columns.

    Missing values are None, arrays and series of polars become lists, and names of an index are columns.
    """
    frame = rows_as_frame(frame)
    names = list(map(str, names_of(frame)))
    repeated = first_repeated(names)
    if repeated is not None:
        raise InvalidInputError(
            f"data frame: expected each column once, got {shown(names[repeated])} again. Rename or drop one."
        )
    columns = {
        str(name): [
            list(value)
            if type(value).__name__ == "Series"
            else value.tolist()
            if isinstance(value, np.ndarray)
            else None
            if is_missing(value)
            else plain_value(value)
            for value in frame[name]
        ]
        for name in names_of(frame)
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


def plain_name(name: object) -> str:
    """Return the name of a column without case, and without what is between its words."""
    return re.sub("[ _-]", "", str(name).lower())


def first_column(names: Sequence[Any], column: str) -> int | None:
    """Return the position of the first of a column's other names that there is; None without one.

    Beside ranks, scores are those of a run, and no labels.
    """
    plain = list(map(plain_name, names))
    others = OTHER_NAMES.get(column, ())
    if column == LABEL and RANK in plain:
        others = tuple(name for name in others if name != SCORE)
    return next((plain.index(name) for name in others if name in plain), None)


def column_name(what: str, frame: Frame, column: str, required: bool = True) -> str | None:
    """Return the name that a frame gives a column; refuse a frame without it or with two of its names."""
    names = [name for name in ALIASES.get(column, (column,)) if name in names_of(frame)]
    if len(names) > 1:
        raise InvalidInputError(
            f"{what}: expected one column of {' or '.join(names)}, got both. Drop one from the data frame."
        )
    if not names and required:
        own = names_of(frame)
        found = first_column(own, column)
        if found is not None:
            return own[found]  # type: ignore[no-any-return]
        have = shown(", ".join(map(str, own)))
        raise InvalidInputError(
            f"{what}: expected a column {' or '.join(ALIASES.get(column, (column,)))}, got {have}. Rename the columns, "
            "or make columns of the index (reset_index())."
        )
    return names[0] if names else None


def column_values(what: str, frame: Frame, name: Any) -> NDArray[Any]:
    """Return a column of a frame, (n_rows,); refuse a name that several columns have."""
    values = np.asarray(unmasked(frame[name]))
    if values.dtype.kind in "mM":  # times, which NumPy makes numbers of where they count nanoseconds
        values = values.astype(f"{values.dtype.kind}8[us]").astype(object)
    if values.ndim > 1:
        raise InvalidInputError(f"{what}: expected each column once, got {shown(name)} again. Rename or drop one.")
    return values


def id_column(what: str, frame: Frame, column: str) -> Ids:
    """Return the ids (n_rows,) of a frame as text; whole numbers become their decimal text."""
    name = column_name(what, frame, column)
    values = column_values(what, frame, name)
    if values.dtype.kind in "iu":
        return id_array(values.astype(np.str_))
    listed = values.astype(object).tolist()
    are_ids = set(map(type, listed)) <= {str, int}
    for row, value in enumerate(() if are_ids else listed):
        if not (isinstance(value, str) or is_whole(value)):
            raise InvalidInputError(
                f"{what}: expected text or whole numbers in column {name}, got {shown(listed[row])} "
                f"({type(listed[row]).__name__}) at {place(frame, row)}. Read ids as text (dtype=str)."
            )
    ids = [str(value) for value in listed]
    are_right = all(ids) and _ID.fullmatch("".join(ids))  # in one call
    for row, text in enumerate(() if are_right else ids):
        if _ID.fullmatch(text) is None:
            raise InvalidInputError(
                f"{what}: expected ids in column {name}, got {shown(ids[row])} at {place(frame, row)}. "
                f"{'Take NUL and halves of surrogate pairs out' if ids[row] else 'Name each one'}."
            )
    return id_array(ids)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number, of Python or NumPy, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def number_column(what: str, frame: Frame, name: Any, allow_nan: bool = False) -> Floats:
    """Return the numbers (n_rows,) float64 of a frame's column; text, missing and infinite values are refused.

    NaN and other missing values become NaN if `allow_nan`.
    """
    values = column_values(what, frame, name)
    if values.dtype.kind not in "biuf":
        values = np.array([_number(what, frame, name, *row) for row in enumerate(values.tolist())], np.float64)
    numbers: Floats = values.astype(np.float64)
    wrong = np.flatnonzero(np.isinf(numbers) if allow_nan else ~np.isfinite(numbers))
    if len(wrong):
        row = wrong[0]
        raise InvalidInputError(
            f"{what}: expected finite numbers in column {name}, got {numbers[row]} at {place(frame, row)}. "
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
    is_list = isinstance(value, list | np.ndarray)
    way = f"Make a column of each (pandas.DataFrame(frame[{name!r}].tolist()))" if is_list else "Convert it to a number"
    raise InvalidInputError(
        f"{what}: expected numbers in column {shown(name)}, got {shown(value)} ({type(value).__name__}) at "
        f"{place(frame, row)}. {way}, or drop it."
    )


def label_column(frame: Frame) -> Ints:
    """Return the labels (n_rows,) int64 of a frame of judgements; a label that is not a whole number is refused."""
    name = column_name("qrels", frame, LABEL)
    values = column_values("qrels", frame, name)
    if values.dtype.kind == "i" or (values.dtype.kind == "O" and set(map(type, values.tolist())) == {int}):
        with suppress(OverflowError):  # refused below
            return values.astype(np.int64)
    labels = number_column("qrels", frame, name)
    wrong = np.flatnonzero((labels != np.floor(labels)) | (np.abs(labels) >= 2.0**63))
    if len(wrong):
        row = wrong[0]
        raise InvalidInputError(
            f"qrels: expected whole numbers as labels, got {labels[row]:g} at {place(frame, row)}. Round or scale "
            "them; qrels come before runs."
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

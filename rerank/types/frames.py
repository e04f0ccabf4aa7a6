"""Data frames as input and output. pandas is imported only where a frame is made; input frames are known by attributes.

The accepted column names are those of this package, ir_measures and PyTerrier:

query id      query_id, qid
document id   doc_id, docno, doc
score         score
rank          rank
label         label, relevance
subtopic      subtopic, subtopic_id, iteration
topic         text, query

An id is text. Whole numbers are converted to their decimal text (301 is '301'), which cannot restore leading zeros that
were lost when a file was read as numbers: read ids with `dtype=str`. Ids of any other type are refused.

Ranking data as data frames: a row for each query-document pair, and `attrs` for what has no row.
"""

from __future__ import annotations

import logging
import math
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, RerankError, shown
from rerank.runtime.codec import is_unicode
from rerank.types.ids import (
    ODD,
    Floats,
    Ids,
    Ints,
    Words,
    id_array,
    pointers,
    query_rows,
    repeated_row,
    row_codes,
    sort_keys,
)
from rerank.types.query_table import QueryTable, numbered
from rerank.types.retriever import Retriever, retriever_members, stored_retrievers

ATTRIBUTES = "rerank"  # key in DataFrame.attrs
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
log = logging.getLogger("rerank")
BASE_SCORE = "base_score"
WEIGHT = "weight"
NOT_FEATURES = (QUERY_ID, DOC_ID, LABEL, BASE_SCORE, WEIGHT)


class Frame(Protocol):
    """A data frame of pandas, or any other with `columns` that are read by name."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""

    def __getitem__(self, name: Any, /) -> Any:
        """Return a column."""


@dataclass(frozen=True, eq=False)
class MappingFrame:
    """The rows of `{query id: {document id: value}}` as a data frame."""

    values: Mapping[str, Any]

    @classmethod
    def of(cls, what: str, column: str, table: Any) -> MappingFrame:
        """Return the rows of a mapping; refuse another form. `column` is the name of the values."""
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
        return cls({name: np.fromiter(rows, dtype=object, count=len(rows)) for name, rows in columns.items()})

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.values)

    def __getitem__(self, name: str, /) -> Any:
        return self.values[name]

    def place(self, row: int) -> str:
        """Return the name of a row in messages."""
        return f"document {shown(self.values[DOC_ID][row])} of query {shown(self.values[QUERY_ID][row])}"


def _place(frame: Frame, row: Any) -> str:
    return frame.place(row) if isinstance(frame, MappingFrame) else f"row {row}"


def refuse_categories(what: str, column: Any, name: Any = None) -> None:
    """Refuse a column of categories (pandas, polars, pyarrow), even of numbers: their order need not mean anything."""
    kind = str(getattr(column, "dtype", getattr(column, "type", "")))
    if kind.lower().startswith(("category", "categorical", "enum", "dictionary")):
        of_column = "" if name is None else f" in column {shown(name)}"
        raise InvalidInputError(
            f"{what}: expected numbers, got categories{of_column}. Convert them to numbers, or train boosted trees, "
            "which take categories, by fit(X, y, qid=) with a pandas frame."
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


def new_frame(
    columns: Mapping[str, Any], index: tuple[str, Any] | None = None, attrs: Mapping[str, Any] | None = None
) -> Any:
    """Return a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise RerankError(
            "pandas: expected it installed to make a data frame, got none. Run `pip install pandas`."
        ) from error
    labels = None if index is None else pd.Index(index[1], name=index[0])
    frame = pd.DataFrame(dict(columns), index=labels)
    if attrs:
        frame.attrs[ATTRIBUTES] = dict(attrs)
    return frame


def column_name(what: str, frame: Frame, column: str, required: bool = True) -> str | None:
    """Return the name that a frame gives a column; refuse a frame without it or with two of its names."""
    names = [name for name in ALIASES.get(column, (column,)) if name in list(frame.columns)]
    if len(names) > 1:
        raise InvalidInputError(
            f"{what}: expected one column of {' or '.join(names)}, got both. Drop one from the data frame."
        )
    if not names and required:
        have = shown([str(name) for name in frame.columns])
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
                f"({type(value).__name__}) at {_place(frame, row)}. Convert the ids to text."
            )
    ids = [str(value) for value in listed]
    wrong = _first_wrong(ids)
    if wrong is not None:
        remedy = "Take NUL and halves of surrogate pairs out" if ids[wrong] else "Name each one"
        raise InvalidInputError(
            f"{what}: expected ids in column {name}, got {shown(ids[wrong])} at {_place(frame, wrong)}. {remedy}."
        )
    return id_array(ids)


def query_ids(what: str, table: Mapping[Any, Any]) -> Ids:
    """Return the query ids of `{query id: {document id: value}}`, also of those without a document."""
    names = np.fromiter(table, dtype=object, count=len(table))
    return id_column(what, MappingFrame({QUERY_ID: names, DOC_ID: names}), QUERY_ID)


def _first_wrong(ids: list[str]) -> int | None:
    """Return the position of the first id that is empty, or has NUL, which NumPy drops, or half a surrogate pair."""
    joined = "".join(ids)
    if all(ids) and "\0" not in joined and (joined.isascii() or is_unicode(joined)):
        return None
    return next(row for row, text in enumerate(ids) if not text or "\0" in text or not is_unicode(text))


def number_column(what: str, frame: Frame, name: Any, allow_nan: bool = False) -> Floats:
    """Return the numbers (n_rows,) float64 of a frame's column; text, missing and infinite values are refused.

    NaN and other missing values become NaN if `allow_nan`.
    """
    values = np.asarray(unmasked(frame[name]))
    if values.dtype.kind not in "biuf":
        rows = enumerate(values.tolist())
        values = np.array([_number(what, frame, name, row, value) for row, value in rows], np.float64)
    numbers: Floats = values.astype(np.float64)
    bad = np.flatnonzero(np.isinf(numbers) if allow_nan else ~np.isfinite(numbers))
    if len(bad):
        raise InvalidInputError(
            f"{what}: expected finite numbers in column {name}, got {numbers[bad[0]]} at {_place(frame, bad[0])}. "
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
        f"{_place(frame, row)}. Convert the column, or drop it."
    )


def label_column(what: str, frame: Frame) -> Ints:
    """Return the labels (n_rows,) int64 of a frame; a label that is not a whole number is refused."""
    name = column_name(what, frame, LABEL)
    values = np.asarray(unmasked(frame[name]))
    if values.dtype.kind == "O" and set(map(type, values.tolist())) == {int}:
        with suppress(OverflowError):  # refused below
            return values.astype(np.int64)
    if values.dtype.kind in "iu" and (values.dtype.kind == "i" or values.max(initial=0) < 2**63):
        return values.astype(np.int64)
    labels = number_column(what, frame, name)
    bad = np.flatnonzero((labels != np.floor(labels)) | (np.abs(labels) >= 2.0**63))
    if len(bad):
        raise InvalidInputError(
            f"{what}: expected whole numbers as labels, got {labels[bad[0]]:g} at {_place(frame, bad[0])}. Round or "
            "scale them."
        )
    return labels.astype(np.int64)


def grouped_rows(what: str, frame: Frame) -> tuple[Ids, Ints, Ids, Ints]:
    """Return the query ids, their pointers, the documents in their order, and the order of the frame's rows."""
    query_ids = id_column(what, frame, QUERY_ID)
    doc_ids = id_column(what, frame, DOC_ID)
    names, query = _numbered_queries(what, query_ids, doc_ids)
    order = np.lexsort((*sort_keys(doc_ids), query))
    return names, pointers(np.bincount(query, minlength=len(names))), doc_ids[order], order


def _numbered_queries(what: str, query_ids: Ids, doc_ids: Ids) -> tuple[Ids, Ints]:
    """Return the query ids, and the number of each row's query; refuse a document that a query has twice."""
    names, query = numbered(query_ids)
    row = repeated_row(query, doc_ids)
    if row is not None:
        raise InvalidInputError(
            f"{what}: expected each document once in a query, got {shown(str(doc_ids[row]))} twice in query "
            f"{shown(str(query_ids[row]))}. Drop one of the rows."
        )
    return names, query


def grouped_members(
    names: Ids, query: Ints, docs: NDArray[Any], numbers: Mapping[str, Floats], ideal: Mapping[str, Any] | None
) -> tuple[dict[str, Any], Ints | None]:
    """Return members of the ranking data of rows in any order, and the order that groups them; None for their own.

    names    (n_queries,) ids of the queries
    query    (n_rows,) number of each row's query
    docs     (n_rows,) ids of the documents
    numbers  the columns label, base_score and weight, (n_rows,) each, by name
    ideal    positive labels of each query, best first, by its id; None where the rows are all that is judged
    """
    order = None if (query[1:] >= query[:-1]).all() else np.argsort(query, kind="stable")
    rows = slice(None) if order is None else order
    query_ptr = pointers(np.bincount(query, minlength=len(names)))
    columns = {name: values[rows] for name, values in numbers.items()}
    ideal_labels, ideal_ptr = ideal_arrays(ideal, names)
    members = dict(
        query_ids=names,
        query_ptr=query_ptr,
        doc_ids=docs[rows],
        labels=columns.get(LABEL),
        base_scores=columns.get(BASE_SCORE),
        ideal_labels=ideal_labels,
        ideal_ptr=ideal_ptr,
        **weight_members(columns.get(WEIGHT), query_ptr),
    )
    return members, order


def frame_attributes(frame: Frame) -> Mapping[str, Any]:
    """Return what `to_frame` stored in `DataFrame.attrs`; nothing for other frames."""
    attrs = getattr(frame, "attrs", None)
    attributes = attrs.get(ATTRIBUTES) if isinstance(attrs, Mapping) else None
    return attributes if isinstance(attributes, Mapping) else {}


@dataclass(frozen=True, eq=False, repr=False)
class PairTable(QueryTable):
    """The arrays of ranking data, from and to data frames: see `RankingData`."""

    X: NDArray[np.float32]
    feature_names: tuple[str, ...]
    labels: Floats | None = None
    base_scores: Floats | None = None
    weights: Floats | None = None
    row_weights: Floats | None = None
    query_groups: Ints | None = None
    ideal_labels: Floats | None = None
    ideal_ptr: Ints | None = None
    recipe: Mapping[str, Any] | None = None
    fingerprint: Mapping[str, Any] | None = None
    retriever: Retriever | None = None
    run_retrievers: Mapping[str, Retriever] = field(default_factory=dict)
    zeros: str | None = None

    @classmethod
    def from_frame(cls, frame: Frame, features: Sequence[str] | None = None) -> Self:
        """Return ranking data made of a data frame with a row for each query-document pair.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns query_id (or qid), doc_id (or docno, doc), optionally label (or relevance), base_score and weight,
            and the features. Rows of a query keep their order. Ids are text; whole numbers are converted to their
            decimal text. A missing feature is NaN. Weights that differ within a query become `row_weights`. What
            `to_frame` stores in `frame.attrs` (ideal labels, recipe, fingerprint, retrievers) is restored; recipe and
            fingerprint only if the features and their values are the same, ideal labels only if the labels are, for all
            rows of the frame; otherwise a warning is logged.
        features : sequence of str or None
            Names of the feature columns; None is all other columns, which must be numbers.

        Returns
        -------
        RankingData

        Raises
        ------
        InvalidInputError
            If a column is missing, ids are not text or whole numbers, a value is not a number or is infinite, or a
            query has a document twice.

        """
        return cls(**_members(frame, features))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each query-document pair.

        The columns are query_id, doc_id, label, base_score and weight (those that the data have), then the features
        (float32). Ideal labels, recipe, fingerprint and retrievers, which have no row, are plain values in
        `frame.attrs`. `from_frame` restores the data, except for queries without a document.

        Returns
        -------
        pandas.DataFrame
            The data.

        Raises
        ------
        InvalidInputError
            If a feature has the name of one of the other columns.

        """
        columns = pair_columns(self, slice(None), self.X)
        return new_frame(columns, attrs=_attributes(self))


def pair_columns(data: PairTable, rows: slice, X: NDArray[np.float32]) -> dict[str, Any]:
    """Return the columns of some rows, whose features are X, by name; refuse a feature with the name of another."""
    aliases = {name for column in (QUERY_ID, DOC_ID, LABEL) for name in ALIASES[column]}
    clash = next((name for name in data.feature_names if name in aliases | set(NOT_FEATURES)), None)
    if clash is not None:
        raise InvalidInputError(
            f"data: expected features with other names than the columns {', '.join(NOT_FEATURES)} and their aliases, "
            f"got {clash!r}. Rename the feature."
        )
    first, last, _ = rows.indices(data.n_rows)
    query = np.searchsorted(data.query_ptr, np.arange(first, last), side="right") - 1
    optional = {LABEL: data.labels, BASE_SCORE: data.base_scores, WEIGHT: data.row_weights}
    columns = {name: values[rows] for name, values in optional.items() if values is not None}
    if data.weights is not None:
        columns[WEIGHT] = data.weights[query]
    return {
        QUERY_ID: data.query_ids[query].astype(object),
        DOC_ID: data.doc_ids[rows].astype(object),
        **columns,
        **{name: X[:, column] for column, name in enumerate(data.feature_names)},
    }


def _attributes(data: PairTable) -> dict[str, Any]:
    """Return what has no row, as plain values, with what tells whether it belongs to rows."""
    codes = _pair_codes(data.query_ids[query_rows(data.query_ptr)], data.doc_ids)
    attributes: dict[str, Any] = {"features": list(data.feature_names), "values": _stored_codes(codes, data.X)}
    if data.labels is not None:
        attributes["labels"] = _stored_codes(codes, data.labels[:, None])
    return attributes | stored_members(data)


def stored_members(data: PairTable) -> dict[str, Any]:
    """Return what has no row, as JSON values, without keys for what the data do not have."""
    members: dict[str, Any] = {}
    for name in ("recipe", "fingerprint"):
        if getattr(data, name) is not None:
            members[name] = dict(getattr(data, name))
    if data.zeros is not None:
        members["zeros"] = data.zeros
    if data.ideal_labels is not None and data.ideal_ptr is not None:
        labels = data.ideal_labels.tolist()
        ptr = data.ideal_ptr.tolist()
        members["ideal_labels"] = {query_id: labels[ptr[q] : ptr[q + 1]] for q, query_id in enumerate(data)}
    return members | retriever_members(data.retriever, data.run_retrievers)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The rows of a data frame: query, document, features, and the columns label, base_score and weight by name."""

    query_ids: Ids
    doc_ids: Ids
    X: NDArray[np.float32]
    feature_names: tuple[str, ...]
    numbers: dict[str, Floats]


def read_pairs(frame: Frame, features: Sequence[str] | None = None) -> Pairs:
    """Return the rows of a data frame; the features are all other columns unless they are named."""
    names = feature_columns(frame, features)
    X = np.empty((len(frame[column_name("data", frame, QUERY_ID)]), len(names)), dtype=np.float32)
    for column, name in enumerate(names):
        refuse_categories("data", frame[name], name)
        with np.errstate(over="ignore"):
            X[:, column] = number_column("data", frame, name, allow_nan=True)
        too_large = np.flatnonzero(np.isinf(X[:, column]))
        if len(too_large):
            raise InvalidInputError(
                f"data: expected numbers within float32 in column {shown(name)}, got a larger one at "
                f"{_place(frame, too_large[0])}. Scale the feature."
            )
    columns = {name: column_name("data", frame, name, required=False) for name in (LABEL, BASE_SCORE, WEIGHT)}
    numbers = {name: number_column("data", frame, column) for name, column in columns.items() if column is not None}
    query_ids = id_column("data", frame, QUERY_ID)
    return Pairs(query_ids, id_column("data", frame, DOC_ID), X, tuple(names), numbers)


def feature_columns(frame: Frame, features: Sequence[str] | None = None) -> list[str]:
    """Return the names of the feature columns."""
    others = [column_name("data", frame, column, column in (QUERY_ID, DOC_ID)) for column in NOT_FEATURES]
    present = dict.fromkeys(frame.columns)
    columns = [name for name in present if name not in others] if features is None else list(features)
    for name in columns:
        if not isinstance(name, str) or name not in present:
            raise InvalidInputError(
                f"data: expected feature columns with names of text, got {shown(name)}. Rename or add the column."
            )
    return columns


def _members(frame: Frame, features: Sequence[str] | None) -> dict[str, Any]:
    """Return the members of the ranking data of a data frame."""
    pairs = read_pairs(frame, features)
    attributes = frame_attributes(frame)
    codes = _pair_codes(pairs.query_ids, pairs.doc_ids)
    is_same = list(pairs.feature_names) == attributes.get("features")
    if is_same and not _are_stored(codes, pairs.X, attributes.get("values")):
        is_same = False
        log.warning("data: values of features differ from those that frame.attrs is of: its recipe is not used.")
    ideal = attributes.get("ideal_labels")
    labels = pairs.numbers.get(LABEL)
    if ideal is not None and labels is not None and not _are_stored(codes, labels[:, None], attributes.get("labels")):
        ideal = None
        log.warning("data: labels differ from those that frame.attrs is of: the ideal is that of the rows.")
    names, query = _numbered_queries("data", pairs.query_ids, pairs.doc_ids)
    members, order = grouped_members(names, query, pairs.doc_ids, pairs.numbers, ideal)
    return members | dict(
        X=pairs.X if order is None else pairs.X[order],
        feature_names=pairs.feature_names,
        recipe=attributes.get("recipe") if is_same else None,
        fingerprint=attributes.get("fingerprint") if is_same else None,
        **stored_retrievers(attributes),
    )


def _pair_codes(query_ids: Ids, doc_ids: NDArray[Any]) -> Words:
    """Return a hash of the query and document of each row, (n_rows,) uint64."""
    zeros = np.zeros(len(doc_ids), np.int64)
    return row_codes(zeros, query_ids) * ODD + row_codes(zeros, doc_ids)


def _value_codes(codes: Words, values: NDArray[Any]) -> Words:
    """Return a hash of each row's query, document and values (n_rows, n_columns), NaN being one value."""
    codes = codes.copy()
    for column in values.T.astype(np.float64) + 0.0:  # -0 is 0
        column[np.isnan(column)] = np.nan
        codes = (codes ^ codes >> np.uint64(29)) * ODD + column.view(np.uint64)
    return codes


def _stored_codes(codes: Words, values: NDArray[Any]) -> str:
    return b64encode(_value_codes(codes, values).astype("<u8").tobytes()).decode()


def _are_stored(codes: Words, values: NDArray[Any], stored: Any) -> bool:
    """Return whether a frame was made of these rows, among others."""
    known = np.frombuffer(b64decode(stored) if isinstance(stored, str) else b"", "<u8")
    return bool(np.isin(_value_codes(codes, values), known).all())


def weight_members(weights: Floats | None, query_ptr: Ints) -> dict[str, Any]:
    """Return weights (n_rows,) as the member `weights` where they are equal in each query, else as `row_weights`."""
    if weights is None:
        return {}
    has_rows = np.diff(query_ptr) > 0
    of_queries = np.ones(len(query_ptr) - 1)
    of_queries[has_rows] = weights[query_ptr[:-1][has_rows]]
    is_equal = np.array_equal(weights, of_queries[query_rows(query_ptr)])
    return {"weights": of_queries} if is_equal else {"row_weights": weights}


def weights_of_rows(data: PairTable) -> Floats | None:
    """Return the weight of each row, its own or that of its query, (n_rows,) float64; None without weights."""
    return data.row_weights if data.weights is None else data.weights[query_rows(data.query_ptr)]


def ideal_arrays(stored: Mapping[str, Any] | None, names: Ids) -> tuple[Floats | None, Ints | None]:
    """Return the ideal labels of the queries, best first, and their `ideal_ptr`, of labels that are stored by query."""
    if stored is None:
        return None, None
    missing = next((name for name in names.tolist() if name not in stored), None)
    if missing is not None:
        raise InvalidInputError(
            f"data: expected ideal labels of every query, got none for query {shown(missing)}. Write the data anew, or "
            "clear frame.attrs."
        )
    labels = [np.asarray(stored[name], dtype=np.float64) for name in names.tolist()]
    return np.concatenate([np.empty(0), *labels]), pointers([len(of_query) for of_query in labels])

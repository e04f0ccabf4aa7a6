"""Ranking data as data frames: a row for each query-document pair, and `attrs` for what has no row."""

from __future__ import annotations

import logging
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown
from rerank.types import frames
from rerank.types.arrays import Floats, Ints, pointers, query_rows
from rerank.types.frames import Frame
from rerank.types.ids import ODD, Ids, Words, row_codes
from rerank.types.query_table import QueryTable, group_rows
from rerank.types.retriever import Retriever, retriever_members, stored_retrievers

log = logging.getLogger("rerank")
BASE_SCORE, WEIGHT = "base_score", "weight"
NOT_FEATURES = (frames.QUERY_ID, frames.DOC_ID, frames.LABEL, BASE_SCORE, WEIGHT)


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
        aliases = {name for column in (frames.QUERY_ID, frames.DOC_ID, frames.LABEL) for name in frames.ALIASES[column]}
        clash = next((name for name in self.feature_names if name in aliases | set(NOT_FEATURES)), None)
        if clash is not None:
            raise InvalidInputError(
                f"data: expected features with other names than the columns {', '.join(NOT_FEATURES)} and their "
                f"aliases, got {clash!r}. Rename the feature."
            )
        query = query_rows(self.query_ptr)
        optional = {
            frames.LABEL: self.labels,
            BASE_SCORE: self.base_scores,
            WEIGHT: weights_of_rows(self),
        }
        columns = {
            frames.QUERY_ID: self.query_ids[query].astype(object),
            frames.DOC_ID: self.doc_ids.astype(object),
            **{name: values for name, values in optional.items() if values is not None},
            **{name: self.X[:, column] for column, name in enumerate(self.feature_names)},
        }
        return frames.new_frame(columns, attrs=_attributes(self))


def _attributes(data: PairTable) -> dict[str, Any]:
    """Return what has no row, as plain values."""
    codes = _pair_codes(data.query_ids[query_rows(data.query_ptr)], data.doc_ids)
    attributes: dict[str, Any] = {"features": list(data.feature_names), "values": _stored_codes(codes, data.X)}
    if data.labels is not None:
        attributes["labels"] = _stored_codes(codes, data.labels[:, None])
    if data.ideal_labels is not None and data.ideal_ptr is not None:
        labels, ptr = data.ideal_labels.tolist(), data.ideal_ptr.tolist()
        attributes["ideal_labels"] = {query_id: labels[ptr[q] : ptr[q + 1]] for q, query_id in enumerate(data)}
    for name in ("recipe", "fingerprint"):
        if getattr(data, name) is not None:
            attributes[name] = getattr(data, name)
    return attributes | retriever_members(data.retriever, data.run_retrievers)


def _members(frame: Frame, features: Sequence[str] | None) -> dict[str, Any]:
    """Return the members of the ranking data of a data frame."""
    query_ids = frames.id_column("data", frame, frames.QUERY_ID)
    doc_ids = frames.id_column("data", frame, frames.DOC_ID)
    names, query_ptr, by_document = group_rows(query_ids, doc_ids)
    query = np.empty(len(by_document), np.int64)
    query[by_document] = query_rows(query_ptr)
    frames.check_unique_pairs("data", query, query_ids, doc_ids, by_document)
    rows = np.argsort(query, kind="stable")

    label_column = frames.column_name("data", frame, frames.LABEL, required=False)
    columns = _feature_columns(frame, features, label_column)
    attributes = frames.frame_attributes(frame)
    X, labels, codes = (
        _matrix(frame, columns, rows),
        _optional(frame, label_column, rows),
        _pair_codes(query_ids, doc_ids),
    )
    is_same = list(columns) == attributes.get("features")
    if is_same and not _are_stored(codes[rows], X, attributes.get("values")):
        is_same = False
        log.warning("data: values of features differ from those that frame.attrs is of: its recipe is not used.")
    ideal = attributes.get("ideal_labels")
    if (
        ideal is not None
        and labels is not None
        and not _are_stored(codes[rows], labels[:, None], attributes.get("labels"))
    ):
        ideal = None
        log.warning("data: labels differ from those that frame.attrs is of: the ideal is that of the rows.")
    ideal_labels, ideal_ptr = _ideal(ideal, names)
    return dict(
        query_ids=names,
        query_ptr=query_ptr,
        doc_ids=doc_ids[rows],
        X=X,
        feature_names=tuple(columns),
        labels=labels,
        base_scores=_optional(frame, BASE_SCORE, rows),
        ideal_labels=ideal_labels,
        ideal_ptr=ideal_ptr,
        recipe=attributes.get("recipe") if is_same else None,
        fingerprint=attributes.get("fingerprint") if is_same else None,
        **given_weights(_optional(frame, WEIGHT, rows), query_ptr),
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


def _feature_columns(frame: Frame, features: Sequence[str] | None, label_column: str | None) -> list[str]:
    """Return the names of the feature columns."""
    present = dict.fromkeys(frame.columns)
    if features is None:
        ids = [frames.column_name("data", frame, column) for column in (frames.QUERY_ID, frames.DOC_ID)]
        columns = [name for name in present if name not in (*ids, label_column, BASE_SCORE, WEIGHT)]
    else:
        columns = list(features)
    for name in columns:
        if not isinstance(name, str) or name not in present:
            raise InvalidInputError(
                f"data: expected feature columns with names of text, got {shown(name)}. Rename or add the column."
            )
    return columns


def _matrix(frame: Frame, columns: Sequence[str], rows: Ints) -> Any:
    """Return the features (n_rows, n_features) float32."""
    X = np.empty((len(rows), len(columns)), dtype=np.float32)
    for column, name in enumerate(columns):
        frames.refuse_categories("data", frame[name], name)
        with np.errstate(over="ignore"):
            X[:, column] = frames.number_column("data", frame, name, allow_nan=True)[rows]
        too_large = np.flatnonzero(np.isinf(X[:, column]))
        if len(too_large):
            raise InvalidInputError(
                f"data: expected numbers within float32 in column {shown(name)}, got a larger one at row "
                f"{rows[too_large[0]]}. Scale the feature."
            )
    return X


def _optional(frame: Frame, name: str | None, rows: Ints) -> Floats | None:
    if name is None or name not in list(frame.columns):
        return None
    return frames.number_column("data", frame, name)[rows]


def given_weights(weights: Floats | None, query_ptr: Ints) -> dict[str, Any]:
    """Return weights (n_rows,) as the member `weights` where they are equal in each query, else as `row_weights`."""
    if weights is None:
        return {}
    has_rows, of_queries = np.diff(query_ptr) > 0, np.ones(len(query_ptr) - 1)
    of_queries[has_rows] = weights[query_ptr[:-1][has_rows]]
    is_equal = np.array_equal(weights, of_queries[query_rows(query_ptr)])
    return {"weights": of_queries} if is_equal else {"row_weights": weights}


def weights_of_rows(data: PairTable) -> Floats | None:
    """Return the weight of each row, its own or that of its query, (n_rows,) float64; None without weights."""
    return data.row_weights if data.weights is None else data.weights[query_rows(data.query_ptr)]


def _ideal(stored: Any, names: Ids) -> tuple[Floats | None, Ints | None]:
    """Return the ideal labels of the queries, best first, and their `ideal_ptr`."""
    if not isinstance(stored, Mapping):
        return None, None
    missing = next((name for name in names.tolist() if name not in stored), None)
    if missing is not None:
        raise InvalidInputError(
            f"data: expected ideal labels of every query in frame.attrs, got none for query {shown(missing)}. "
            "Clear frame.attrs, or make the frame of one RankingData."
        )
    labels = [np.asarray(stored[name], dtype=np.float64) for name in names.tolist()]
    return np.concatenate([np.empty(0), *labels]), pointers([len(of_query) for of_query in labels])

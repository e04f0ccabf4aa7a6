"""Ranking data: features, labels and base scores of query-document pairs, and their validation.

Rows of files and data frames become members of ranking data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, check_known, log, shown
from rerank.runtime.fields import first_repeated
from rerank.runtime.mapped_rows import row_blocks
from rerank.types.data_frames import (
    ALIASES,
    DOC_ID,
    LABEL,
    QUERY_ID,
    Frame,
    column_name,
    id_column,
    is_frame,
    is_row_number,
    names_of,
    new_frame,
    number_column,
    numbered_queries,
    place,
    refuse_categories,
    rows_as_frame,
)
from rerank.types.ids import Ids
from rerank.types.query_rows import Floats, Ints, are_pointers, ideal_of_rows, pointers, query_rows, rows_of_groups
from rerank.types.query_table import QueryTable
from rerank.types.records import Run
from rerank.types.retriever import UNNAMED, Retriever, retriever_members
from rerank.types.text_tables import FIRST_COLUMNS, counted

LISTED, UNLISTED, BOTH = "listed", "unlisted", "both"  # what a 0 of sparse rows is
MOST_LABEL = 2.0**31  # a larger absolute value is not a grade
BASE_SCORE = "base_score"
WEIGHT = "weight"
OF_ROWS = ("labels", "base_scores", "row_weights")  # members with a value of each row, or of each query, or None
OF_QUERIES = ("weights", "query_groups")
NOT_FEATURES = (QUERY_ID, DOC_ID, LABEL, BASE_SCORE, WEIGHT)
FINE = 2.0**-13  # of the size of values: a narrower range has few numbers of float32, 1,024 to 2,048 at most


@dataclass(frozen=True, eq=False, repr=False)
class RankingData(QueryTable):
    """Features of query-document pairs, the input of training and ranking.

    Parameters
    ----------
    query_ids : ndarray of shape (n_queries,), dtype str
        The query ids, each once.
    query_ptr : ndarray of shape (n_queries + 1,), dtype int64
        Rows of query q: [query_ptr[q], query_ptr[q + 1]).
    doc_ids : ndarray of shape (n_rows,), dtype str
        Document of each row.
    X : ndarray of shape (n_rows, n_features), dtype float32
        Feature values. NaN is a missing value and never read as 0.
    feature_names : tuple of str
        Name of each column of X, each once.
    labels : ndarray of shape (n_rows,), dtype float64, or None
        Relevance labels; an unjudged document has 0. None if the data are not labelled.
    base_scores : ndarray of shape (n_rows,), dtype float64, or None
        Scores of the run that the rows were taken from.
    weights : ndarray of shape (n_queries,), dtype float64, or None
        Weight of each query; None is 1 for all.
    row_weights : ndarray of shape (n_rows,), dtype float64, or None
        Weight of each row, in place of `weights`; not all rankers take it.
    query_groups : ndarray of shape (n_queries,), dtype int64, or None
        Number of the group of near-duplicate queries that each query belongs to: all of a group are in the same fold
        wherever queries are divided. None if it is unknown.
    ideal_labels : ndarray of shape (n_ideal,), dtype float64, or None
        Positive labels of every query, best first, from the qrels: they include relevant documents that the run did
        not retrieve. None if the rows are all that is judged.
    ideal_ptr : ndarray of shape (n_queries + 1,), dtype int64, or None
        Ideal labels of query q: [ideal_ptr[q], ideal_ptr[q + 1]).
    recipe : mapping or None
        How the features were computed, as plain JSON values.
    fingerprint : mapping or None
        Statistics of the index on which the features were computed.
    retriever : Retriever or None
        What retrieved the rows; None if it is unknown.
    run_retrievers : mapping of str to Retriever
        What retrieved the other runs whose scores are features, by the name of the run.
    zeros : {"listed", "unlisted", "both"} or None
        What a 0 of X is where the rows came from a sparse matrix, or from LETOR text that does not name its features:
        a value that a row lists, one that it does not list, or either. A feature that a row does not list is 0, but
        for XGBoost it is missing. None for all other data.
    first_number : {1, 0}
        Number of the first feature in the text that the rows came from.

    """

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
    first_number: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        n_queries = len(self)
        sizes = dict.fromkeys(OF_ROWS, self.n_rows) | dict.fromkeys(OF_QUERIES, n_queries)
        for name, size in sizes.items():
            values = getattr(self, name)
            if values is not None and np.shape(values) != (size,):
                raise InvalidInputError(
                    f"data: expected {name} of shape ({size},), got {np.shape(values)}. Pass one value each."
                )
        if self.weights is not None and self.row_weights is not None:
            raise InvalidInputError("data: expected weights or row_weights, got both. Multiply them, row by row.")
        ideal = self.ideal_labels
        if (ideal is None) != (self.ideal_ptr is None):
            raise InvalidInputError("data: expected ideal_labels and ideal_ptr, got one of them. Pass both or none.")
        if ideal is not None and not are_pointers(self.ideal_ptr, n_queries, len(ideal)):  # type: ignore[arg-type]
            raise InvalidInputError(
                f"data: expected ideal_ptr of {n_queries + 1} whole numbers that rise from 0 to {len(ideal)}, got "
                "others. Pass the first ideal label of each query, and their number."
            )
        try:
            wrong = _wrong_name(tuple(self.feature_names))
        except TypeError:  # a name that cannot be hashed is not text
            wrong = [name for name in self.feature_names if not isinstance(name, str)]
        if wrong:
            raise InvalidInputError(
                f"data: expected feature names that are text, each there once, got {shown(wrong[0])}. Rename the "
                "feature."
            )
        if self.X.shape != (self.n_rows, len(self.feature_names)):
            raise InvalidInputError(
                f"data: expected X of shape ({self.n_rows}, {len(self.feature_names)}) for its document "
                f"ids and feature names, got {self.X.shape}. Pass one row a document."
            )

    @classmethod
    def from_frame(cls, frame: Frame, features: Sequence[str] | None = None) -> Self:
        """Return ranking data made of a data frame with a row for each query-document pair.

        Parameters
        ----------
        frame : pandas.DataFrame, or rows as mappings
            Columns query_id (or qid), doc_id (or docno, doc), optionally label (or relevance), base_score and weight,
            and the features. Rows of a query keep their order. Ids are text; whole numbers are converted to their
            decimal text. A missing feature is NaN. Weights that differ within a query become `row_weights`.
        features : sequence of str or None
            Names of the feature columns; None is all other columns, which must be numbers, without an index that pandas
            made (`Unnamed: 0`, `index`).

        Returns
        -------
        RankingData

        Raises
        ------
        InvalidInputError
            If a column is missing, ids are not text or whole numbers, a value is not a number or is infinite, or a
            query has a document twice.

        """
        frame = frame if is_frame(frame) else rows_as_frame(frame)
        if not is_frame(frame):
            raise InvalidInputError(
                f"data: expected a data frame, got {shown(frame)}. Read files with rerank.read_data."
            )
        query_ids, doc_ids, X, names, numbers = read_pairs(frame, features)
        queries, query = numbered_queries("data", query_ids, doc_ids)
        members, order = grouped_members(queries, query, doc_ids, numbers, None)
        data = cls(X=X if order is None else X[order], feature_names=names, **members)
        warn_of_labels("data", data)
        warn_of_rounding("data", X, names, lambda column: number_column("data", frame, names[column], True))
        return data

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each query-document pair.

        The columns are query_id, doc_id, label, base_score and weight (those that the data have), then the features
        (float32). What has no row is not in it: ideal labels, recipe, fingerprint and retrievers.

        Returns
        -------
        pandas.DataFrame
            The data.

        Raises
        ------
        InvalidInputError
            If a feature has the name of one of the other columns.

        """
        return new_frame(pair_columns(self, slice(None), self.X))

    def check_values(self, what: str = "") -> None:
        """Raise InvalidInputError for a value that training and ranking cannot use.

        Refused are infinite features (a missing value is NaN), labels, base scores and weights that are not finite,
        labels beyond 2^31 and negative weights.

        Parameters
        ----------
        what : str
            What the message calls the data.

        """
        what = f"{what}: " if what else ""
        infinite = first_infinite(self.X)
        if infinite is not None:
            row, column = infinite
            raise InvalidInputError(
                f"{what}expected finite features, or NaN where missing, got {self.X[row, column]} in feature "
                f"{shown(self.feature_names[column])} at {_row(self, row)}. Correct the feature."
            )
        _check_column(self, what, "label", self.labels, MOST_LABEL, "Judge the document or leave its row out")
        _check_column(self, what, "base score", self.base_scores, np.inf, "Score the document or leave its row out")
        weights = self.row_weights if self.weights is None else self.weights
        if weights is not None and not (np.isfinite(weights) & (weights >= 0.0)).all():
            raise InvalidInputError(f"{what}expected finite weights of at least 0, got other values. Correct them.")
        ideal = self.ideal_labels
        if ideal is not None and not (np.abs(ideal) <= MOST_LABEL).all():
            raise InvalidInputError(f"{what}expected finite ideal labels, got other values. Take them from the qrels.")

    @property
    def n_features(self) -> int:
        """Number of feature columns."""
        return len(self.feature_names)

    def column(self, name: str) -> Floats:
        """Return one feature by name as (n_rows,) float64.

        Parameters
        ----------
        name : str
            Name of the feature.

        Returns
        -------
        ndarray of shape (n_rows,), dtype float64
            Its values; NaN is missing.

        Raises
        ------
        InvalidInputError
            If the data do not have the feature.

        """
        check_known("feature", name, self.feature_names)
        number = self.feature_names.index(name)
        values = np.empty(self.n_rows)
        for first, block in row_blocks(self.X):
            values[first : first + len(block)] = block[:, number]
        return values

    def ideal(self) -> tuple[Floats, Ints]:
        """Return the positive labels of every query, best first, and their `query_ptr`.

        Returns
        -------
        labels : ndarray of shape (n_positive,), dtype float64
            Labels, query by query, descending.
        query_ptr : ndarray of shape (n_queries + 1,), dtype int64
            Where the labels of each query begin and end.

        Raises
        ------
        InvalidInputError
            If the data have no labels.

        """
        if self.ideal_labels is not None and self.ideal_ptr is not None:
            return self.ideal_labels, self.ideal_ptr
        if self.labels is None:
            raise InvalidInputError("data: expected labels, got none. Make it with qrels.")
        return ideal_of_rows(self.labels, self.query_ptr)

    def _selected(self, queries: Ints, rows: Ints) -> dict[str, Any]:
        places = {"X": rows} | dict.fromkeys(OF_ROWS, rows) | dict.fromkeys(OF_QUERIES, queries)
        selected = {name: getattr(self, name)[at] for name, at in places.items() if getattr(self, name) is not None}
        if self.ideal_labels is not None and self.ideal_ptr is not None:
            ideal_rows, ideal_ptr = rows_of_groups(self.ideal_ptr, queries)
            selected |= {"ideal_labels": self.ideal_labels[ideal_rows], "ideal_ptr": ideal_ptr}
        return selected

    def summary(self) -> str:
        """Return the counts.

        Returns
        -------
        str
            One line.

        """
        labelled = "not labelled" if self.labels is None else "labelled"
        return f"RankingData: {self._counts()}, {counted(self.n_features, 'feature')}, {labelled}"

    def _value_columns(self, rows: slice) -> dict[str, list[Any]]:
        columns = {"label": self.labels, "base_score": self.base_scores}
        values = {name: column[rows].tolist() for name, column in columns.items() if column is not None}
        return values | {name: self.X[rows, j].tolist() for j, name in enumerate(self.feature_names[:FIRST_COLUMNS])}

    def run(self, scores: ArrayLike, name: str = UNNAMED) -> Run:
        """Return the documents ordered by new scores (n_rows,); ties are broken as in trec_eval.

        Parameters
        ----------
        scores : array of shape (n_rows,)
            New score of each row.
        name : str
            Name of the run.

        Returns
        -------
        Run
            The documents of each query by score, equal scores by document id, both descending.

        """
        run = Run(self.query_ids, self.query_ptr, self.stored_ids, np.asarray(scores, np.float64), name)
        return run.take(run.trec_order())


@cache
def numbered_names(n_features: int) -> tuple[str, ...]:
    """Return the names of features that were given none: "1", "2", ..."""
    return tuple(str(number + 1) for number in range(n_features))


@lru_cache(maxsize=256)  # scoring one row must not check a hundred names again
def _wrong_name(names: tuple[Any, ...]) -> list[Any]:
    """Return the names that are not text, are empty or duplicates; none if all are valid."""
    wrong = [name for name in names if not isinstance(name, str) or not name]
    repeated = first_repeated(names)
    return wrong if wrong or repeated is None else [names[repeated]]


def _row(data: RankingData, row: int) -> str:
    """Return the description of a row in messages."""
    query = data.query_ids[np.searchsorted(data.query_ptr, row, side="right") - 1]
    return f"row {row} (query {shown(str(query))}, document {shown(str(data.doc_ids[row]))})"


def _check_column(
    data: RankingData, what: str, name: str, values: NDArray[Any] | None, most: float, remedy: str
) -> None:
    """Refuse a value that is not finite, or whose absolute value is above `most`."""
    if values is not None:
        bound = "" if np.isinf(most) else f" (at most {most:g})"
        wrong = np.flatnonzero(~(np.isfinite(values) & (np.abs(values) <= most))).tolist()
        if len(wrong):
            row = wrong[0]
            raise InvalidInputError(
                f"{what}expected a finite {name} in every row{bound if np.isfinite(values[row]) else ''}, got "
                f"{values[row]} at {_row(data, row)}. {remedy}."
            )


def first_infinite(X: NDArray[np.float32]) -> tuple[int, int] | None:
    """Return row and column of the first infinite value, or None."""
    for first, rows in row_blocks(X):
        infinite = np.isinf(rows)
        if infinite.any():
            row, column = np.argwhere(infinite)[0].tolist()
            return first + row, column
    return None


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
    members = dict(
        query_ids=names,
        query_ptr=query_ptr,
        doc_ids=docs[rows],
        labels=columns.get(LABEL),
        base_scores=columns.get(BASE_SCORE),
        **weight_members(columns.get(WEIGHT), query_ptr),
    )
    if ideal is not None:
        for name in names.tolist():
            if name not in ideal:
                raise InvalidInputError(
                    f"data: expected ideal labels of every query, got none for query {shown(name)}. "
                    "Write the data anew."
                )
        labels = [np.asarray(ideal[name], dtype=np.float64) for name in names.tolist()]
        members |= {
            "ideal_labels": np.concatenate([np.empty(0), *labels]),
            "ideal_ptr": pointers([len(of_query) for of_query in labels]),
        }
    return members, order


def pair_columns(data: RankingData, rows: slice, X: NDArray[np.float32]) -> dict[str, Any]:
    """Return the columns of some rows, whose features are X, by name; refuse a feature with the name of another."""
    aliases = {name for column in (QUERY_ID, DOC_ID, LABEL) for name in ALIASES[column]}
    for name in data.feature_names:
        if name in aliases.union(NOT_FEATURES):
            raise InvalidInputError(
                f"data: expected features with other names than the columns {', '.join(NOT_FEATURES)} and their "
                f"aliases, got {name!r}. Rename the feature."
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


def stored_members(data: RankingData) -> dict[str, Any]:
    """Return what has no row, as JSON values, without keys for what the data do not have."""
    mappings = {"recipe": data.recipe, "fingerprint": data.fingerprint}
    members: dict[str, Any] = {name: dict(mapping) for name, mapping in mappings.items() if mapping is not None}
    if data.zeros is not None:
        members["zeros"] = data.zeros
    if data.first_number != 1:
        members["first_number"] = data.first_number
    if data.ideal_labels is not None and data.ideal_ptr is not None:
        labels = data.ideal_labels.tolist()
        bounds = pairwise(data.ideal_ptr.tolist())
        members["ideal_labels"] = {query_id: labels[slice(*own)] for query_id, own in zip(data, bounds, strict=True)}
    return members | retriever_members(data.retriever, data.run_retrievers)


def read_pairs(
    frame: Frame, features: Sequence[str] | None = None
) -> tuple[Ids, Ids, NDArray[np.float32], tuple[str, ...], dict[str, Floats]]:
    """Return queries, documents, features with their names, and label, base score and weight by name, of the rows.

    The features are all other columns unless they are named.
    """
    others = [column_name("data", frame, column, column in (QUERY_ID, DOC_ID)) for column in NOT_FEATURES]
    present = dict.fromkeys(names_of(frame))
    own = [name for name in present if name not in others and not is_row_number(name, frame[name])]
    names = own if features is None else list(features)
    for name in names:
        if not isinstance(name, str) or name not in present:
            raise InvalidInputError(
                f"data: expected feature columns with names of text, got {shown(name)}. Rename or add the column."
            )
    X = np.empty((len(frame[column_name("data", frame, QUERY_ID)]), len(names)), dtype=np.float32)
    for column, name in enumerate(names):
        refuse_categories("data", frame[name], name)
        with np.errstate(over="ignore"):
            X[:, column] = number_column("data", frame, name, allow_nan=True)
        too_large = np.flatnonzero(np.isinf(X[:, column]))
        if len(too_large):
            raise InvalidInputError(
                f"data: expected numbers within float32 in column {shown(name)}, got a larger one at "
                f"{place(frame, too_large[0])}. Scale the feature."
            )
    columns = {name: column_name("data", frame, name, required=False) for name in (LABEL, BASE_SCORE, WEIGHT)}
    numbers = {name: number_column("data", frame, column) for name, column in columns.items() if column is not None}
    return id_column("data", frame, QUERY_ID), id_column("data", frame, DOC_ID), X, tuple(names), numbers


def warn_of_labels(what: str, data: RankingData) -> None:
    """Warn of features that equal the label in every row, which new documents do not have."""
    if data.labels is None or (data.labels == data.labels[:1]).all():
        return
    labels = data.labels.astype(np.float32)[:, np.newaxis]
    alike = np.ones(data.n_features, dtype=np.bool_)
    for first, block in row_blocks(data.X):
        alike &= (block == labels[first : first + len(block)]).all(axis=0)
        if not alike.any():
            return
    named = ", ".join(shown(data.feature_names[column]) for column in np.flatnonzero(alike).tolist())
    log.warning(
        "%s: features equal the label in every row, %s: leave them out, unless new documents have them.", what, named
    )


def warn_of_rounding(what: str, X: NDArray[np.float32], names: Sequence[str], given: Callable[[int], Any]) -> None:
    """Warn of features with other values than float32 tells apart, such as seconds since 1970.

    given  returns a column of X as it was given, in float64 or as whole numbers
    """
    low, high = np.fmin.reduce(X, axis=0, initial=np.inf), np.fmax.reduce(X, axis=0, initial=-np.inf)
    for column in np.flatnonzero(high - low < FINE * np.maximum(-low, high)).tolist():
        kept = X[:, column]
        n_given, n_kept = (len(np.unique(values[kept == kept])) for values in (given(column), kept))
        if n_kept < n_given:
            log.warning(
                "%s: feature %s has %d values, of which float32 tells %d apart. Subtract a constant from it.",
                what,
                shown(names[column]),
                n_given,
                n_kept,
            )


def warn_of_places(what: str, queries: NDArray[Any], n_queries: int) -> None:
    """Warn of queries (n_rows,) with rows in two places, as where data with the same ids were joined.

    Rows in any order have more places.
    """
    n_again = np.count_nonzero(queries[1:] != queries[:-1]) + 1 - n_queries
    if 0 < n_again <= n_queries:
        log.warning(
            "%s: %d queries have rows in two places, which count as one query. If they are different queries, as "
            "where data were joined, number them anew.",
            what,
            n_again,
        )


def weight_members(weights: Floats | None, query_ptr: Ints) -> dict[str, Any]:
    """Return weights (n_rows,) as the member `weights` where they are equal in each query, else as `row_weights`."""
    if weights is None:
        return {}
    has_rows = np.diff(query_ptr) > 0
    of_queries = np.ones(len(query_ptr) - 1)
    of_queries[has_rows] = weights[query_ptr[:-1][has_rows]]
    is_equal = np.array_equal(weights, of_queries[query_rows(query_ptr)])
    return {"weights": of_queries} if is_equal else {"row_weights": weights}


def weights_of_rows(data: RankingData) -> Floats | None:
    """Return the weight of each row, its own or that of its query, (n_rows,) float64; None without weights."""
    return data.row_weights if data.weights is None else data.weights[query_rows(data.query_ptr)]

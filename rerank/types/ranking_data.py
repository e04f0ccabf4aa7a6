"""Ranking data: features, labels and base scores of query-document pairs, and their validation.

Folds of queries that separate no near duplicates: a copy of a query in another fold would give its labels away.

Preference pairs: two documents of a query, one of them better, with an optional probability.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.runtime.codec import first_repeated
from rerank.runtime.mapped_rows import row_blocks
from rerank.types.frames import PairTable
from rerank.types.ids import Floats, Ids, Ints, are_pointers, id_array, ideal_of_rows, joined_rows
from rerank.types.query_table import FIRST_COLUMNS, counted
from rerank.types.records import Run
from rerank.types.retriever import UNNAMED

LISTED, UNLISTED, BOTH = "listed", "unlisted", "both"  # what a 0 of sparse rows is
MOST_LABEL = 2.0**31  # a larger absolute value is not a grade


@dataclass(frozen=True, eq=False, repr=False)
class RankingData(PairTable):
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

    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shapes(self)
        if self.X.shape != (self.n_rows, len(self.feature_names)):
            raise InvalidInputError(
                f"data: expected X of shape ({self.n_rows}, {len(self.feature_names)}) for its document "
                f"ids and feature names, got {self.X.shape}. Pass one row a document."
            )

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
        for weights in (self.weights, self.row_weights):
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
        if name not in self.feature_names:
            raise unknown_name("feature", name, self.feature_names)
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
        ideal_labels = self.ideal_labels
        ideal_ptr = self.ideal_ptr
        if ideal_labels is not None and ideal_ptr is not None:
            ideal_rows, ideal_ptr = joined_rows(ideal_ptr[queries], np.diff(ideal_ptr)[queries])
            ideal_labels = ideal_labels[ideal_rows]
        return {
            "X": self.X[rows],
            "labels": None if self.labels is None else self.labels[rows],
            "base_scores": None if self.base_scores is None else self.base_scores[rows],
            "weights": None if self.weights is None else self.weights[queries],
            "row_weights": None if self.row_weights is None else self.row_weights[rows],
            "query_groups": None if self.query_groups is None else self.query_groups[queries],
            "ideal_labels": ideal_labels,
            "ideal_ptr": ideal_ptr,
        }

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
        return values | {
            f"{name}": self.X[rows, j].tolist() for j, name in enumerate(self.feature_names[:FIRST_COLUMNS])
        }

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


def check_shapes(data: RankingData) -> None:
    """Refuse arrays whose sizes do not agree."""
    n_queries = len(data.query_ids)
    n_rows = data.n_rows
    sizes = {"labels": n_rows, "base_scores": n_rows, "weights": n_queries, "row_weights": n_rows}
    sizes["query_groups"] = n_queries
    for name, size in sizes.items():
        values = getattr(data, name)
        if values is not None and np.shape(values) != (size,):
            raise InvalidInputError(
                f"data: expected {name} of shape ({size},), got {np.shape(values)}. Pass one value each."
            )
    if data.weights is not None and data.row_weights is not None:
        raise InvalidInputError("data: expected weights or row_weights, got both. Multiply them, row by row.")
    if (data.ideal_labels is None) != (data.ideal_ptr is None):
        raise InvalidInputError("data: expected ideal_labels and ideal_ptr, got one of them. Pass both or none.")
    ideal = data.ideal_labels
    ideal_ptr = data.ideal_ptr
    if ideal is not None and ideal_ptr is not None and not are_pointers(ideal_ptr, n_queries, len(ideal)):
        raise InvalidInputError(
            f"data: expected ideal_ptr of {n_queries + 1} whole numbers that rise from 0 to {len(ideal)}, got others. "
            "Pass the first ideal label of each query, and their number."
        )
    try:
        fault = _fault_of_names(tuple(data.feature_names))
    except TypeError:  # a name that cannot be hashed is not text
        fault = (next(name for name in data.feature_names if not isinstance(name, str)),)
    if fault is not None:
        raise InvalidInputError(
            f"data: expected feature names that are text, each there once, got {shown(fault[0])}. Rename the feature."
        )


@lru_cache(maxsize=256)  # scoring one row must not check a hundred names again
def _fault_of_names(names: tuple[Any, ...]) -> tuple[Any] | None:
    """Return a name that is not text, empty or a duplicate, in a tuple; None if all are valid."""
    wrong = next((number for number, name in enumerate(names) if not isinstance(name, str) or not name), None)
    wrong = first_repeated(names) if wrong is None else wrong
    return None if wrong is None else (names[wrong],)


def _row(data: RankingData, row: int) -> str:
    """Return the description of a row in messages."""
    query = data.query_ids[np.searchsorted(data.query_ptr, row, side="right") - 1]
    return f"row {row} (query {_name(query)}, document {_name(data.doc_ids[row])})"


def _name(identifier: str) -> str:
    """Return an id as messages write it: as it is, or quoted if it does not print on one line."""
    text = str(identifier)
    return text if text.isprintable() and len(text) <= 60 else shown(text)


def _check_column(
    data: RankingData, what: str, name: str, values: NDArray[Any] | None, most: float, remedy: str
) -> None:
    """Refuse a value that is not finite, or whose absolute value is above `most`."""
    bad = np.empty(0, np.int64) if values is None else np.flatnonzero(~(np.isfinite(values) & (np.abs(values) <= most)))
    if values is not None and len(bad):
        row = int(bad[0])
        bound = "" if np.isinf(most) else f" (at most {most:g})" if np.isfinite(values[row]) else ""
        raise InvalidInputError(
            f"{what}expected a finite {name} in every row{bound}, got {values[row]} at {_row(data, row)}. {remedy}."
        )


def first_infinite(X: NDArray[np.float32]) -> tuple[int, int] | None:
    """Return row and column of the first infinite value, or None."""
    for first, rows in row_blocks(X):
        infinite = np.isinf(rows)
        if infinite.any():
            row, column = np.argwhere(infinite)[0].tolist()
            return first + row, column
    return None


def folds_of_groups(groups: Ints, order: Ints, n_folds: int) -> Ints:
    """Return the fold of each query, (n_queries,) int64: groups go, in an order, to the fold with the fewest queries.

    Where each query is a group of its own, folds take turns.

    Shapes: groups (n_queries,) int64 from 0; order (n_groups,) the groups, each once.
    """
    sizes = np.bincount(groups)
    filled = np.zeros(n_folds, dtype=np.int64)
    fold_of_group = np.empty(len(sizes), dtype=np.int64)
    for group in order.tolist():
        fold = int(np.argmin(filled))
        fold_of_group[group] = fold
        filled[fold] += sizes[group]
    return fold_of_group[groups]


def numbered_groups(groups: Ints) -> tuple[Ints, Ints]:
    """Return groups numbered by their first query, (n_queries,) int64, and the first query of each, (n_groups,)."""
    _, first, numbers = np.unique(groups, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))
    return place[numbers], np.sort(first)


def groups_of_queries(data: RankingData) -> Ints:
    """Return the group of each query of data, (n_queries,) int64.

    Where the data do not say which queries are near duplicates, those of the same documents and features are a group.
    """
    if data.query_groups is not None:
        return data.query_groups
    numbers: dict[bytes, int] = {}
    groups = np.arange(len(data))
    for query, (first, last) in enumerate(pairwise(data.query_ptr.tolist())):
        if last - first > 1:
            order = first + np.argsort(data.stored_ids[first:last], kind="stable")
            digest = blake2b(np.ascontiguousarray(data.X[order]).tobytes(), digest_size=16)
            digest.update(np.ascontiguousarray(data.stored_ids[order]).tobytes())
            groups[query] = numbers.setdefault(digest.digest(), query)
    return groups


@dataclass(frozen=True, eq=False)
class Preferences:
    """Preference pairs, which may contradict each other and occur more than once.

    Parameters
    ----------
    query_ids, better, worse : ndarray of shape (n_pairs,), dtype str
        The query, the better and the worse document of each pair.
    probabilities : ndarray of shape (n_pairs,), dtype float64
        Probability, from 0 to 1, that the better document is better: P̄_ij.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 2, where P̄_ij is the
    target of RankNet's cost.

    """

    query_ids: Ids
    better: Ids
    worse: Ids
    probabilities: Floats

    def __len__(self) -> int:
        return len(self.query_ids)

    @classmethod
    def of(cls, pairs: Preferences | Iterable[Sequence[Any]]) -> Preferences:
        """Return preferences made of (query id, better document id, worse document id[, probability]) rows.

        Parameters
        ----------
        pairs : Preferences or iterable of sequence
            Rows of a query id, the better and the worse document id, and optionally a probability from 0 to 1.

        Returns
        -------
        Preferences
            The pairs.

        Raises
        ------
        InvalidInputError
            If there is no row, or one of another form.

        """
        if isinstance(pairs, cls):
            return pairs
        rows = [(*row, 1.0) if isinstance(row, Iterable) else (row,) for row in pairs]  # type: ignore[union-attr]
        invalid = next((row for row in rows if len(row) not in (4, 5) or not _is_probability(row[3])), None)
        if invalid is not None or not rows:
            got = "none" if invalid is None else shown(invalid[:-1] or invalid)
            raise InvalidInputError(
                "preferences: expected rows of query id, better document id, worse document id and optionally a "
                f"probability from 0 to 1, got {got}. Pass e.g. ('q1', 'd1', 'd2')."
            )
        queries, better, worse = (id_array([str(row[column]) for row in rows]) for column in range(3))
        return cls(queries, better, worse, np.array([float(row[3]) for row in rows]))


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and bool(0.0 <= value <= 1.0)

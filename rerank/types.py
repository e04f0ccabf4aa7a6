"""The records that rooms hand to each other: flat arrays with one vocabulary.

query      one information need; `query_ids` names them, `query_ptr` says which rows are whose
row        0-based place in flat arrays; rows of query q are [query_ptr[q], query_ptr[q + 1])
rank       place in an order by score: 0-based in code, 1-based only in run files
label      judged grade of a document for a query
gain       what a measure makes of a label
score      what a ranker gives a document; larger is better
cutoff     depth at which a measure stops (`nDCG@10`)
top_n, k   depth of retrieval

Ids are text (NumPy `U` arrays: they order by code point, which is trec_eval's byte order).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, unknown_name

Ids = NDArray[np.str_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def query_rows(query_ptr: Ints) -> Ints:
    """Return the query number of every row, (n_rows,) int64."""
    return np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr))


def pointers(counts: ArrayLike) -> Ints:
    """Return (n + 1,) int64 offsets of runs of rows whose lengths are `counts`."""
    counts = np.asarray(counts, dtype=np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def id_array(ids: Any) -> Ids:
    """Return ids as a NumPy text array, never of width 0."""
    array = np.asarray(ids, dtype=np.str_) if len(ids) else np.empty(0, dtype="U1")
    return array if array.dtype.itemsize else array.astype("U1")


@dataclass(frozen=True)
class Topics(Mapping[str, str]):
    """Queries by id, in the order in which they were given."""

    texts: Mapping[str, str]

    def __getitem__(self, query_id: str) -> str:
        return self.texts[query_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    @classmethod
    def of(cls, topics: Mapping[str, str]) -> Topics:
        """Take a record or a plain `{qid: text}`."""
        if isinstance(topics, cls):
            return topics
        if not isinstance(topics, Mapping) or not len(topics):
            raise InvalidInputError(
                "topics: expected a non-empty mapping {query id: text}, "
                f"found {type(topics).__name__} of {_size(topics)}; pass e.g. {{'q1': 'heat flow'}}."
            )
        return cls({str(query_id): str(text) for query_id, text in topics.items()})


@dataclass(frozen=True, eq=False)
class _QueryTable:
    """Rows of documents, query by query."""

    query_ids: Ids
    query_ptr: Ints
    doc_ids: Ids

    def __post_init__(self) -> None:
        positions = {str(query_id): number for number, query_id in enumerate(self.query_ids)}
        if len(positions) != len(self.query_ids):
            raise InvalidInputError(
                f"{type(self).__name__}: expected each query id once, found one that returns; "
                "put the rows of a query together."
            )
        object.__setattr__(self, "_positions", positions)

    def __len__(self) -> int:
        return len(self.query_ids)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._positions  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[str]:
        return (str(query_id) for query_id in self.query_ids)

    def rows(self, query_id: str) -> slice:
        """Return the rows of one query; KeyError where the query is not here."""
        number = self._positions[query_id]  # type: ignore[attr-defined]
        return slice(int(self.query_ptr[number]), int(self.query_ptr[number + 1]))

    @property
    def n_rows(self) -> int:
        """Number of query-document pairs."""
        return len(self.doc_ids)


@dataclass(frozen=True, eq=False)
class Qrels(_QueryTable):
    """Judgements: labels (n_rows,) int64; within a query, rows stand by ascending document id."""

    labels: Ints

    def __getitem__(self, query_id: str) -> dict[str, int]:
        rows = self.rows(query_id)
        return dict(zip(self.doc_ids[rows].tolist(), self.labels[rows].tolist(), strict=True))

    @classmethod
    def from_rows(cls, query_ids: ArrayLike, doc_ids: ArrayLike, labels: ArrayLike) -> Qrels:
        """Group rows (one query id, document id and label each, any order) by query.

        Queries stand in the order of their first row. Nothing is checked for duplicates.
        """
        names, query_ptr, order = _group(id_array(query_ids), id_array(doc_ids))
        return cls(names, query_ptr, id_array(doc_ids)[order], np.asarray(labels, dtype=np.int64)[order])

    @classmethod
    def of(cls, qrels: Qrels | Mapping[str, Mapping[str, int]]) -> Qrels:
        """Take a record or a plain `{qid: {docid: label}}`."""
        if isinstance(qrels, cls):
            return qrels
        queries, docs, labels = _columns("qrels", "label", qrels)
        strange = next((label for label in labels if int(label) != label), None)
        if strange is not None:
            raise InvalidInputError(f"qrels: expected whole numbers as labels, found {strange}; round or scale them.")
        return cls.from_rows(queries, docs, labels)

    def lookup(self, query_ids: Ids, query_ptr: Ints, doc_ids: Ids) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the label of every row of a run (0 where unjudged) and whether it is judged."""
        labels = np.zeros(len(doc_ids), dtype=np.int64)
        judged = np.zeros(len(doc_ids), dtype=np.bool_)
        for number, query_id in enumerate(query_ids.tolist()):
            if query_id not in self:
                continue
            mine, theirs = slice(query_ptr[number], query_ptr[number + 1]), self.rows(query_id)
            known = self.doc_ids[theirs]
            if not len(known):
                continue
            place = np.minimum(np.searchsorted(known, doc_ids[mine]), len(known) - 1)
            judged[mine] = known[place] == doc_ids[mine]
            labels[mine] = np.where(judged[mine], self.labels[theirs][place], 0)
        return labels, judged

    def ideal(self, query_ids: Ids) -> tuple[Floats, Ints]:
        """Return all positive labels of the queries, best first, and their `query_ptr`.

        Judged documents that a run did not retrieve are among them: this is the ideal of nDCG, AP and R.
        """
        parts = [
            -np.sort(-self.labels[self.rows(query_id)]) if query_id in self else np.empty(0, np.int64)
            for query_id in query_ids.tolist()
        ]
        parts = [part[part > 0] for part in parts]
        flat = np.concatenate([np.empty(0, np.int64), *parts]).astype(np.float64)
        return flat, pointers([len(part) for part in parts])


@dataclass(frozen=True, eq=False)
class Run(_QueryTable):
    """Ranked documents: scores (n_rows,) float64; within a query, rows stand as the ranker ordered them."""

    scores: Floats
    name: str = "rerank"

    def __getitem__(self, query_id: str) -> dict[str, float]:
        rows = self.rows(query_id)
        return dict(zip(self.doc_ids[rows].tolist(), self.scores[rows].tolist(), strict=True))

    @classmethod
    def from_rows(cls, query_ids: ArrayLike, doc_ids: ArrayLike, scores: ArrayLike, name: str = "rerank") -> Run:
        """Group rows (any order) by query and put each query in trec_eval's order."""
        names, query_ptr, order = _group(id_array(query_ids), id_array(doc_ids))
        run = cls(
            names,
            query_ptr,
            id_array(doc_ids)[order],
            np.asarray(scores, dtype=np.float64)[order],
            name,
        )
        return run.take(run.trec_order())

    @classmethod
    def of(cls, run: Run | Mapping[str, Mapping[str, float]]) -> Run:
        """Take a record or a plain `{qid: {docid: score}}`."""
        if isinstance(run, cls):
            return run
        queries, docs, scores = _columns("run", "score", run)
        return cls.from_rows(queries, docs, scores)

    def trec_order(self) -> Ints:
        """Return the rows query by query as trec_eval orders them: score, then document id, descending."""
        return trec_order(self.query_ptr, self.scores, self.doc_ids)

    def take(self, order: Ints) -> Run:
        """Return the run with its rows in another order (rows stay within their query)."""
        return replace(self, doc_ids=self.doc_ids[order], scores=self.scores[order])

    def head(self, k: int) -> Run:
        """Return the first k rows of each query."""
        counts = np.minimum(np.diff(self.query_ptr), k)
        query_ptr = pointers(counts)
        rows = np.arange(query_ptr[-1]) + np.repeat(self.query_ptr[:-1] - query_ptr[:-1], counts)
        return replace(self, query_ptr=query_ptr, doc_ids=self.doc_ids[rows], scores=self.scores[rows])


@dataclass(frozen=True, eq=False)
class RankingData(_QueryTable):
    """Features of query-document pairs, as a ranker learns from and ranks.

    X                 (n_rows, n_features) float32; NaN is missing and never read as 0
    labels            (n_rows,) float64, or None where nothing is judged; an unjudged document has 0
    base_scores       (n_rows,) float64: scores of the run that the rows came from, or None
    weights           (n_queries,) float64, or None for 1 each
    ideal_labels      positive labels of every query, best first, flat, with `ideal_ptr`: taken from the
                      qrels, so that documents the run missed count; None: the rows are all there is
    recipe            how the features were made (plain JSON values), or None
    fingerprint       statistics of the index they were made on, or None
    """

    X: NDArray[np.float32]
    feature_names: tuple[str, ...]
    labels: Floats | None = None
    base_scores: Floats | None = None
    weights: Floats | None = None
    ideal_labels: Floats | None = None
    ideal_ptr: Ints | None = None
    recipe: Mapping[str, Any] | None = None
    fingerprint: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.X.shape != (self.n_rows, len(self.feature_names)):
            raise InvalidInputError(
                f"data: expected X of shape ({self.n_rows}, {len(self.feature_names)}) for its document "
                f"ids and feature names, found {self.X.shape}; pass one row a document."
            )

    @property
    def n_features(self) -> int:
        """Number of feature columns."""
        return len(self.feature_names)

    def column(self, name: str) -> Floats:
        """Return one feature by name as (n_rows,) float64."""
        if name not in self.feature_names:
            raise unknown_name("feature", name, self.feature_names)
        return self.X[:, self.feature_names.index(name)].astype(np.float64)

    def ideal(self) -> tuple[Floats, Ints]:
        """Return the positive labels of every query, best first, and their `query_ptr`."""
        if self.ideal_labels is not None and self.ideal_ptr is not None:
            return self.ideal_labels, self.ideal_ptr
        if self.labels is None:
            raise InvalidInputError("data: expected labels, found none; make it with qrels.")
        return ideal_of_rows(self.labels, self.query_ptr)

    def select(self, queries: ArrayLike) -> RankingData:
        """Return the data of some queries, given by number, in that order."""
        queries = np.asarray(queries, dtype=np.int64)
        rows, query_ptr = _gather(self.query_ptr, queries)
        ideal_labels, ideal_ptr = self.ideal_labels, self.ideal_ptr
        if ideal_labels is not None and ideal_ptr is not None:
            ideal_rows, ideal_ptr = _gather(ideal_ptr, queries)
            ideal_labels = ideal_labels[ideal_rows]
        return replace(
            self,
            query_ids=self.query_ids[queries],
            query_ptr=query_ptr,
            doc_ids=self.doc_ids[rows],
            X=self.X[rows],
            labels=None if self.labels is None else self.labels[rows],
            base_scores=None if self.base_scores is None else self.base_scores[rows],
            weights=None if self.weights is None else self.weights[queries],
            ideal_labels=ideal_labels,
            ideal_ptr=ideal_ptr,
        )

    def run(self, scores: ArrayLike, name: str = "rerank") -> Run:
        """Return the documents ordered by new scores (n_rows,), ties as trec_eval breaks them."""
        run = Run(self.query_ids, self.query_ptr, self.doc_ids, np.asarray(scores, np.float64), name)
        return run.take(run.trec_order())


def trec_order(query_ptr: Ints, scores: Floats, doc_ids: Ids) -> Ints:
    """Return the rows query by query by score, then document id, both descending.

    Scores are compared as float32, since that is how trec_eval holds them.
    """
    query = query_rows(query_ptr)
    with np.errstate(over="ignore"):
        scores = scores.astype(np.float32)
    order = np.lexsort((-scores, query))
    ordered = scores[order]
    tied = np.flatnonzero((ordered[1:] == ordered[:-1]) & (query[1:] == query[:-1]))
    if not len(tied):
        return order
    starts = tied[np.concatenate([[True], np.diff(tied) > 1])]
    ends = tied[np.concatenate([np.diff(tied) > 1, [True]])] + 2
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        group = order[start:end]
        order[start:end] = group[np.argsort(doc_ids[group], kind="stable")[::-1]]
    return order


def ideal_of_rows(labels: Floats, query_ptr: Ints) -> tuple[Floats, Ints]:
    """Return the positive labels of every query, best first, where the rows are all that was judged."""
    query = query_rows(query_ptr)
    order = np.lexsort((-labels, query))
    order = order[labels[order] > 0]
    return labels[order], pointers(np.bincount(query[order], minlength=len(query_ptr) - 1))


def _gather(query_ptr: Ints, queries: Ints) -> tuple[Ints, Ints]:
    counts = np.diff(query_ptr)[queries]
    new_ptr = pointers(counts)
    rows = np.arange(new_ptr[-1]) + np.repeat(query_ptr[queries] - new_ptr[:-1], counts)
    return rows, new_ptr


def _group(query_ids: Ids, doc_ids: Ids) -> tuple[Ids, Ints, Ints]:
    """Return query ids by first appearance, query_ptr, and rows by (query, document id)."""
    names, first, inverse = np.unique(query_ids, return_index=True, return_inverse=True)
    by_first = np.argsort(first, kind="stable")
    place = np.empty(len(names), dtype=np.int64)
    place[by_first] = np.arange(len(names))
    query = place[inverse.reshape(-1)]
    order = np.lexsort((doc_ids, query))
    return names[by_first], pointers(np.bincount(query, minlength=len(names))), order


def _columns(what: str, value: str, table: Any) -> tuple[list[str], list[str], list[Any]]:
    if not isinstance(table, Mapping):
        raise InvalidInputError(
            f"{what}: expected a {what} record or {{query id: {{document id: {value}}}}}, "
            f"found {type(table).__name__}; read one with rerank.read_{what}."
        )
    queries: list[str] = []
    docs: list[str] = []
    values: list[Any] = []
    for query_id, documents in table.items():
        queries += [str(query_id)] * len(documents)
        docs += [str(doc_id) for doc_id in documents]
        values += documents.values()
    return queries, docs, values


def _size(value: object) -> str:
    return f"{len(value)} entries" if hasattr(value, "__len__") else "no size"

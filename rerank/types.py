"""The records that rooms hand to each other: flat arrays with one vocabulary.

query      one information need; `query_ids` names them, `query_ptr` says which rows are whose
row        0-based place in flat arrays; rows of query q are [query_ptr[q], query_ptr[q + 1])
rank       place in an order by score: 0-based in code, 1-based only in run files
label      judged grade of a document for a query
gain       what a measure makes of a label
score      what a ranker gives a document; larger is better
cutoff     depth at which a measure stops (`nDCG@10`)
top_n, k   depth of retrieval

Ids are text (NumPy `U` arrays: they order by code point, which is trec_eval's byte order). Readers of files hand
over document ids as UTF-8 bytes (`S` arrays, a quarter of the room), which become text when first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.datachecks import check_shapes, check_values
from rerank.errors import InvalidInputError, unknown_name
from rerank.ids import Ids, PairTable, id_array, id_texts, sort_keys
from rerank.ordering import trec_order
from rerank.retriever import UNNAMED, Retriever
from rerank.threads import in_threads

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def query_rows(query_ptr: Ints) -> Ints:
    """Return the query number of every row, (n_rows,) int64."""
    return np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr))


def pointers(counts: ArrayLike) -> Ints:
    """Return (n + 1,) int64 offsets of runs of rows whose lengths are `counts`."""
    counts = np.asarray(counts, dtype=np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


@dataclass(frozen=True)
class Topics(Mapping[str, str]):
    """Queries by id, in the order in which they were given."""

    texts: Mapping[str, str]

    def __post_init__(self) -> None:
        for query_id, text in self.texts.items():
            if not isinstance(text, str) or not text.strip():
                raise InvalidInputError(
                    f"topics: expected a text for query {query_id!r}, found {text!r}; write it or drop the query."
                )

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
            size = f"{len(topics)} entries" if hasattr(topics, "__len__") else "no size"
            raise InvalidInputError(
                "topics: expected a non-empty mapping {query id: text}, "
                f"found {type(topics).__name__} of {size}; pass e.g. {{'q1': 'heat flow'}}."
            )
        texts: dict[str, str] = {}
        for query_id, text in topics.items():
            if str(query_id) in texts:
                raise InvalidInputError(
                    f"topics: expected each query id once, found {str(query_id)!r} again; rename one of the two."
                )
            is_whole_number = isinstance(text, int | np.integer) and not isinstance(text, bool)
            texts[str(query_id)] = str(text) if is_whole_number else text
        return cls(texts)


@dataclass(frozen=True, eq=False)
class _QueryTable:
    """Rows of documents, query by query."""

    query_ids: Ids
    query_ptr: Ints
    doc_ids: Ids
    stored_ids: ClassVar[NDArray[Any]]  # of the record: doc_ids as they were given
    _positions: ClassVar[dict[str, int]]

    def __post_init__(self) -> None:
        positions = {str(query_id): number for number, query_id in enumerate(self.query_ids)}
        if len(positions) != len(self.query_ids):
            raise InvalidInputError(
                f"{type(self).__name__}: expected each query id once, found one that returns; "
                "put the rows of a query together."
            )
        vars(self)["_positions"] = positions

    def __len__(self) -> int:
        return len(self.query_ids)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._positions

    def __iter__(self) -> Iterator[str]:
        return (str(query_id) for query_id in self.query_ids)

    def rows(self, query_id: str) -> slice:
        """Return the rows of one query; KeyError where the query is not here."""
        number = self._positions[query_id]
        return slice(int(self.query_ptr[number]), int(self.query_ptr[number + 1]))

    @property
    def n_rows(self) -> int:
        """Number of query-document pairs."""
        return len(self.stored_ids)


def _doc_ids(table: Any) -> Ids:
    """Return the text of a record's document ids, made from bytes when it is first asked for."""
    if table.stored_ids.dtype.kind == "S":
        vars(table)["stored_ids"] = id_texts(table.stored_ids)
    return table.stored_ids  # type: ignore[no-any-return]


_QueryTable.doc_ids = property(_doc_ids, lambda table, ids: vars(table).update(stored_ids=ids))  # type: ignore


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
        labels, judged = np.zeros(len(doc_ids), np.int64), np.zeros(len(doc_ids), np.bool_)
        rows, mine = self.matches(query_ids, query_ptr, doc_ids)
        labels[rows], judged[rows] = self.labels[mine], True
        return labels, judged

    def matches(self, query_ids: Ids, query_ptr: Ints, doc_ids: NDArray[Any]) -> tuple[Ints, Ints]:
        """Return the rows of a run that are judged, and the row of each here. doc_ids are text or bytes."""
        numbers, table = self._numbers(query_ids), self._pairs

        def find(block: tuple[int, int]) -> tuple[Ints, Ints]:
            first, last = block
            start, end = int(query_ptr[first]), int(query_ptr[last])
            query = np.repeat(numbers[first:last], np.diff(query_ptr[first : last + 1]))
            rows, mine = table.find(query, doc_ids[start:end])
            return rows + start, mine

        found = [(np.empty(0, np.int64), np.empty(0, np.int64)), *in_threads(find, query_blocks(query_ptr))]
        return np.concatenate([rows for rows, _ in found]), np.concatenate([mine for _, mine in found])

    @cached_property
    def _pairs(self) -> PairTable:
        return PairTable.of(query_rows(self.query_ptr), self.stored_ids)

    def _numbers(self, query_ids: Ids) -> Ints:
        """Return the number of each query here, -1 where it is not."""
        return np.array([self._positions.get(query_id, -1) for query_id in query_ids.tolist()], dtype=np.int64)

    def count(self, label: int, query_ids: Ids) -> Floats:
        """Return how many documents of each query have a label, (n_queries,) float64."""
        found = np.bincount(query_rows(self.query_ptr)[self.labels == label], minlength=len(self) + 1)
        return found[self._numbers(query_ids)].astype(np.float64)  # the last place, -1, is for a query that is not here

    def ideal(self, query_ids: Ids) -> tuple[Floats, Ints]:
        """Return all positive labels of the queries, best first, and their `query_ptr`.

        Judged documents that a run did not retrieve are among them: this is the ideal of nDCG, AP and R.
        """
        numbers = self._numbers(query_ids)
        counts = np.where(numbers < 0, 0, np.diff(self.query_ptr, append=0)[numbers])
        rows, query_ptr = joined_rows(self.query_ptr[numbers], counts)
        return ideal_of_rows(self.labels[rows].astype(np.float64), query_ptr)


@dataclass(frozen=True, eq=False)
class Run(_QueryTable):
    """Ranked documents: scores (n_rows,) float64; within a query, rows stand as the ranker ordered them.

    name  one word that says what made the run: the tag of TREC run files, see `retriever`
    """

    scores: Floats
    name: str = UNNAMED

    def __getitem__(self, query_id: str) -> dict[str, float]:
        rows = self.rows(query_id)
        return dict(zip(self.doc_ids[rows].tolist(), self.scores[rows].tolist(), strict=True))

    @classmethod
    def from_rows(cls, query_ids: ArrayLike, doc_ids: ArrayLike, scores: ArrayLike, name: str = UNNAMED) -> Run:
        """Group rows (any order) by query and put each query in trec_eval's order."""
        names, query_ptr, order = _group(id_array(query_ids), id_array(doc_ids))
        run = cls(names, query_ptr, id_array(doc_ids)[order], np.asarray(scores, dtype=np.float64)[order], name)
        return run.take(run.trec_order())

    @classmethod
    def of(cls, run: Run | Mapping[str, Mapping[str, float]]) -> Run:
        """Take a record or a plain `{qid: {docid: score}}`."""
        if isinstance(run, cls):
            return run
        queries, docs, scores = _columns("run", "score", run)
        return cls.from_rows(queries, docs, scores)

    @property
    def retriever(self) -> Retriever | None:
        """What made the run, as far as its name tells; None where it was given no name."""
        return None if self.name == UNNAMED else Retriever.of_tag(self.name)

    def trec_order(self) -> Ints:
        """Return the rows query by query as trec_eval orders them: score, then document id, descending."""
        return trec_order(self.query_ptr, self.scores, self.stored_ids)

    def take(self, order: Ints) -> Run:
        """Return the run with its rows in another order (rows stay within their query)."""
        return replace(self, doc_ids=self.stored_ids[order], scores=self.scores[order])

    def head(self, k: int) -> Run:
        """Return the first k rows of each query."""
        counts = np.minimum(np.diff(self.query_ptr), k)
        rows, query_ptr = joined_rows(self.query_ptr[:-1], counts)
        return replace(self, query_ptr=query_ptr, doc_ids=self.stored_ids[rows], scores=self.scores[rows])


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
    retriever         what made the run that the rows came from; None where nothing is known of it
    run_retrievers    what made each of the other runs whose scores are features, by the name of the run
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
    retriever: Retriever | None = None
    run_retrievers: Mapping[str, Retriever] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shapes(self)
        if self.X.shape != (self.n_rows, len(self.feature_names)):
            raise InvalidInputError(
                f"data: expected X of shape ({self.n_rows}, {len(self.feature_names)}) for its document "
                f"ids and feature names, found {self.X.shape}; pass one row a document."
            )

    def check_values(self, what: str = "") -> None:
        """Raise InvalidInputError, which names the data `what`, for a value that nothing can be learned from.

        Refused are infinite features (a missing value is NaN, and a value beyond float32 is a fault of its making),
        labels, base scores and weights that are not finite, labels beyond 2^31 and weights below 0.
        """
        check_values(self, what)

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
        rows, query_ptr = joined_rows(self.query_ptr[queries], np.diff(self.query_ptr)[queries])
        ideal_labels, ideal_ptr = self.ideal_labels, self.ideal_ptr
        if ideal_labels is not None and ideal_ptr is not None:
            ideal_rows, ideal_ptr = joined_rows(ideal_ptr[queries], np.diff(ideal_ptr)[queries])
            ideal_labels = ideal_labels[ideal_rows]
        return replace(
            self,
            query_ids=self.query_ids[queries],
            query_ptr=query_ptr,
            doc_ids=self.stored_ids[rows],
            X=self.X[rows],
            labels=None if self.labels is None else self.labels[rows],
            base_scores=None if self.base_scores is None else self.base_scores[rows],
            weights=None if self.weights is None else self.weights[queries],
            ideal_labels=ideal_labels,
            ideal_ptr=ideal_ptr,
        )

    def run(self, scores: ArrayLike, name: str = UNNAMED) -> Run:
        """Return the documents ordered by new scores (n_rows,), ties as trec_eval breaks them."""
        run = Run(self.query_ids, self.query_ptr, self.stored_ids, np.asarray(scores, np.float64), name)
        return run.take(run.trec_order())


def query_blocks(query_ptr: Ints, n_rows: int = 1 << 15) -> Iterator[tuple[int, int]]:
    """Yield stretches of whole queries [first, last) of about `n_rows` rows: what is made of them stays in cache."""
    first = 0
    while first < len(query_ptr) - 1:
        last = int(np.searchsorted(query_ptr, query_ptr[first] + n_rows, side="right")) - 1
        last = min(max(last, first + 1), len(query_ptr) - 1)
        yield first, last
        first = last


def ideal_of_rows(labels: Floats, query_ptr: Ints) -> tuple[Floats, Ints]:
    """Return the positive labels of every query, best first, where the rows are all that was judged."""
    rows = np.flatnonzero(labels > 0)
    query, labels = np.searchsorted(query_ptr, rows, side="right") - 1, labels[rows]
    return labels[np.lexsort((-labels, query))], pointers(np.bincount(query, minlength=len(query_ptr) - 1))


def joined_rows(starts: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return the rows of stretches that begin at `starts`, one after another, and the new `query_ptr`."""
    query_ptr = pointers(counts)
    return np.arange(query_ptr[-1]) + np.repeat(starts - query_ptr[:-1], counts), query_ptr


def _group(query_ids: Ids, doc_ids: Ids) -> tuple[Ids, Ints, Ints]:
    """Return query ids by first appearance, query_ptr, and rows by (query, document id)."""
    names, first, inverse = np.unique(query_ids, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))
    query = place[inverse.reshape(-1)]
    order = np.lexsort((*sort_keys(doc_ids), query))
    return names[np.argsort(first)], pointers(np.bincount(query, minlength=len(names))), order


def _columns(what: str, value: str, table: Any) -> tuple[list[str], list[str], list[Any]]:
    if not isinstance(table, Mapping):
        raise InvalidInputError(
            f"{what}: expected a {what} record or {{query id: {{document id: {value}}}}}, "
            f"found {type(table).__name__}; read one with rerank.read_{what}."
        )
    queries = [str(query_id) for query_id, documents in table.items() for _ in documents]
    docs = [str(doc_id) for documents in table.values() for doc_id in documents]
    return queries, docs, [value for documents in table.values() for value in documents.values()]

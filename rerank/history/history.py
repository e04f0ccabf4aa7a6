"""The history: judged queries, what is learned from them, and which of them a query's features may use.

Judged queries are in folds. The features of a query that is in the history come from the queries outside its fold,
those of other queries from all. A fold holds whole groups of near-duplicate queries, so that no query learns from a
copy of itself. Leaving out only the query itself would not do: a document that is relevant to the query would then have
one relevant query fewer than it has for every other query, which gives its label away.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from rerank.errors import InvalidInputError, log, shown
from rerank.features.near_duplicates import query_groups
from rerank.files.inputs import QrelsLike, TopicsLike, qrels_of, topics_of
from rerank.files.source import check_file, open_source
from rerank.history.judged import IndexHistory, Judged
from rerank.history.neighbours import Neighbours, document_neighbours
from rerank.runtime.codec import restored
from rerank.runtime.fields import SchemaError, first_repeated
from rerank.runtime.json_files import JsonFile, checksum_of
from rerank.types import ForwardIndex, Qrels
from rerank.types.ids import ID_RULE, QUERY_RULE, first_broken, judged_parts, same_ids, warn_apart
from rerank.types.query_folds import folds_of_groups
from rerank.types.ranking_data import MOST_LABEL

FOLDS = 20
REMEDY = "Learn it again (rerank history)."
HISTORY_FILE = JsonFile("rerank-history", "a history", (REMEDY, REMEDY))
MANY = 30  # judged queries from which ONE_QUERY is logged: fewer may have no relevant document in common by chance
ONE_QUERY = (
    "history: no document is relevant to two of the %d judged queries: features of judgements say which documents "
    "another query has taken. Leave them out (--no-history, history=False) where new queries may ask for "
    "such documents again."
)


@dataclass(frozen=True, eq=False)
class History:
    """Judged queries, from which features of similar queries are computed.

    Parameters
    ----------
    query_ids : list of str
        Ids of the queries, ascending.
    terms : list of list of str
        Analysed terms of each query, ascending, each as often as the query has it.
    doc_ids : list of list of str
        Documents that are relevant to each query.
    labels : list of list of float
        Their labels, above 0.
    folds : list of int
        Fold of each query, from 0 to FOLDS - 1.

    """

    query_ids: list[str]
    terms: list[list[str]]
    doc_ids: list[list[str]]
    labels: list[list[float]]
    folds: list[int]

    @classmethod
    def learn(cls, index: Any, topics: TopicsLike, qrels: QrelsLike) -> Self:
        """Learn from judged queries.

        Parameters
        ----------
        index : Index
            The index.
        topics : Topics, mapping, DataFrame or path
            The queries; those without judgements are ignored.
        qrels : Qrels, mapping, DataFrame or path
            Judgements; a document with a label above 0 is relevant, and only these are learned from.

        Returns
        -------
        History
            The history.

        Raises
        ------
        InvalidInputError
            If no topic is judged, or the index holds no relevant document.

        """
        topics = topics_of(topics)
        qrels = qrels_of(qrels)
        query_ids = [query_id for query_id in topics if query_id in qrels]
        warn_apart("topics", topics, qrels)
        terms = index.searcher.analyze([topics[query_id] for query_id in query_ids]) if query_ids else []
        history = cls.of_terms(index.forward, dict(zip(query_ids, terms, strict=True)), qrels)
        named = [doc_id for relevant in history.doc_ids for doc_id in relevant]
        if len(query_ids) >= MANY and len(set(named)) == len(named):
            log.warning(ONE_QUERY, len(query_ids))
        return history

    @classmethod
    def of_terms(cls, forward: ForwardIndex, query_terms: Mapping[str, Sequence[str]], qrels: Qrels) -> Self:
        """Learn from judged queries that are analysed already.

        Parameters
        ----------
        forward : ForwardIndex
            Arrays of the index.
        query_terms : mapping of str to sequence of str
            Tokens of each query, by query id.
        qrels : Qrels
            Judgements of these queries.

        Returns
        -------
        History
            The history.

        Raises
        ------
        InvalidInputError
            As `learn`.

        """
        query_ids = sorted(query_id for query_id in query_terms if query_id in qrels)
        if not query_ids:
            raise InvalidInputError(
                f"qrels: expected judgements of the topics, got none. {same_ids(query_terms, qrels)}"
            )
        doc_ids = []
        labels = []
        for query_id in query_ids:
            rows = qrels.rows(query_id)
            relevant = (qrels.labels[rows] > 0) & (forward.doc_numbers(qrels.doc_ids[rows]) >= 0)
            doc_ids.append(qrels.doc_ids[rows][relevant].tolist())
            labels.append(qrels.labels[rows][relevant].astype(np.float32).astype(np.float64).tolist())
        if not any(doc_ids):
            remedy = judged_parts(forward.doc_ids.tolist(), qrels.doc_ids.tolist())
            raise InvalidInputError(
                "qrels: expected relevant documents that the index holds, got none. "
                f"{remedy or 'Use the index of the judgements.'}"
            )
        terms = [sorted(query_terms[query_id]) for query_id in query_ids]
        by_terms = sorted(range(len(terms)), key=terms.__getitem__)  # the ids have no effect on the folds
        groups = query_groups(forward, [terms[row] for row in by_terms])
        sizes = np.bincount(groups)
        shuffled = np.random.default_rng(0).permutation(len(sizes))  # the order of groups of the same size
        folds = np.empty(len(terms), np.int64)
        folds[by_terms] = folds_of_groups(groups, shuffled[np.argsort(-sizes[shuffled], kind="stable")], FOLDS)
        return cls(query_ids, terms, doc_ids, labels, folds.tolist())

    def of_queries(self, query_ids: Collection[str]) -> Self:
        """Return the history of some of its queries.

        Parameters
        ----------
        query_ids : collection of str
            Ids of the queries; those that the history does not have are ignored.

        Returns
        -------
        History
            The history without the other queries; each query stays in its fold.

        """
        chosen = set(query_ids)
        rows = [row for row, query_id in enumerate(self.query_ids) if query_id in chosen]
        return type(self)(**{name: [column[row] for row in rows] for name, column in self.to_dict().items()})

    @cached_property
    def checksum(self) -> str:
        """The first 16 digits of the SHA-256 of what was learned, in hexadecimal."""
        return checksum_of(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the history as plain JSON values.

        Returns
        -------
        dict
            The attributes by name.

        """
        return {name: getattr(self, name) for name in ("query_ids", "terms", "doc_ids", "labels", "folds")}

    def save(self, path: str | Path) -> None:
        """Write the history as a JSON file.

        Parameters
        ----------
        path : str or Path
            The file; it is complete or missing.

        """
        HISTORY_FILE.write(path, self.to_dict())

    __getstate__ = to_dict  # attributes alone are pickled: the result of `on` is computed again

    def on(self, forward: ForwardIndex, neighbours: Neighbours | None = None) -> IndexHistory:
        """Return the history on an index; documents that the index does not hold are left out.

        The result is kept for the next call with the same index.

        Parameters
        ----------
        forward : ForwardIndex
            Arrays of the index.
        neighbours : Neighbours, optional
            The nearest documents of each document of the index, which are computed where they are not given.

        Returns
        -------
        IndexHistory
            The history with its documents numbered as in the index.

        Raises
        ------
        InvalidInputError
            If the index holds none of the relevant documents.

        """
        bound: IndexHistory | None = self.__dict__.get("_bound")
        if bound is not None and bound.forward is forward:
            return bound
        near = document_neighbours(forward) if neighbours is None else neighbours
        judged = Judged.of(forward, **self.to_dict())
        if any(self.doc_ids) and not len(judged.docs):
            raise InvalidInputError(
                "history: expected documents of the index, got none of them. Learn a history on this index (rerank "
                "history)."
            )
        bound = IndexHistory(self.checksum, self.terms, judged, forward, near)
        self.__dict__["_bound"] = bound
        return bound

    def check(self) -> None:
        """Raise SchemaError for content that no history has."""
        if any(len(column) != len(self.query_ids) for column in self.to_dict().values()):
            raise SchemaError("as many of each part as query ids", "others", path="query_ids")
        if first_broken(self.query_ids) is not None or any(b <= a for a, b in pairwise(self.query_ids)):
            raise SchemaError(f"ids that ascend, {QUERY_RULE}", "others", path="query_ids")
        for doc_ids, labels in zip(self.doc_ids, self.labels, strict=True):
            broken = first_broken(doc_ids)
            if broken is not None:
                raise SchemaError(f"ids {ID_RULE}", shown(broken), path="doc_ids")
            repeated = first_repeated(doc_ids)
            if repeated is not None:
                raise SchemaError("ids that differ", f"{shown(doc_ids[repeated])} twice", path="doc_ids")
            if len(labels) != len(doc_ids) or not all(0.0 < label <= MOST_LABEL for label in labels):
                raise SchemaError("a label above 0 of each document", "others", path="labels")
        fold_of: dict[tuple[str, ...], int] = {}
        for terms, fold in zip(self.terms, self.folds, strict=True):
            if not 0 <= fold < FOLDS or fold_of.setdefault(tuple(sorted(terms)), fold) != fold:
                raise SchemaError("folds that hold all queries of the same terms", "others", path="folds")


def read_history(path: str | Path) -> History:
    """Read a history that `History.save` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    History
        The history.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        If it is no history, or damaged.

    """
    path = check_file(path, "a history (JSON)")
    with open_source(path) as handle:
        history: History = HISTORY_FILE.read(handle, path, lambda stored: restored(History, stored))
    return history

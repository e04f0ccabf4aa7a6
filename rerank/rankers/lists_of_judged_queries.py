"""The feature `judged` of a learned fusion: what judged queries whose lists have the same first documents say.

    judged(q, d) = sum over judged queries p that are no near duplicates of q of cos(q, p) * label(p, d)

cos  cosine of the first 10 documents of both queries, each counted as 1 / log2(1 + rank); they are the first by
     reciprocal rank fusion of the first 100 documents of each run

Two queries are alike where the same documents come first for both; no text is read. Labels below 0 count as 0. Judged
queries are near duplicates where this cosine, or that of the sets of their relevant documents, is at least 0.8 (see
`rerank/features/near_duplicates.py`), or both are near duplicates of a third. They are in one fold. A query with the id
of a judged query is compared neither with that query nor with its near duplicates: the labels of a query that a model
was learned from are not part of its own features, nor are the labels of its copies.

References
----------
S. Cetintas, L. Si and H. Yuan, Using past queries for resource selection, JASIST 2011.
K. Järvelin and J. Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20, 2002 (the discount).

"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

import numpy as np

from rerank.features.near_duplicates import near_groups
from rerank.metrics.ranked_lists import ranks
from rerank.retrieval.source_data import JUDGED
from rerank.runtime.elementary import array_log2
from rerank.runtime.fields import Array, Names, SchemaError, check_length
from rerank.types import Floats, Ids, Ints, Qrels, RankingData, id_array, pointers, query_rows, rows_of_groups
from rerank.types.query_folds import numbered_groups
from rerank.types.query_rows import are_pointers, by_number, positions_among

LEARNED_DEPTH = 100  # documents of each run that are learned from, and that are fused to compare lists
COMPARED = 10  # documents of a list that are compared by `judged`


class StoredIds(Names):
    """Different ids."""

    def read(self, value: object) -> Ids:  # type: ignore[override]
        """Return the ids."""
        return id_array(list(super().read(value)))


@dataclass(frozen=True, eq=False)
class JudgedLists:
    """Judged queries: the first documents of each, and the documents that are relevant to it.

    Attributes
    ----------
    query_ids : ndarray of shape (n_queries,) and dtype str
        Query ids, ascending.
    doc_ids : ndarray of shape (n_docs,) and dtype str
        Ids of all these documents, ascending.
    list_ptr, relevant_ptr : ndarray of shape (n_queries + 1,) and dtype int64
        Where the documents of each query begin.
    listed, relevant : ndarray of dtype int64
        Numbers of the documents: the first ones, best first, and the relevant ones.
    labels : ndarray of shape (n_relevant,) and dtype int64
        Labels of the relevant documents, above 0.

    """

    query_ids: Annotated[Ids, StoredIds()]
    doc_ids: Annotated[Ids, StoredIds()]
    list_ptr: Ints
    listed: Annotated[Ints, Array(np.int64, low=0)]
    relevant_ptr: Ints
    relevant: Annotated[Ints, Array(np.int64, low=0)]
    labels: Annotated[Ints, Array(np.int64, low=1)]

    @classmethod
    def of(cls, data: RankingData, qrels: Qrels) -> Self:
        """Return the queries with relevant documents of the features of several runs (`source_data`)."""
        judged = qrels.select(qrels.query_numbers(np.sort(data.query_ids).tolist()))
        relevant = judged.labels > 0
        counts = np.bincount(query_rows(judged.query_ptr)[relevant], minlength=len(judged))
        query_ids = judged.query_ids[counts > 0]
        counts = counts[counts > 0]
        list_ptr, firsts = _first_documents(data.select(data.query_numbers(query_ids.tolist())))
        doc_ids, documents = np.unique(np.concatenate([firsts, judged.doc_ids[relevant]]), return_inverse=True)
        return cls(
            query_ids=query_ids,
            doc_ids=doc_ids,
            list_ptr=list_ptr,
            listed=documents[: len(firsts)],
            relevant_ptr=pointers(counts),
            relevant=documents[len(firsts) :],
            labels=judged.labels[relevant],
        )

    def added(self, data: RankingData) -> RankingData:
        """Return data with the feature `judged`; 0 for documents that are relevant to no query with a similar list."""
        values = self.relevance(data).astype(np.float32)
        return replace(data, X=np.column_stack([data.X, values]), feature_names=(*data.feature_names, JUDGED))

    def relevance(self, data: RankingData) -> Floats:
        """Return `judged` of each row, (n_rows,) float64."""
        list_ptr, firsts = _first_documents(data)
        own = positions_among(self.query_ids, data.query_ids).tolist()
        listed = positions_among(self.doc_ids, firsts)
        discounts = _unit_discounts(list_ptr)
        docs = positions_among(self.doc_ids, data.doc_ids)
        out = np.zeros(data.n_rows)
        for query in range(len(data)):
            first = list_ptr[query]
            places = first + np.flatnonzero(listed[first : list_ptr[query + 1]] >= 0)
            place, judged, weights = _joined(self._postings, listed[places])
            cosines = np.bincount(judged, discounts[places[place]] * weights, len(self.query_ids))
            if own[query] >= 0:
                cosines[self.groups == self.groups[own[query]]] = 0.0
            first = data.query_ptr[query]
            rows = first + np.flatnonzero(docs[first : data.query_ptr[query + 1]] >= 0)
            row, judged, labels = _joined(self._judgements, docs[rows])
            out[rows] = np.bincount(row, cosines[judged] * labels, len(rows))
        return out

    @cached_property
    def groups(self) -> Ints:
        """Group of near duplicates of each query, (n_queries,)."""
        by_list = near_groups(_unit_discounts(self.list_ptr), self.listed, self.list_ptr)
        group, first = numbered_groups(by_list)
        counts = np.diff(self.relevant_ptr)
        return near_groups(np.repeat(1.0 / np.sqrt(counts), counts), self.relevant, self.relevant_ptr, first[group])

    @cached_property
    def _postings(self) -> tuple[Ints, Ints, Floats]:
        """Of each document, pointers to the queries that have it among their first ones, and its weights there."""
        ptr, order = by_number(self.listed, len(self.doc_ids))
        return ptr, query_rows(self.list_ptr)[order], _unit_discounts(self.list_ptr)[order]

    @cached_property
    def _judgements(self) -> tuple[Ints, Ints, Floats]:
        """Of each document, pointers to the queries that it is relevant to, and its labels there."""
        ptr, order = by_number(self.relevant, len(self.doc_ids))
        return ptr, query_rows(self.relevant_ptr)[order], self.labels[order].astype(np.float64)

    def check(self) -> None:
        """Raise SchemaError unless all parts belong together."""
        for name in ("query_ids", "doc_ids"):
            ids = getattr(self, name)
            if (ids[1:] <= ids[:-1]).any():
                raise SchemaError("ids in ascending order", "others", path=name)
        check_length(self.labels, len(self.relevant), "labels")
        n_docs = len(self.doc_ids)
        for name, rows in (("list_ptr", "listed"), ("relevant_ptr", "relevant")):
            pointer = getattr(self, name)
            documents = getattr(self, rows)
            if not are_pointers(pointer, len(self.query_ids), len(documents)):
                raise SchemaError(f"rising numbers from 0 to {len(documents)}", "others", path=name)
            if (documents >= n_docs).any():
                raise SchemaError(f"whole numbers from 0 to {n_docs - 1}", "others", path=rows)


def _first_documents(data: RankingData) -> tuple[Ints, Ids]:
    """Return the first documents of each query by reciprocal rank fusion, best first, as pointers and ids."""
    rank, reciprocal = (
        data.X[:, [number for number, name in enumerate(data.feature_names) if name.endswith(ending)]]
        for ending in (".rank", ".reciprocal_rank")
    )
    fused = np.where(rank <= LEARNED_DEPTH, reciprocal, 0.0).sum(axis=1, dtype=np.float64)
    firsts = data.run(fused).head(COMPARED)
    return firsts.query_ptr, firsts.doc_ids


def _unit_discounts(query_ptr: Ints) -> Floats:
    """Return 1 / log2(1 + rank) of each row, over the length of its query's vector."""
    discounts = 1.0 / array_log2(2.0 + ranks(query_ptr))
    query = query_rows(query_ptr)
    squares = np.bincount(query, discounts**2, len(query_ptr) - 1)
    return discounts / np.sqrt(squares)[query]


def _joined(of_documents: tuple[Ints, Ints, Floats], docs: Ints) -> tuple[Ints, Ints, Floats]:
    """Return of each entry of some documents the position of its document in `docs`, the query and the value."""
    ptr, queries, values = of_documents
    rows, ends = rows_of_groups(ptr, docs)
    return query_rows(ends), queries[rows], values[rows]

"""What is relevant to judged queries with similar lists, as a feature of a learned fusion.

    judged(q, d) = sum over judged queries p other than q of cos(q, p) * label(p, d)

cos  cosine of the first 10 documents of both queries, each counted as 1 / log2(1 + rank); they are the first by
     reciprocal rank fusion of the first 100 documents of each run

Two queries are alike where the same documents come first for both; no text is read. Labels below 0 count as 0. A judged
query is not compared with itself, which its id tells: the labels of a query that a model was learned from are not part
of its own features.

References
----------
S. Cetintas, L. Si and H. Yuan, Using past queries for resource selection, JASIST 2011.
K. Järvelin and J. Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20, 2002 (the discount).

"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

import numpy as np

from rerank.metrics.base import ranks
from rerank.retrieval.fusion import JUDGED
from rerank.runtime.codec import Array, Field, Names, SchemaError, Sizes
from rerank.runtime.kernels import kernel
from rerank.runtime.numerics import array_log2
from rerank.types import Floats, Ints, Qrels, RankingData, pointers, query_rows
from rerank.types.ids import ID_RULE, Ids, are_pointers, by_number, first_broken, first_broken_query, id_array

FIRST = 10  # documents of a list that are compared
DEPTH = 100  # documents of each run that are fused for it


@dataclass(frozen=True)
class StoredIds(Field):
    """Different ids, of which `first_broken` returns the first that cannot be one."""

    first_broken: Callable[[list[str]], str | None]

    def read(self, value: object, sizes: Sizes) -> Ids:
        """Return the ids."""
        names = list(Names().read(value, sizes))
        broken = self.first_broken(names)
        if broken is not None:
            raise SchemaError(f"ids {ID_RULE}", f"{broken[:20]!r}")
        return id_array(names)


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

    query_ids: Annotated[Ids, StoredIds(first_broken_query)]
    doc_ids: Annotated[Ids, StoredIds(first_broken)]
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
        """Return data with the feature `judged`; 0 of documents that are relevant to no query with a similar list."""
        values = self.relevance(data).astype(np.float32)
        return replace(data, X=np.column_stack([data.X, values]), feature_names=(*data.feature_names, JUDGED))

    def relevance(self, data: RankingData) -> Floats:
        """Return `judged` of each row, (n_rows,) float64."""
        list_ptr, firsts = _first_documents(data)
        own = _numbers(self.query_ids, data.query_ids)
        lists = list_ptr, _numbers(self.doc_ids, firsts), _unit_discounts(list_ptr), own
        docs = _numbers(self.doc_ids, data.doc_ids)
        cosines = np.zeros(len(self.query_ids))
        out = np.zeros(data.n_rows)
        _fill_judged(data.query_ptr, docs, lists, self._postings, self._judgements, cosines, out)
        return out

    @cached_property
    def _postings(self) -> tuple[Ints, Ints, Floats]:
        """Of each document, pointers to the queries that list it first, and their weights."""
        ptr, order = by_number(self.listed, len(self.doc_ids))
        return ptr, query_rows(self.list_ptr)[order], _unit_discounts(self.list_ptr)[order]

    @cached_property
    def _judgements(self) -> tuple[Ints, Ints, Floats]:
        """Of each document, pointers to the queries that it is relevant to, and the labels."""
        ptr, order = by_number(self.relevant, len(self.doc_ids))
        return ptr, query_rows(self.relevant_ptr)[order], self.labels[order].astype(np.float64)

    def check(self) -> None:
        """Raise SchemaError unless all parts belong together."""
        for name in ("query_ids", "doc_ids"):
            ids = getattr(self, name)
            if (ids[1:] <= ids[:-1]).any():
                raise SchemaError("ids in ascending order", "others", path=name)
        if len(self.labels) != len(self.relevant):
            raise SchemaError(f"{len(self.relevant)} values", str(len(self.labels)), path="labels")
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
    fused = np.where(rank <= DEPTH, reciprocal, 0.0).sum(axis=1, dtype=np.float64)
    firsts = data.run(fused).head(FIRST)
    return firsts.query_ptr, firsts.doc_ids


def _unit_discounts(query_ptr: Ints) -> Floats:
    """Return 1 / log2(1 + rank) of each row, over the length of its query's vector."""
    discounts = 1.0 / array_log2(2.0 + ranks(query_ptr))
    query = query_rows(query_ptr)
    squares = np.bincount(query, discounts**2, len(query_ptr) - 1)
    return discounts / np.sqrt(squares)[query]


def _numbers(known: Ids, ids: Ids) -> Ints:
    """Return the number of each id among known ones, which ascend; -1 of others."""
    place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[place] == ids, place, -1)


@kernel()
def _fill_judged(query_ptr, docs, lists, postings, judgements, cosines, out):  # type: ignore[no-untyped-def]
    """Add `judged` of each row to `out` (n_rows,).

    docs        (n_rows,) number of the document, -1 where no judged query has it
    lists       list_ptr, numbers and weights of the queries' first documents; own judged query (n_queries,), or -1
    postings    of each document, doc_ptr, the judged queries that list it first, and its weights there
    judgements  of each document, doc_ptr, the judged queries that it is relevant to, and the labels
    cosines     (n_judged,) zeros, which are zeros again at the end
    """
    list_ptr, listed, weights, own = lists
    posting_ptr, posting_query, posting_weight = postings
    label_ptr, label_query, labels = judgements
    for query in range(query_ptr.shape[0] - 1):
        for place in range(list_ptr[query], list_ptr[query + 1]):
            if listed[place] >= 0:
                for posting in range(posting_ptr[listed[place]], posting_ptr[listed[place] + 1]):
                    if posting_query[posting] != own[query]:
                        cosines[posting_query[posting]] += weights[place] * posting_weight[posting]
        for row in range(query_ptr[query], query_ptr[query + 1]):
            if docs[row] >= 0:
                for judgement in range(label_ptr[docs[row]], label_ptr[docs[row] + 1]):
                    out[row] += cosines[label_query[judgement]] * labels[judgement]
        for place in range(list_ptr[query], list_ptr[query + 1]):  # only what was changed is cleared
            if listed[place] >= 0:
                for posting in range(posting_ptr[listed[place]], posting_ptr[listed[place] + 1]):
                    cosines[posting_query[posting]] = 0.0

"""What is relevant to judged queries with similar lists, as a feature of a learned fusion.

    judged(q, d) = sum over judged queries p other than q of cos(q, p) * label(p, d)

cos  cosine of the first 10 documents of both queries by reciprocal rank fusion, each counted as 1 / log2(1 + rank)

Two queries are alike where the same documents come first for both; no text is read. A judged query is not compared with
itself, which its id tells: the labels of a query that a model was learned from are not part of its own features.

References
----------
S. Cetintas, L. Si and H. Yuan, Using past queries for resource selection, JASIST 2011.
K. Järvelin and J. Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20, 2002 (the discount).

"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rerank.metrics.lists import ranks
from rerank.runtime.elementary import array_log2
from rerank.runtime.schema import Array, Field, Names, Record, SchemaError, Sizes
from rerank.types import Floats, Ints, Qrels, RankingData, pointers, query_rows
from rerank.types.ids import Ids, id_array

JUDGED = "judged"  # the feature's name
FIRST = 10  # documents of a list that are compared


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
    labels : ndarray of shape (n_relevant,) and dtype float64
        Labels of the relevant documents, above 0.

    """

    query_ids: Ids
    doc_ids: Ids
    list_ptr: Ints
    listed: Ints
    relevant_ptr: Ints
    relevant: Ints
    labels: Floats

    @classmethod
    def of(cls, data: RankingData, qrels: Qrels) -> Self:
        """Return the judged queries of the features of several runs, as `source_data` computes them."""
        data = data.select(np.argsort(data.query_ids))
        query_ptr, firsts = _first_documents(data)
        judged = qrels.select(qrels.query_numbers(data.query_ids.tolist()))
        kept = judged.labels > 0
        counts = np.bincount(query_rows(judged.query_ptr)[kept], minlength=len(data))
        doc_ids, numbers = np.unique(np.concatenate([firsts, judged.doc_ids[kept]]), return_inverse=True)
        return cls(
            query_ids=data.query_ids,
            doc_ids=doc_ids,
            list_ptr=query_ptr,
            listed=numbers[: len(firsts)],
            relevant_ptr=pointers(counts),
            relevant=numbers[len(firsts) :],
            labels=judged.labels[kept].astype(np.float64),
        )

    def added(self, data: RankingData) -> RankingData:
        """Return data with the feature `judged`; 0 of documents that are relevant to no query with a similar list."""
        values = self.relevance(data).astype(np.float32)
        return replace(data, X=np.column_stack([data.X, values]), feature_names=(*data.feature_names, JUDGED))

    def relevance(self, data: RankingData) -> Floats:
        """Return `judged` of each row, (n_rows,) float64."""
        from scipy.sparse import csr_array

        n_queries, shape = len(self.query_ids), (len(data), len(self.doc_ids))
        query_ptr, firsts = _first_documents(data)
        column = self._numbers(firsts)
        known, weights = column >= 0, _unit_discounts(query_ptr)
        lists = csr_array((weights[known], (query_rows(query_ptr)[known], column[known])), shape=shape)
        own = csr_array((_unit_discounts(self.list_ptr), self.listed, self.list_ptr), shape=(n_queries, shape[1]))
        cosines = (lists @ own.T).tocoo()
        other = data.query_ids[cosines.row] != self.query_ids[cosines.col]
        cosines = csr_array(
            (cosines.data[other], (cosines.row[other], cosines.col[other])), shape=(len(data), n_queries)
        )
        labels = csr_array((self.labels, self.relevant, self.relevant_ptr), shape=(n_queries, shape[1]))
        sums = (cosines @ labels).tocsr()
        sums.sort_indices()
        # rows are looked up among the pairs of query and document that have a sum
        pairs = query_rows(sums.indptr.astype(np.int64)) * shape[1] + sums.indices
        numbers = self._numbers(data.doc_ids)
        wanted = query_rows(data.query_ptr) * shape[1] + numbers
        place = np.minimum(np.searchsorted(pairs, wanted), max(len(pairs) - 1, 0))
        if not len(pairs):
            return np.zeros(data.n_rows)
        return np.where((numbers >= 0) & (pairs[place] == wanted), sums.data[place], 0.0)

    def _numbers(self, doc_ids: Ids) -> Ints:
        """Return the number of each document, -1 of others."""
        place = np.minimum(np.searchsorted(self.doc_ids, doc_ids), len(self.doc_ids) - 1)
        return np.where(self.doc_ids[place] == doc_ids, place, -1)

    def to_dict(self) -> dict[str, Any]:
        """Return the judged queries as plain JSON values."""
        return {name: getattr(self, name).tolist() for name in _STORED}


class StoredJudgedLists(Field):
    """Judged queries as `JudgedLists.to_dict` wrote them."""

    def read(self, value: object, sizes: Sizes) -> JudgedLists:
        """Return the judged queries, checked completely."""
        values = Record(_STORED).read(value, sizes)
        for name in ("query_ids", "doc_ids"):
            values[name] = id_array(list(values[name]))
            if (values[name][1:] <= values[name][:-1]).any():
                raise SchemaError("ids in ascending order", "others", path=name)
        for name, rows in (("list_ptr", "listed"), ("relevant_ptr", "relevant")):
            pointer = values[name]
            if pointer[0] != 0 or pointer[-1] != len(values[rows]) or (np.diff(pointer) < 0).any():
                raise SchemaError(f"ascending numbers from 0 to {len(values[rows])}", "others", path=name)
        return JudgedLists(**values)


def _after_queries(sizes: Mapping[str, int]) -> int:
    return sizes["n_judged"] + 1


def _last_document(sizes: Mapping[str, int]) -> int:
    return sizes["n_judged_docs"] - 1


_STORED: dict[str, Field] = {
    "query_ids": Names("n_judged"),
    "doc_ids": Names("n_judged_docs"),
    "list_ptr": Array(np.int64, _after_queries, low=0),
    "listed": Array(np.int64, low=0, high=_last_document),
    "relevant_ptr": Array(np.int64, _after_queries, low=0),
    "relevant": Array(np.int64, binds="n_relevant", low=0, high=_last_document),
    "labels": Array(np.float64, "n_relevant", low=0.0),
}


def _first_documents(data: RankingData) -> tuple[Ints, Ids]:
    """Return the first documents of each query by reciprocal rank fusion, best first, as pointers and ids."""
    columns = [number for number, name in enumerate(data.feature_names) if name.endswith(".reciprocal_rank")]
    fused = data.run(np.nan_to_num(data.X[:, columns]).sum(axis=1, dtype=np.float64)).head(FIRST)
    return fused.query_ptr, fused.doc_ids


def _unit_discounts(query_ptr: Ints) -> Floats:
    """Return 1 / log2(1 + rank) of each row, over the length of its query's vector."""
    discounts = 1.0 / array_log2(2.0 + ranks(query_ptr))
    query = query_rows(query_ptr)
    squares = np.bincount(query, discounts**2, len(query_ptr) - 1)
    return discounts / np.sqrt(squares)[query]

"""Order of rows, and how ties are decided.

A run is read as by trec_eval: equal scores by document id, descending (`trec_order`). The rows of training data are in
that order of documents already, so that a stable sort decides ties alike (`query_order`; kernels, which call no other
file, sort by merging or keep the earlier row). Texts without ids are known by their position (`position_order`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types.arrays import query_rows
from rerank.types.ids import sort_keys

Ints = NDArray[np.int64]


def trec_order(query_ptr: Ints, scores: NDArray[np.float64], doc_ids: NDArray[Any]) -> Ints:
    """Return the rows of each query by score, then document id, both descending.

    Scores are compared as float32, which is trec_eval's type; NaN is last. doc_ids are text or bytes.
    """
    order = np.arange(len(scores))
    positions, rows = trec_moves(query_ptr, scores, doc_ids)
    order[positions] = rows
    return order


def query_order(query_ptr: Ints, keys: NDArray[Any]) -> Ints:
    """Return the rows of each query by key (n_rows,), ascending; equal keys in the order of the rows."""
    return np.lexsort((keys, query_rows(query_ptr)))


def position_order(positions: Ints, scores: NDArray[np.float64]) -> Ints:
    """Return the rows of texts that were given as a list: by score, descending, equal scores by position."""
    return np.lexsort((positions, -scores))


def trec_moves(query_ptr: Ints, scores: NDArray[np.float64], doc_ids: NDArray[Any]) -> tuple[Ints | slice, Ints]:
    """Return the positions whose row differs in `trec_order`, and their new rows: none if all rows are in order.

    All positions, as a slice, if the scores of a query rise anywhere.
    """
    with np.errstate(over="ignore"):
        keys = scores.astype(np.float32)
    np.fmin(np.negative(keys, out=keys), np.float32(np.inf), out=keys)
    ends = query_ptr[1:-1][(query_ptr[1:-1] > 0) & (query_ptr[1:-1] < len(keys))] - 1  # the last row of a query
    falls = keys[1:] < keys[:-1]
    falls[ends] = False
    order = np.arange(len(keys)) if falls.any() else None
    for number in _with_any(falls, query_ptr) if order is not None else []:
        start, end = query_ptr[number], query_ptr[number + 1]
        ascending = np.argsort(keys[start:end])
        order[start:end], keys[start:end] = ascending + start, keys[start:end][ascending]  # type: ignore[index]
    second = np.concatenate([[False], keys[1:] == keys[:-1], [False]])  # whether a row ties with the one before
    second[ends + 1] = False
    tied = np.flatnonzero(second[:-1] | second[1:])
    rows = tied if order is None else order[tied]
    if len(tied):
        group = np.cumsum(~second[tied])
        rows = rows[np.lexsort((rows, *(~key for key in sort_keys(doc_ids[rows])), group))]
    if order is None:
        return tied[rows != tied], rows[rows != tied]
    order[tied] = rows
    return slice(None), order


def _with_any(falls: NDArray[np.bool_], query_ptr: Ints) -> list[int]:
    """Return the queries in which `falls` (n_rows - 1,) is set for any row but the first."""
    before = np.cumsum(np.concatenate([[0, 0], falls]))
    return np.flatnonzero(np.diff(before[query_ptr])).tolist()

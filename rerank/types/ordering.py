"""The order in which trec_eval reads a run's rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types.ids import sort_keys

Ints = NDArray[np.int64]


def trec_order(query_ptr: Ints, scores: NDArray[np.float64], doc_ids: NDArray[Any]) -> Ints:
    """Return the rows query by query by score, then document id, both descending.

    Scores are compared as float32, since that is how trec_eval holds them; NaN stands last. doc_ids are text or bytes.
    """
    order = np.arange(len(scores))
    places, rows = trec_moves(query_ptr, scores, doc_ids)
    order[places] = rows
    return order


def trec_moves(query_ptr: Ints, scores: NDArray[np.float64], doc_ids: NDArray[Any]) -> tuple[Ints | slice, Ints]:
    """Return the places that another row takes in `trec_order`, and those rows: none where all stand in order.

    All places, as a slice, where the scores of a query rise.
    """
    with np.errstate(over="ignore"):
        keys = scores.astype(np.float32)
    np.fmin(np.negative(keys, out=keys), np.float32(np.inf), out=keys)
    heads = query_ptr[1:-1][(query_ptr[1:-1] > 0) & (query_ptr[1:-1] < len(keys))] - 1  # the last row before a query
    falls = keys[1:] < keys[:-1]
    falls[heads] = False
    order = np.arange(len(keys)) if falls.any() else None
    for number in _with_any(falls, query_ptr) if order is not None else []:
        start, end = query_ptr[number], query_ptr[number + 1]
        place = np.argsort(keys[start:end])
        order[start:end], keys[start:end] = place + start, keys[start:end][place]  # type: ignore[index]
    second = np.concatenate([[False], keys[1:] == keys[:-1], [False]])  # of two rows that tie
    second[heads + 1] = False
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
    """Return the queries with a row, but the first, at whose place falls (n_rows - 1,) is set."""
    before = np.cumsum(np.concatenate([[0, 0], falls]))
    return np.flatnonzero(np.diff(before[query_ptr])).tolist()

"""Order of rows, and how ties are decided.

A run is read as by trec_eval: equal scores by document id, descending (`trec_order`). The rows of training data are in
that order of documents already, so that a stable sort decides ties alike (`query_order`; kernels, which call no other
file, sort by merging or keep the earlier row). Texts without ids are known by their position (`position_order`).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types.ids import sort_keys
from rerank.types.query_rows import Floats, Ints, query_rows

TIE_STEP = 1e-6  # by which Anserini's ScoreTiesAdjusterReranker lowers each further document of a tie


def scores_and_ranks(query_ptr: Ints, scores: Floats) -> Floats:
    """Return the score and the rank of each row, (n_rows, 2) float64, those of equal scores as of the first of them.

    Scores are in trec_eval's order. Those that Anserini has set apart, x, x - 0.000001, x - 0.000002, are equal ones:
    the same document under two ids has one score and one rank.
    """
    scores = scores.astype(np.float32).astype(np.float64)  # as trec_eval compares them
    rows = np.arange(len(scores))
    firsts = query_ptr[query_rows(query_ptr)]
    falls = np.append(np.inf, scores[:-1] - scores[1:])
    is_step = np.abs(falls - TIE_STEP) <= np.finfo(np.float32).eps * np.abs(scores)
    is_equal = ((falls == 0.0) | is_step) & (firsts < rows)
    first = np.maximum.accumulate(np.where(is_equal, 0, rows))
    return np.column_stack([scores[first], first - firsts + 1.0])


def trec_order(query_ptr: Ints, scores: NDArray[np.float64], doc_ids: NDArray[Any]) -> Ints:
    """Return the rows of each query by score, then document id, both descending.

    Scores are compared as float32, which is trec_eval's type; NaN is last. doc_ids are text or bytes.
    """
    with np.errstate(over="ignore"):
        keys = scores.astype(np.float32)
    np.fmin(np.negative(keys, out=keys), np.float32(np.inf), out=keys)
    ends = query_ptr[1:-1][(query_ptr[1:-1] > 0) & (query_ptr[1:-1] < len(keys))] - 1  # the last row of a query
    falls = keys[1:] < keys[:-1]
    falls[ends] = False
    order = np.arange(len(keys))
    for number in np.unique(query_rows(query_ptr)[1:][falls]).tolist():
        rows = slice(*query_ptr[number : number + 2].tolist())
        ascending = np.argsort(keys[rows])
        order[rows] = ascending + rows.start
        keys[rows] = keys[rows][ascending]
    second = np.concatenate([[False], keys[1:] == keys[:-1], [False]])  # whether a row ties with the one before
    second[ends + 1] = False
    tied = np.flatnonzero(second[:-1] | second[1:])
    if len(tied):
        own = order[tied]
        group = np.cumsum(~second[tied])
        order[tied] = own[np.lexsort((own, *(~key for key in sort_keys(doc_ids[own])), group))]
    return order


def query_order(query_ptr: Ints, keys: NDArray[Any]) -> Ints:
    """Return the rows of each query by key (n_rows,), ascending; equal keys in the order of the rows."""
    return np.lexsort((keys, query_rows(query_ptr)))


def position_order(positions: Ints, scores: NDArray[np.float64]) -> Ints:
    """Return the rows of texts that were given as a list: by score, descending, equal scores by position."""
    return np.lexsort((positions, -scores))

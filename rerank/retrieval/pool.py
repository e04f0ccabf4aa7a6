"""Pools: the documents of a query that any of several runs retrieved, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.metrics.ranked_lists import ranks
from rerank.types import Floats, Ids, Ints, Run, id_bytes, joined_rows, pointers, sort_keys


@dataclass(frozen=True, eq=False)
class Pool:
    """The documents of some queries, with their scores and ranks in each run.

    Attributes
    ----------
    query : ndarray of shape (n_documents,), int64
        Number of the query, ascending.
    doc_ids : ndarray of shape (n_documents,), UTF-8 bytes
        Document ids.
    scores : ndarray of shape (n_runs, n_documents), float64
        Scores, filled in where a run lacks the document.
    ranks : ndarray of shape (n_runs, n_documents), int64
        Ranks from 1; 0 where a run lacks the document.

    """

    query: Ints
    doc_ids: NDArray[np.bytes_]
    scores: Floats
    ranks: Ints


@dataclass(frozen=True, eq=False)
class QueryRows:
    """First row and number of rows of each query in a run; queries are numbered over all runs."""

    starts: Ints
    counts: Ints
    doc_ids: NDArray[Any]
    scores: Floats

    @classmethod
    def of(cls, run: Run, query_ids: Ids) -> QueryRows:
        """Return the rows of a run, by the numbers of its queries in `query_ids`."""
        numbers = {query_id: number for number, query_id in enumerate(query_ids.tolist())}
        queries = np.array([numbers[query_id] for query_id in run], dtype=np.int64)
        starts, counts = np.zeros((2, len(query_ids)), dtype=np.int64)
        starts[queries], counts[queries] = run.query_ptr[:-1], np.diff(run.query_ptr)
        return cls(starts, counts, run.stored_ids, run.scores)


def pooled(runs: Sequence[QueryRows], first: int, last: int, lowest: bool) -> Pool:
    """Return the documents of the queries [first, last).

    lowest  whether a document that a run lacks gets the run's lowest score of the query, in place of 0
    """
    rows = [joined_rows(run.starts[first:last], run.counts[first:last])[0] for run in runs]
    counts = [run.counts[first:last] for run in runs]
    query = np.concatenate([np.repeat(np.arange(first, last), count) for count in counts])
    ids = np.concatenate([id_bytes(run.doc_ids[own]) for run, own in zip(runs, rows, strict=True)])
    document, example = _numbered(query, ids)
    scores = np.zeros((len(runs), len(example)))
    placed = np.zeros((len(runs), len(example)), dtype=np.int64)
    parts = np.split(document, pointers([len(own) for own in rows])[1:-1])
    for number, (run, own, documents, count) in enumerate(zip(runs, rows, parts, counts, strict=True)):
        if lowest and len(own):
            filled = np.flatnonzero(count)
            least = np.zeros(len(count))
            least[filled] = np.minimum.reduceat(run.scores[own], pointers(count)[:-1][filled])
            scores[number] = least[query[example] - first]
        scores[number, documents] = run.scores[own]
        placed[number, documents] = ranks(pointers(count)) + 1
    return Pool(query[example], ids[example], scores, placed)


def _numbered(query: Ints, ids: NDArray[np.bytes_]) -> tuple[Ints, Ints]:
    """Return the number of each row's document, by query and id, and a row of each document."""
    keys = np.array([*sort_keys(ids), query.astype(np.uint64)])
    order = np.lexsort(keys)
    ordered = keys[:, order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    document = np.empty(len(order), dtype=np.int64)
    document[order] = np.cumsum(begins) - 1
    return document, order[begins]

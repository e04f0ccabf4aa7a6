"""Tables of queries in parts: those of some queries, and parts joined again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from rerank.retrieval.union import UnionRun
from rerank.types import Ints, Qrels, Run, Topics, joined_rows, pointers
from rerank.types.ids import id_array

AnyRun = TypeVar("AnyRun", bound=Run)
PARTS_PER_WORKER = 4  # so that workers end at similar times
MOST_QUERIES = 1024  # of a part
MOST_ROWS = 1 << 16


def query_parts(sizes: Sequence[int] | Ints, n_workers: int) -> Iterator[slice]:
    """Yield ranges of whole queries of about equal work, in order.

    sizes  (n_queries,) rows of each query, or 1 each
    """
    ends = np.cumsum(np.maximum(np.asarray(sizes, dtype=np.int64), 1))
    if not len(ends):
        return
    most = min(max(-(-int(ends[-1]) // (PARTS_PER_WORKER * n_workers)), 1), MOST_ROWS)
    first = 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        last = min(last, first + MOST_QUERIES)
        yield slice(first, last)
        first = last


def of_queries(table: Any, query_ids: Sequence[str]) -> Any:
    """Return what a table says about some queries: topics, qrels, a run, a mapping from names to runs, or None."""
    if table is None:
        return None
    if isinstance(table, Topics):
        return Topics({query_id: table[query_id] for query_id in query_ids if query_id in table})
    if isinstance(table, Mapping):
        return {name: of_queries(run, query_ids) for name, run in table.items()}
    known = [query_id for query_id in query_ids if query_id in table]
    bounds = [table.rows(query_id) for query_id in known]
    starts, ends = (np.array([getattr(each, end) for each in bounds], dtype=np.int64) for end in ("start", "stop"))
    rows, query_ptr = joined_rows(starts, ends - starts)
    columns: dict[str, Any] = {"query_ids": id_array(known), "query_ptr": query_ptr, "doc_ids": table.stored_ids[rows]}
    if isinstance(table, Qrels):
        return replace(table, **columns, labels=table.labels[rows])
    if isinstance(table, UnionRun):
        columns["sources"] = of_queries(table.sources, query_ids)
    return replace(table, **columns, scores=table.scores[rows])


def joined_runs(parts: Sequence[AnyRun]) -> AnyRun:
    """Return one run of the runs of parts of the queries, in order."""
    first = parts[0]
    columns: dict[str, Any] = {
        "query_ids": np.concatenate([part.query_ids for part in parts]),
        "query_ptr": pointers(np.concatenate([np.diff(part.query_ptr) for part in parts])),
        "doc_ids": np.concatenate([part.doc_ids for part in parts]),
        "scores": np.concatenate([part.scores for part in parts]),
    }
    if isinstance(first, UnionRun):
        unions = [part for part in parts if isinstance(part, UnionRun)]
        columns["sources"] = {name: joined_runs([part.sources[name] for part in unions]) for name in first.sources}
    return replace(first, **columns)

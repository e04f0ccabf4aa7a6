"""Tables of queries in parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rerank.types import Ints, Topics

PARTS_PER_WORKER = 4  # so that workers end at similar times
MOST_QUERIES = 1024  # of a part
MOST_ROWS = 1 << 16


def query_parts(sizes: Sequence[int] | Ints, n_workers: int, most_rows: int = MOST_ROWS) -> Iterator[slice]:
    """Yield ranges of whole queries of about equal work, in order.

    sizes      (n_queries,) rows of each query, or 1 each
    most_rows  of a range of several queries
    """
    ends = np.cumsum(np.maximum(np.asarray(sizes, dtype=np.int64), 1))
    if not len(ends):
        return
    most = min(max(-(-int(ends[-1]) // (PARTS_PER_WORKER * n_workers)), 1), most_rows)
    first = 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        last = min(last, first + MOST_QUERIES)
        yield slice(first, last)
        first = last


def of_queries(table: Any, query_ids: Sequence[str]) -> Any:
    """Return the rows of some queries of a table: topics, qrels, a run, a mapping from names to runs, or None."""
    if table is None:
        return None
    if isinstance(table, Topics):
        return Topics({query_id: table[query_id] for query_id in query_ids if query_id in table})
    if isinstance(table, Mapping):
        return {name: of_queries(run, query_ids) for name, run in table.items()}
    return table.select(table.query_numbers(query_ids))

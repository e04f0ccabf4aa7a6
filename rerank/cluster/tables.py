"""Tables of queries in parts, and the evaluation of a run in parts of its queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rerank.cluster.worker import Job
from rerank.cluster.workers import Workers
from rerank.evaluation.evaluate import EvaluationResult, check_scores, evaluate
from rerank.types import Ints, Qrels, Run, Topics
from rerank.types.qrels import SubtopicQrels

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


def evaluate_parts(
    cluster: Workers, qrels: Qrels | SubtopicQrels, run: Run, measures: Sequence[Any], options: Mapping[str, Any]
) -> EvaluationResult:
    """Return the result of `evaluate`; the measures of a query do not depend on other queries."""
    check_scores(run)
    counts = zip(run, np.diff(run.query_ptr).tolist(), strict=True)
    sizes = {query_id: n_rows for query_id, n_rows in counts if n_rows and query_id in qrels}
    if not sizes:
        return evaluate(qrels, run, measures, **options)  # which raises
    answered = list(sizes)
    ranges = query_parts(list(sizes.values()), len(cluster.workers()))
    missing = [query_id for query_id in qrels if query_id not in sizes] if options.get("complete") else []
    groups = [answered[part] + (missing if number == 0 else []) for number, part in enumerate(ranges)]
    parts = [partial(_part, qrels, run, group) for group in groups]
    shared = {"measures": list(measures), **options}
    results: list[EvaluationResult] = list(cluster.map(Job(evaluate, shared), parts, "evaluating"))
    query_ids = np.concatenate([result.query_ids for result in results])
    order = np.argsort(query_ids, kind="stable")
    first = results[0]
    values = {name: np.concatenate([result.values[name] for result in results])[order] for name in first.values}
    texts = {name: np.concatenate([result.texts[name] for result in results])[order] for name in first.texts}
    return replace(first, run_name=run.name, query_ids=query_ids[order], values=values, texts=texts)


def _part(qrels: Qrels | SubtopicQrels, run: Run, query_ids: Sequence[str]) -> dict[str, Any]:
    return {"qrels": of_queries(qrels, query_ids), "run": of_queries(run, query_ids)}

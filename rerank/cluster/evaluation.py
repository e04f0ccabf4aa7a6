"""Evaluation of a run in parts of its queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.cluster.tables import of_queries, query_parts
from rerank.cluster.worker import Job
from rerank.evaluation.evaluate import EvaluationResult, check_scores, evaluate
from rerank.types import Qrels, Run

if TYPE_CHECKING:
    from rerank.cluster.cluster import Cluster


def evaluate_parts(
    cluster: Cluster, qrels: Qrels, run: Run, measures: Sequence[Any], options: Mapping[str, Any]
) -> EvaluationResult:
    """Return the result of `evaluate`; the measures of a query do not depend on other queries."""
    check_scores(run)
    counts = zip(run, np.diff(run.query_ptr).tolist(), strict=True)
    sizes = {query_id: n_rows for query_id, n_rows in counts if n_rows and query_id in qrels}
    if not sizes:
        return evaluate(qrels, run, measures, **options)  # which raises
    answered, ranges = list(sizes), query_parts(list(sizes.values()), len(cluster.workers()))
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


def _part(qrels: Qrels, run: Run, query_ids: Sequence[str]) -> dict[str, Any]:
    return {"qrels": of_queries(qrels, query_ids), "run": of_queries(run, query_ids)}

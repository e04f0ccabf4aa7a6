"""Curves of a run: interpolated precision by recall, and a measure by cutoff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rerank.evaluation.evaluate import EvaluationResult, evaluate, ranked_lists
from rerank.metrics.base import Measure
from rerank.metrics.lists import n_relevant, ranks, relevant_so_far
from rerank.metrics.registry import parse_measure
from rerank.types import Floats, Qrels, Run

RECALL_LEVELS = tuple(level / 10 for level in range(11))
CUTOFFS = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100)


@dataclass(frozen=True)
class RunCurves:
    """Means over the same queries as the run's figures.

    precision   interpolated precision at each of RECALL_LEVELS
    measure     name of the measure by cutoff, without its cutoff
    by_cutoff   its mean at each of CUTOFFS
    """

    precision: tuple[float, ...]
    measure: str
    by_cutoff: tuple[float, ...]


def run_curves(qrels: Qrels | Mapping[str, Mapping[str, int]], run: Run, result: EvaluationResult) -> RunCurves:
    """Return the curves of a run whose figures are `result`; its first measure with a cutoff is drawn, else nDCG."""
    qrels = Qrels.of(qrels)
    parsed = [parse_measure(name) for name in result.measures]
    measure = next((found for found in parsed if found.cutoff is not None), parse_measure("nDCG@10"))
    precision = interpolated_precision(qrels, run).sum(axis=0) / len(result.query_ids)
    name, values = by_cutoff(qrels, run, measure, complete=result.complete)
    return RunCurves(tuple(precision.tolist()), name, values)


def interpolated_precision(qrels: Qrels, run: Run) -> Floats:
    """Return precision at each recall level, (n_queries that both hold, 11) float64, as trec_eval's iprec_at_recall.

    The greatest precision at any rank at which floor(level * relevant + 0.9) relevant documents or more are found; a
    label of at least 1 is relevant; 0 where the run never gets that far.
    """
    lists, _ = ranked_lists(qrels, run)
    hits = lists.labels >= 1
    rows, found = np.flatnonzero(hits), relevant_so_far(hits, lists.query_ptr)
    precision = found[rows] / (ranks(lists.query_ptr)[rows] + 1.0)
    ends = np.searchsorted(rows, lists.query_ptr)
    wanted = np.floor(np.outer(n_relevant(lists, 1), RECALL_LEVELS) + 0.9).astype(np.int64)
    values = np.zeros(wanted.shape)
    for query, (start, end) in enumerate(pairwise(ends.tolist())):
        best = np.maximum.accumulate(precision[start:end][::-1])[::-1]
        reached = wanted[query] <= len(best)
        if len(best):
            values[query, reached] = best[np.maximum(wanted[query, reached] - 1, 0)]
    return values


def by_cutoff(qrels: Qrels, run: Run, measure: Measure, *, complete: bool) -> tuple[str, tuple[float, ...]]:
    """Return a measure's name without its cutoff, and its mean at each of CUTOFFS."""
    measures = [replace(measure, cutoff=cutoff) for cutoff in CUTOFFS]
    top = run.take(run.trec_order()).head(CUTOFFS[-1])
    result = evaluate(qrels, top, measures, complete=complete)
    return measures[0].name.removesuffix(f"@{CUTOFFS[0]}"), tuple(result[found.name] for found in measures)

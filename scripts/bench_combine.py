#!/usr/bin/env python
"""Seconds that `combine` takes to find the exact best alpha of two runs.

Run: python scripts/bench_combine.py [--quick] [--output FILE]
Generated runs of 1,000 queries x 1,000 documents, with 20 relevant documents a query (as in TREC) and with 500 (the
worst: every second document counts), labels 1 to 4. `--quick`: 100 queries. Before a time counts, the value is
checked against `evaluate` of the combined run.
"""

from __future__ import annotations

import json
import resource
import time
from typing import Any

import numpy as np
from bench_common import arguments, machine, report
from tabulate import tabulate

from rerank.combination.mixture import combine
from rerank.evaluation.evaluate import evaluate
from rerank.types import Qrels, Run, pointers
from rerank.types.ids import id_array

MEASURES = ("nDCG@10", "nDCG", "P@10", "AP", "RR")
DOCUMENTS = 1000


def generated(n_queries: int, n_relevant: int) -> tuple[Run, Run, Qrels]:
    """Return two runs that are each correlated with the labels, and the labels."""
    random = np.random.default_rng(0)
    n_rows = n_queries * DOCUMENTS
    query_ids = id_array([f"q{number}" for number in range(n_queries)])
    doc_ids = id_array(np.tile([f"d{number}" for number in range(DOCUMENTS)], n_queries))
    labels = random.integers(1, 5, n_rows) * (random.random(n_rows) < n_relevant / DOCUMENTS)
    runs = []
    for name in "ab":
        scores = random.normal(size=n_rows) + 0.3 * labels
        run = Run(query_ids, pointers(np.full(n_queries, DOCUMENTS)), doc_ids, scores, name)
        runs.append(run.take(run.trec_order()))
    return runs[0], runs[1], Qrels.from_rows(np.repeat(query_ids, DOCUMENTS), doc_ids, labels)


def timed(n_queries: int, n_relevant: int, measure: str) -> dict[str, Any]:
    """Return one line of the table."""
    first, second, qrels = generated(n_queries, n_relevant)
    start = time.perf_counter()
    combination = combine(first, second, qrels, measure)
    seconds = time.perf_counter() - start
    measured = evaluate(qrels, combination.run, [measure])[measure]
    if abs(combination.value - measured) > 1e-9:
        raise SystemExit(f"{measure}: combine says {combination.value}, evaluate {measured}")
    line = {"queries": n_queries, "relevant": n_relevant, "measure": measure, "alpha": combination.alpha}
    return {**line, "value": combination.value, "width": combination.high - combination.low, "seconds": seconds}


def main() -> None:
    """Time every measure on both kinds of data."""
    options = arguments(__doc__.splitlines()[0])
    about = machine("numba")
    n_queries = 100 if options.quick else 1000
    for measure in MEASURES:
        timed(2, 20, measure)  # compiles, where that was not done yet
    lines = [timed(n_queries, relevant, measure) for relevant in (20, 500) for measure in MEASURES]
    print(tabulate(lines, headers="keys", tablefmt="github", floatfmt=".4g"))
    memory = f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
    figures = {"machine": about, "most memory": memory}
    report([], figures, None)
    if options.output:
        options.output.write_text(json.dumps({**figures, "combinations": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""Times |delta M| of every swap of a list of 1,000 documents, for each measure, on one core.

The whole block, 1,000 x 1,000, and the 30 rows that training with the default truncation level asks for; for measures
with a formula, and for evaluating again after each swap (the default, also for user-defined measures).

    scripts/bench_measures.py [--quick] [--output FIGURES.json]
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from bench_common import arguments, machine, seconds
from tabulate import tabulate

from rerank.metrics.base import fill_by_recomputing
from rerank.metrics.registry import parse_measure
from rerank.metrics.structures import RankedLists
from rerank.runtime.threads import kernel_threads
from rerank.types import pointers

MEASURES = ("nDCG", "AP", "RR", "ERR", "nERR", "AUC", "PairAccuracy")
BAR = ("ERR", 0.050)  # seconds for the whole block
DEPTH = 30  # LambdaMART's truncation level


def reciprocal_rank(ranked_labels: np.ndarray, ideal_labels: np.ndarray) -> float:
    """A user-defined measure."""
    relevant = np.flatnonzero(ranked_labels > 0)
    return 1.0 / (relevant[0] + 1) if len(relevant) else 0.0


def one_list(n_docs: int) -> RankedLists:
    """A tenth of the documents is relevant, in grades 1 to 4."""
    random = np.random.default_rng(0)
    labels = np.where(random.random(n_docs) < 0.1, random.integers(1, 5, n_docs), 0).astype(np.float64)
    ideal = np.sort(labels[labels > 0])[::-1]
    return RankedLists(labels, pointers([n_docs]), ideal, pointers([len(ideal)]))


def job(fill: Callable[..., None], lists: RankedLists, depth: int) -> Callable[[], None]:
    """Return what fills the first `depth` rows of the block."""
    out_ptr = pointers([depth * len(lists.labels)])
    out = np.empty(out_ptr[-1])
    return lambda: fill(lists, depth, out, out_ptr)


def by_formula(lists: RankedLists) -> list[dict[str, Any]]:
    jobs = {
        (name, depth): job(parse_measure(name).fill_swap_deltas, lists, depth)
        for name in MEASURES
        for depth in (len(lists.labels), DEPTH)
    }
    for compile_first in jobs.values():
        compile_first()
    times = seconds({str(key): one for key, one in jobs.items()})
    return [
        {"measure": name, "rows": depth, "how": "formula", "ms": times[str((name, depth))] * 1e3}
        for name, depth in jobs
    ]


def by_measuring_anew(n_docs: int) -> list[dict[str, Any]]:
    lists, lines = one_list(n_docs), []
    for name_or_function in ("AP", reciprocal_rank):
        measure = parse_measure(name_or_function)
        one = job(lambda *rest, of=measure: fill_by_recomputing(of, *rest), lists, DEPTH)
        taken = seconds({"": one}, repeats=1)[""]
        lines.append({"measure": measure.name, "rows": DEPTH, "how": f"anew, {n_docs} documents", "ms": taken * 1e3})
    return lines


def main() -> None:
    options = arguments(__doc__)
    about = machine("numba", "numpy")
    with kernel_threads(1):
        lines = by_formula(one_list(1000))
        for n_docs in (100,) if options.quick else (100, 1000):
            lines += by_measuring_anew(n_docs)
    figures = {"machine": about, "lines": lines}
    print(", ".join(f"{name} {value}" for name, value in figures["machine"].items()))
    print(tabulate(lines, headers="keys", tablefmt="github", floatfmt=".3g"))
    name, bar = BAR
    milliseconds = next(line["ms"] for line in lines if line["measure"] == name)
    print(
        f"{name}, whole block: {milliseconds:.3g} ms, at most {bar * 1e3:g} ms: "
        f"{'met' if milliseconds <= bar * 1e3 else 'MISSED'}"
    )
    if options.output is not None:
        options.output.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()

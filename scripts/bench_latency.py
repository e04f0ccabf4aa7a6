#!/usr/bin/env python3
"""Milliseconds of one query by the number of candidates, for retrieval and reranking; seconds of a cold command.

The collection is bench_retrieval's; a model of 200 trees with 31 leaves on the full recipe; one query at a time, each
five times, everything warm. Queries with fewer hits than candidates are left out. Cold: the whole process of `rerank
rerank` with one topic and 1,000 candidates, after `rerank compile`; files that were read before are in the system's
memory.

Run:  .venv/bin/python scripts/bench_latency.py [--quick] [--picture docs/images/latency.png] [--output FILE]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from bench_collection import open_collection
from bench_common import REPEATS, arguments, machine, report, seconds
from bench_features import small_model
from bench_retrieval import Pyserini, read_hits

from rerank.rankers.lambdamart import LambdaMART
from rerank.workflows.index import Index
from rerank.workflows.rerank import rerank

CANDIDATES = (10, 30, 100, 300, 1000, 3000, 10_000)
JOBS = ("retrieval", "reranking", "Pyserini's retrieval")
Times = Mapping[str, list[float]]


def latencies(index: Index, model: LambdaMART, topics: Mapping[str, str], k: int) -> Times:
    """Return seconds of each query, job by job; all queries in turn, as often as other benchmarks repeat a job."""
    peer = Pyserini(index.path)
    times: dict[str, list[float]] = {name: [] for name in JOBS}
    runs = {query_id: index.search({query_id: text}, k) for query_id, text in topics.items()}
    runs = {query_id: run for query_id, run in runs.items() if run.n_rows == k}
    for _ in range(REPEATS):
        for query_id, run in runs.items():
            topic, text = {query_id: topics[query_id]}, topics[query_id]
            jobs = (
                lambda topic=topic: index.search(topic, k),
                lambda topic=topic, run=run: rerank(index, model, topic, run, k=k),
                lambda text=text: read_hits({"": peer.search(text, k)}),
            )
            for name, job in zip(JOBS, jobs, strict=True):
                times[name].append(seconds({name: job}, 1)[name])
    return times


def cold(index: Index, model: LambdaMART, topics: Mapping[str, str]) -> float:
    """Return the median seconds of `rerank rerank` as a process, for one topic."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("model.json", "topics.tsv", "out.run")]
        model.save(files[0])
        files[1].write_text("".join(f"{query_id}\t{text}\n" for query_id, text in list(topics.items())[:1]))
        command = [sys.executable, "-m", "rerank", "--quiet", "rerank", index.path, *files[:2], "-o", files[2]]
        name = "rerank rerank of one topic, cold"
        return seconds({name: lambda: subprocess.run(command, check=True)})[name]


def draw(times_of: Mapping[int, Mapping[str, list[float]]], picture: Path) -> None:
    """Draw medians as lines, and up to the 99th percentile as bands."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    for name in JOBS:
        middle, high = (np.array([times_of[k][name][part] for k in times_of]) * 1e3 for part in (0, 1))
        axes.plot(list(times_of), middle, marker="o", label=f"{name}, p50 and p99")
        axes.fill_between(list(times_of), middle, high, alpha=0.15)
    axes.set(xlabel="candidates", ylabel="milliseconds a query", xscale="log", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=110)


def main() -> None:
    """Measure, print, draw."""
    options = arguments(__doc__, "--picture")
    about = machine("pyserini", "numba")
    n_documents, n_queries = (20_000, 30) if options.quick else (100_000, 150)
    index, topics = open_collection(n_documents, n_queries)
    times_of = {}
    with index:
        model = small_model(index, topics)
        for k in CANDIDATES:
            times = latencies(index, model, topics, k)
            if times["reranking"]:
                times_of[k] = {name: np.percentile(values, [50, 99]).tolist() for name, values in times.items()}
                shown = ", ".join(
                    f"{name} {1e3 * middle:.2f} / {1e3 * high:.2f}" for name, (middle, high) in times_of[k].items()
                )
                print(f"{k:6d} candidates, {len(times['reranking']) // REPEATS:3d} queries, ms p50 / p99: {shown}")
        cold_seconds = cold(index, model, topics)
    if options.picture:
        draw(times_of, Path(options.picture))
    figures = {"machine": about, "documents": n_documents, "seconds": times_of, "cold, s (at most 2)": cold_seconds}
    report([], figures, options.output)


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""Features learned from judgements, on nfcorpus: seconds of learning, and query-document pairs a second.

Run: python scripts/bench_history.py [--data FOLDER] [--threads 2] [--repeats 3] [--output FILE]

The history is learned from the training topics and judgements (2,590 queries, 110,575 judgements). Features are those
of BM25's first 1,000 documents for the topics of dev, from queries that are analysed already; then those of as many
training topics, which are out of fold. Medians are printed, after a first call of each that compiles and is not
counted, with the processor's time of all threads beside them: on a machine that others use, only that can be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import rerank
from rerank.features.extract import extract
from rerank.features.inputs import Records
from rerank.features.recipe import Recipe
from rerank.features.registry import history_family_names
from rerank.types import Run
from rerank.vectors.vectors import Vectors

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
MOST_SECONDS, LEAST_PAIRS = 60.0, 100_000.0


def main() -> None:
    """Build the index, learn, extract; print seconds and pairs a second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT / "collections" / "nfcorpus")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measured(options.data, Path(folder), options.threads, options.repeats)
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1) + "\n")


def measured(data: Path, folder: Path, threads: int, repeats: int) -> dict[str, float]:
    """Return and print all figures."""
    topics, train = rerank.read_topics(data / "topics.tsv"), rerank.read_qrels(data / "qrels.train.txt")
    dev = [query_id for query_id in rerank.read_qrels(data / "qrels.dev.txt") if query_id in topics]
    with rerank.Index.build(data / "corpus.jsonl", folder / "index", vectors=False) as index:
        learn = timed(lambda: rerank.History.learn(index, topics, train, threads=threads), repeats)
        figures = {f"learning, {name}": value for name, value in learn.times.items()}
        print_seconds("learning the history", learn.times, f"the bar is {MOST_SECONDS:.0f} s")
        history: rerank.History = learn.result
        start = time.perf_counter()
        history.save(folder / "history.npz")
        saved = time.perf_counter()
        rerank.read_history(folder / "history.npz")
        size = (folder / "history.npz").stat().st_size / 1e6
        print(f"file: {size:.0f} MB, written in {saved - start:.1f} s, read in {time.perf_counter() - saved:.1f} s")
        vectors = Vectors.learn(index, threads=threads)
        judged = [query_id for query_id in train if query_id in topics][: len(dev)]
        for name, queries in (("dev queries", dev), ("training queries, out of fold", judged)):
            texts = {query_id: topics[query_id] for query_id in queries}
            terms = dict(zip(texts, index.searcher.analyze(list(texts.values())), strict=True))
            run = index.using(threads=threads).search(texts)
            figures |= features(name, index, terms, run, Records(history=history), threads, repeats)
            both = Records(history=history, vectors=vectors)
            figures |= features(f"{name}, with vectors", index, terms, run, both, threads, repeats)
    return figures


def features(
    name: str,
    index: rerank.Index,
    terms: Mapping[str, Any],
    run: Run,
    records: Records,
    threads: int | None,
    repeats: int,
) -> dict[str, float]:
    """Print and return the pairs a second of all learned families."""
    vectors = records.vectors
    recipe = Recipe(families=history_family_names(() if vectors is None else vectors.spaces))
    done = timed(lambda: extract(index.forward, terms, run, recipe, records=records, threads=threads), repeats)
    rates = {which: run.n_rows / seconds for which, seconds in done.times.items()}
    print(
        f"features of {name}: {run.n_rows:,} pairs, {done.result.n_features} features; {rates['wall']:,.0f} pairs "
        f"a second ({rates['processor']:,.0f} a second of the processor; the bar is {LEAST_PAIRS:,.0f})"
    )
    return {f"{name}, pairs a second, {which}": rate for which, rate in rates.items()}


class Timed:
    """The result of a job, and the median seconds of its repeats: `wall`, and `processor` of all threads together."""

    def __init__(self, result: Any, times: dict[str, float]) -> None:
        self.result, self.times = result, times


def timed(job: Callable[[], Any], repeats: int) -> Timed:
    """Call a job once untimed, then several times."""
    result, walls, processors = job(), [], []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        result = job()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return Timed(result, {"wall": statistics.median(walls), "processor": statistics.median(processors)})


def print_seconds(what: str, times: Mapping[str, float], bar: str) -> None:
    """Print both times of a job."""
    print(f"{what}: {times['wall']:.1f} s ({times['processor']:.1f} s of the processor; {bar})")


if __name__ == "__main__":
    main()

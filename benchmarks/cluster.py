"""Work on a Dask cluster beside one process."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import rerank
from benchmarks.measuring import Times, times_in_turns
from benchmarks.registry import BenchmarkError, Options, Row, benchmark

DEPTH = 200  # candidates of a query


@contextmanager
def clusters() -> Iterator[dict[str, rerank.Cluster | None]]:
    """Yield this process, and clusters of one and of two workers of one thread on this machine."""
    with rerank.Cluster("local:1") as one, rerank.Cluster("local:2") as two:
        yield {"one process": None, "one worker": one, "two workers": two}


def _rows(work: str, times: Mapping[str, Times]) -> Iterator[Row]:
    """Yield a row for each job: its seconds, times those of one process, and the efficiency of two workers."""
    for name, each in times.items():
        row = {"work": work, "system": name, "s": each.median}
        row["times one process"] = each.median / times["one process"].median
        row["efficiency"] = times["one worker"].median / (2 * each.median) if name == "two workers" else None
        yield row


@benchmark(data="20,000 generated documents, 223,400 candidates", needs=("distributed",))
def cluster_features(options: Options) -> Iterator[Row]:
    """Seconds of features that are written to a file on a cluster; the files must be equal."""
    draw, words = random.Random(0), [f"w{number}" for number in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]

    def text(length: int) -> str:
        return " ".join(draw.choices(words, weights, k=length))

    documents = [{"id": f"d{n}", "title": text(8), "body": text(120)} for n in range(options.pick(20_000, 2000))]
    topics = {f"q{number}": text(4) for number in range((options.rows or options.pick(223_531, 4000)) // DEPTH)}
    with tempfile.TemporaryDirectory() as name, clusters() as systems:
        folder, index = Path(name), Path(name) / "index"
        rerank.Index.build(documents, index, vectors=False).close()
        opened = {
            system: rerank.Index.open(index, threads=1) if cluster is None else cluster.open(index, threads=1)
            for system, cluster in systems.items()
        }
        run = opened["one process"].search(topics, k=DEPTH)
        files = {system: folder / f"{number}.npz" for number, system in enumerate(opened)}
        jobs = {system: partial(each.write_features, files[system], run, topics) for system, each in opened.items()}
        for job in jobs.values():
            job()  # compiles
        if len({path.read_bytes() for path in files.values()}) != 1:
            raise BenchmarkError("the features of a cluster are others than those of one process")
        yield from _rows(f"features of {run.n_rows:,} pairs", times_in_turns(jobs, options.n_repeats(3)))
        for each in opened.values():
            each.close()

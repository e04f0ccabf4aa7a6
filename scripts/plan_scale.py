#!/usr/bin/env python
"""What a collection and a training set far beyond this machine would take, computed from costs that are measured here.

    scripts/plan_scale.py [--documents 1e9] [--queries 1e6] [--machines 4 16 64 256] [--cores 16] [--costs FILE]

Costs: indexing, bytes on disk, search, features and scoring on generated documents of two sizes (scale_documents.py);
training on rows of MSLR-WEB10K's shape with one thread, and the bytes that two workers of a cluster exchange for a
tree. `--costs FILE` keeps them, or reads them if the file is there. Each is per document, pair, row or tree, one core.

Simulated: documents and queries are split evenly, each machine has 64 GB and a network of `--bandwidth` bytes a second
and `--latency` seconds a message. A search ends with the slowest machine; each sends its best k to one, which merges
them. A tree of L leaves has L - 1 steps: a machine sums its rows, sends the others their share of the histograms, and
all wait for the last. The float sums of leaves pass through all machines in turn, twice.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench_common import machine
from tabulate import tabulate

import rerank
from rerank.rankers.lambdamart import LambdaMART
from rerank.trees.bins import learn_bins
from rerank.trees.columns import MOST_CODES, Columns

SIZES = (10_000, 40_000)  # documents
ROWS, TREES = 100_000, 20
MEMORY = 64e9  # of a machine
PAIRS = 1000  # candidates of a query
JUDGED = 100  # rows of a training query
LEAVES, FOREST = 31, 500
HIT_BYTES = 16
ROW_BYTES = 64  # gradient, hessian, score, their packed form twice, row numbers twice, label


@dataclass(frozen=True)
class Costs:
    """Costs on one core.

    Parameters
    ----------
    index, lucene_bytes, forward_bytes : float
        Seconds and bytes of a document.
    search, search_fixed : float
        Seconds of a query for each document, and for the query itself.
    features, scoring : float
        Seconds of a query-document pair.
    train : float
        Seconds of a row and a tree.
    columns, row_bytes : float
        Columns of the binned data; bytes of a row while training.
    sent : float
        Bytes that a worker sends to another for a split, if they share the columns.

    """

    index: float
    lucene_bytes: float
    forward_bytes: float
    search: float
    search_fixed: float
    features: float
    scoring: float
    train: float
    columns: float
    row_bytes: float
    sent: float


def measure() -> Costs:
    """Measure all costs, in some minutes."""
    from scale_documents import documents, topics

    queries, found = topics(), {}
    with tempfile.TemporaryDirectory() as scratch:
        for size in SIZES:
            texts, folder = list(documents(size)), Path(scratch) / str(size)
            start = time.perf_counter()
            with rerank.Index.build(texts, folder, threads=1) as index:
                built = time.perf_counter() - start
                index.search({"warm": "heat flow"}, k=10)
                start = time.perf_counter()
                run = index.search(queries, k=PAIRS, threads=1)
                searched = time.perf_counter() - start
                few = {query: queries[query] for query in list(queries)[:50]}
                top = index.search(few, k=200)
                index.features(top.head(5), few)
                start = time.perf_counter()
                data = index.features(top, few, threads=1)
                extracted = time.perf_counter() - start
            forward = sum(file.stat().st_size for file in (folder / "rerank").rglob("*") if file.is_file())
            every = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            found[size] = built, every - forward, forward, searched / len(queries), extracted / data.n_rows
            print(f"{size:,} documents: {built:.1f} s, {run.n_rows:,} hits in {searched:.2f} s", file=sys.stderr)
    small, large = (found[size] for size in SIZES)
    step = SIZES[1] - SIZES[0]
    per_document = max((large[3] - small[3]) / step, 1e-12)
    return Costs(
        index=(large[0] - small[0]) / step,
        lucene_bytes=(large[1] - small[1]) / step,
        forward_bytes=(large[2] - small[2]) / step,
        search=per_document,
        search_fixed=max(small[3] - per_document * SIZES[0], 0.0),
        features=large[4],
        **_training_costs(),
    )


def _training_costs() -> dict[str, float]:
    from bench_training import generate

    X, labels, groups = generate(ROWS, 0)
    qid = np.repeat(np.arange(len(groups)), groups)
    LambdaMART(n_estimators=1, n_jobs=1).fit(X[:2000], labels[:2000], qid=qid[:2000])
    times = []
    for trees in (1, TREES + 1):
        start = time.perf_counter()
        model = LambdaMART(n_estimators=trees, n_jobs=1).fit(X, labels, qid=qid)
        times.append(time.perf_counter() - start)
    start = time.perf_counter()
    model.predict(X[:20_000])
    scored = time.perf_counter() - start
    columns = Columns.of(learn_bins(X, 255, 1))
    n_columns = 16 * columns.n_blocks
    return {
        "scoring": scored / 20_000 * FOREST / (TREES + 1),
        "train": (times[1] - times[0]) / TREES / ROWS,
        "columns": n_columns,
        "row_bytes": 2 * n_columns + ROW_BYTES,
        "sent": _sent_bytes(X, labels, qid),
    }


def _sent_bytes(X: np.ndarray, labels: np.ndarray, qid: np.ndarray) -> float:
    """Return the bytes that one of two workers sends for a split; without Dask, all sums of half of the columns."""
    try:
        import distributed
    except ImportError:
        return X.shape[1] / 2 * MOST_CODES * 8.0
    boosters: list[Any] = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers) as client,
        rerank.Cluster(client) as cluster,
    ):
        make = cluster.booster

        def kept(*arguments: Any) -> Any:
            boosters.append(make(*arguments))
            return boosters[-1]

        cluster.booster = kept  # type: ignore[method-assign]
        LambdaMART(n_estimators=TREES).fit(X, labels, qid=qid, cluster=cluster)
    return float(boosters[0].sent_bytes / 2 / TREES / (LEAVES - 1))


def plan(costs: Costs, options: argparse.Namespace, machines: int) -> dict[str, Any]:
    """Return the figures of a number of machines."""
    cores, shard = machines * options.cores, options.documents / machines
    rows = options.queries * JUDGED
    search = costs.search_fixed + costs.search * shard / options.cores
    search += 2 * options.latency + (machines - 1) * PAIRS * HIT_BYTES / options.bandwidth
    rerank_seconds = PAIRS * (costs.features + costs.scoring) / options.cores
    compute = rows * costs.train / cores
    # What two workers send holds the sums that are not 0 of half of the columns; a machine sends to all others.
    sent = 2 * costs.sent * (machines - 1) / machines
    exchange = (LEAVES - 1) * (3 * options.latency + sent / options.bandwidth) + 4 * machines * options.latency
    row_memory = rows * costs.row_bytes / machines
    return {
        "machines": machines,
        "documents each": f"{shard:.3g}",
        "disk each": f"{shard * (costs.lucene_bytes + costs.forward_bytes) / 1e9:.0f} GB",
        "index": _time(options.documents * costs.index / cores),
        "search": _time(search),
        "rerank 1,000": _time(rerank_seconds),
        "queries a second": f"{cores / (cores * search / machines + PAIRS * (costs.features + costs.scoring)):.0f}",
        "rows in memory": f"{row_memory / 1e9:.1f} GB" + (" (too much)" if row_memory > MEMORY else ""),
        "tree": _time(compute + exchange),
        "of it exchange": f"{exchange / (compute + exchange):.0%}",
        f"{FOREST} trees": _time(FOREST * (compute + exchange)),
        "sent a tree": f"{(LEAVES - 1) * sent / 1e6:.0f} MB",
    }


def _time(seconds: float) -> str:
    for unit, size in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def main() -> None:
    """Measure or read the costs, and print the plan."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=float, default=1e9)
    parser.add_argument("--queries", type=float, default=1e6, help="training queries, of 100 judged documents each")
    parser.add_argument("--machines", type=int, nargs="+", default=[4, 16, 64, 256])
    parser.add_argument("--cores", type=int, default=16, help="of a machine")
    parser.add_argument("--bandwidth", type=float, default=1.25e9, help="bytes a second of a machine's network")
    parser.add_argument("--latency", type=float, default=1e-4, help="seconds of a message")
    parser.add_argument("--costs", type=Path, help="JSON file of the costs, read if it is there")
    options = parser.parse_args()
    if options.costs is not None and options.costs.exists():
        costs = Costs(**json.loads(options.costs.read_text()))
    else:
        costs = measure()
        if options.costs is not None:
            options.costs.write_text(json.dumps(asdict(costs), indent=1) + "\n")
    print(", ".join(f"{name} {value}" for name, value in machine().items()))
    print(tabulate([(name, f"{value:.4g}") for name, value in asdict(costs).items()], ["cost", "seconds or bytes"]))
    plans = [plan(costs, options, machines) for machines in options.machines]
    print(tabulate([[name, *(each[name] for each in plans)] for name in plans[0]], tablefmt="github"))


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""Time, memory and network traffic of large collections and training sets on many machines, computed, not measured.

    scripts/plan_scale.py [--documents 1e9] [--queries 1e6] [--machines 4 16 64 256] [--cores 16] [--costs FILE]

The costs of one core are measured here: indexing, bytes on disk, search, features and scoring on generated documents of
two sizes (scale_documents.py), training on rows of MSLR-WEB10K's shape, and the bytes that two workers of a cluster
exchange. `--costs FILE` keeps them, or reads them if the file exists. Search time is extrapolated linearly from two
sizes that are far smaller than a machine's share: it is a rough estimate.

Assumed: machines of 64 GB with a network of `--bandwidth` bytes and `--latency` seconds a message; documents and rows
are split evenly, and work is divided by the number of cores without loss.

index     Each core builds the index of its own documents.
search    Each machine searches its own documents and sends its k best to one machine, which merges them. The package
          does not do this: the workers of its clusters open an index of all documents.
tree      As in rerank/trees/shards.py: several leaves are split in a round. In each, a machine sends its histograms of
          the others' columns, then its best splits. Two float sums of a tree pass through all machines in turn. The
          processor time of messages is left out, which grows with the number of machines.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_common import machine, seconds
from bench_training import generate
from scale_documents import documents, topics
from tabulate import tabulate

import rerank
from rerank.rankers.context import ROW_BYTES, TrainingOptions
from rerank.rankers.lambdamart import LambdaMART
from rerank.trees.bins import learn_bins
from rerank.trees.columns import MOST_CODES, WIDTH, Columns

FIRST_SIZE = 2000  # documents of an index that starts Java and compiles kernels, untimed
SIZES = (50_000, 200_000)  # documents
REPEATS = 3
ROWS, TREES, SCORED_ROWS = 100_000, 20, 20_000
MEMORY = 64e9  # bytes of a machine
PAIRS = 1000  # candidates of a query
JUDGED = 100  # rows of a training query
LEAVES, FOREST = 31, 500
ROUNDS = 15  # of splits, for a tree of 31 leaves: bench_tree_stages.py counts them
HIT_BYTES = 16


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
        Columns of the binned data; bytes of a row on a worker while training.
    sent : float
        Bytes that one of two workers sends to the other for a split.

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


class IndexFigures(NamedTuple):
    """Seconds of a build, bytes on disk, and seconds of a query and of a query-document pair, with one thread."""

    build: float
    lucene_bytes: int
    forward_bytes: int
    query: float
    pair: float


def measure() -> Costs:
    """Measure all costs, in some minutes."""
    queries = topics()
    with tempfile.TemporaryDirectory() as scratch:
        index_figures(FIRST_SIZE, Path(scratch) / "first", queries)
        small, large = (index_figures(size, Path(scratch) / str(size), queries) for size in SIZES)
    build, lucene_bytes, forward_bytes, query, _ = (
        (after - before) / (SIZES[1] - SIZES[0]) for before, after in zip(small, large, strict=True)
    )
    if query <= 0.0:
        raise SystemExit("plan_scale: the larger index was searched faster. Run it again when the machine is idle.")
    return Costs(
        index=build,
        lucene_bytes=lucene_bytes,
        forward_bytes=forward_bytes,
        search=query,
        search_fixed=max(small.query - query * SIZES[0], 0.0),
        features=large.pair,
        **training_costs(),
    )


def index_figures(size: int, folder: Path, queries: dict[str, str]) -> IndexFigures:
    """Build, search and read an index with one thread."""
    texts = list(documents(size))
    build = seconds({"build": lambda: rerank.Index.build(texts, folder, threads=1, vectors=False).close()}, 1)["build"]
    arrays = sum(path.stat().st_size for path in (folder / "rerank").rglob("*") if path.is_file())
    everything = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    few = dict(list(queries.items())[:50])
    print(f"{size:,} documents", file=sys.stderr)
    with rerank.Index.open(folder, threads=1) as index:
        run = index.search(few, k=200)
        index.search(queries, k=PAIRS)
        index.features(run, few)
        times = seconds(
            {
                "search": lambda: index.search(queries, k=PAIRS),
                "features": lambda: index.features(run, few),
            },
            REPEATS,
        )
    return IndexFigures(
        build, everything - arrays, arrays, times["search"] / len(queries), times["features"] / run.n_rows
    )


def training_costs() -> dict[str, float]:
    """Measure training and scoring with one thread."""
    X, labels, groups = generate(ROWS, 0)
    qid = np.repeat(np.arange(len(groups)), groups)

    def train(n_trees: int) -> LambdaMART:
        return LambdaMART(n_estimators=n_trees, num_leaves=LEAVES, n_jobs=1).fit(X, labels, qid=qid)

    model = train(TREES)
    model.predict(X[:SCORED_ROWS])
    times = seconds(
        {
            "one tree": lambda: train(1),
            "trees": lambda: train(TREES + 1),
            "scoring": lambda: model.predict(X[:SCORED_ROWS]),
        },
        REPEATS,
    )
    n_columns = WIDTH * Columns.of(learn_bins(X, 255, 1)).n_blocks
    return {
        "scoring": times["scoring"] / SCORED_ROWS * FOREST / TREES,
        "train": (times["trees"] - times["one tree"]) / TREES / ROWS,
        "columns": n_columns,
        "row_bytes": 2 * n_columns + ROW_BYTES,  # a worker has its rows as they were sent, and as they are read
        "sent": _sent_bytes(X, labels, qid, n_columns),
    }


def _sent_bytes(X: np.ndarray, labels: np.ndarray, qid: np.ndarray, n_columns: int) -> float:
    """Return the bytes that one of two workers sends for a split; without Dask, all sums of half of the columns."""
    try:
        import distributed
    except ImportError:
        return n_columns / 2 * MOST_CODES * 8.0
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
        LambdaMART(n_estimators=TREES, num_leaves=LEAVES).fit(
            X, labels, qid=qid, training=TrainingOptions(cluster=cluster)
        )
    return float(boosters[0].sent_bytes / 2 / TREES / (LEAVES - 1))


def plan(costs: Costs, options: argparse.Namespace, machines: int) -> dict[str, Any]:
    """Return the figures of a number of machines."""
    cores, shard = machines * options.cores, options.documents / machines
    rows = options.queries * JUDGED
    search = costs.search_fixed + costs.search * shard / options.cores
    search += 2 * options.latency + (machines - 1) * PAIRS * HIT_BYTES / options.bandwidth
    rerank_query = PAIRS * (costs.features + costs.scoring)  # core seconds, as `work`
    work = machines * costs.search_fixed + costs.search * options.documents + rerank_query
    compute = rows * costs.train / cores
    # One of two workers sends the histograms of half of the columns; a machine sends those of all but its own columns.
    sent = 2 * costs.sent * (machines - 1) / machines
    # In each round: histograms, best splits. Once for each tree: the root's totals, two sums.
    exchange = (LEAVES - 1) * sent / options.bandwidth + (2 * ROUNDS + 1 + 2 * machines) * options.latency
    row_memory = rows * costs.row_bytes / machines
    return {
        "machines": machines,
        "documents each": f"{shard:,.0f}",
        "disk each": f"{shard * (costs.lucene_bytes + costs.forward_bytes) / 1e9:.0f} GB",
        "index": _time(options.documents * costs.index / cores),
        "search of a query": _time(search),
        f"rerank {PAIRS:,} documents": _time(rerank_query / options.cores),
        "queries a second": f"{cores / work:,.0f}",
        "rows in memory, each": f"{row_memory / 1e9:.1f} GB" + (" (too much)" if row_memory > MEMORY else ""),
        "rows in the process that starts training": f"{rows * (costs.columns + ROW_BYTES) / 1e9:.1f} GB",
        "tree": _time(compute + exchange),
        "share of exchange": f"{exchange / (compute + exchange):.0%}",
        f"{FOREST} trees": _time(FOREST * (compute + exchange)),
        "sent a tree, each": f"{(LEAVES - 1) * sent / 1e6:.1f} MB",
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
    parser.add_argument("--costs", type=Path, help="JSON file of the costs, read if it exists")
    options = parser.parse_args()
    if options.costs is not None and options.costs.exists():
        costs = Costs(**json.loads(options.costs.read_text()))
    else:
        machine()
        costs = measure()
        if options.costs is not None:
            options.costs.write_text(json.dumps(asdict(costs), indent=1) + "\n")
    print(tabulate([(name, f"{value:.4g}") for name, value in asdict(costs).items()], ["cost", "seconds or bytes"]))
    plans = [plan(costs, options, machines) for machines in options.machines]
    print(tabulate([[name, *(each[name] for each in plans)] for name in plans[0]], tablefmt="github"))


if __name__ == "__main__":
    main()

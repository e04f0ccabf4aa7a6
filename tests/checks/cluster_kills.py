"""Kill workers of a Dask cluster at random moments: runs and features must equal local ones, byte for byte.

    python -m tests.checks.cluster_kills [--moments 20] [--workers 3] [--seed 0]

A scheduler and workers are processes of their own, without a nanny that would start a killed worker again. For each
job (retrieval, features) and moment, a worker is killed with SIGKILL after a time drawn uniformly over the
time that the job takes without a kill; then another worker is started. Prints a line for each job, and ends with 1 if
a file differs from the local one.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

import rerank
from benchmarks.large_collection import growing_documents, real_topics
from benchmarks.registry import Options
from tests.cluster.processes import Processes, started, wait_for_workers

N_DOCUMENTS, DEPTH = 20_000, 200


def jobs(folder: Path, cluster: rerank.Cluster) -> dict[str, tuple[bytes, Callable[[Path], Any]]]:
    """Return the bytes of each local file, and what writes them with the cluster."""
    queries = real_topics(Options())
    with rerank.Index.build(growing_documents(Options(), N_DOCUMENTS), folder / "index") as index:
        run = index.search(queries, DEPTH)
        rerank.write_run(run, folder / "run.trec")
        index.write_features(folder / "data.npz", run, queries)
    opened = cluster.open(folder / "index")
    return {
        "retrieval": (
            (folder / "run.trec").read_bytes(),
            lambda out: rerank.write_run(opened.search(queries, DEPTH), out.with_suffix(".trec")),
        ),
        "features": (
            (folder / "data.npz").read_bytes(),
            lambda out: opened.write_features(out.with_suffix(".npz"), run, queries),
        ),
    }


def main() -> None:
    """Kill workers, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=20, help="kills of each job")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw, lines, faults = random.Random(options.seed), [], 0
    with (
        tempfile.TemporaryDirectory() as name,
        started(Path(name), options.workers) as processes,
        rerank.Cluster(processes.address) as cluster,
    ):
        wait_for_workers(cluster, options.workers)
        for job, (expected, work) in jobs(Path(name), cluster).items():
            line, wrong = killed_job(processes, cluster, job, expected, work, draw, options)
            lines.append(line)
            faults += wrong
            print(tabulate(lines, headers="keys"), flush=True)
    raise SystemExit(faults > 0)


def killed_job(
    processes: Processes,
    cluster: rerank.Cluster,
    job: str,
    expected: bytes,
    work: Callable[[Path], Any],
    draw: random.Random,
    options: argparse.Namespace,
) -> tuple[dict[str, Any], int]:
    """Do one job without a kill, and with a kill at each moment; return its line and the number of wrong files."""
    with tempfile.TemporaryDirectory() as name:
        wrong, times = 0, []
        work(Path(name) / "first")  # workers open the index, compile kernels
        for moment in range(-1, options.moments):
            out = Path(name) / f"out{moment}"
            victim = draw.choice(processes.workers) if moment >= 0 else None
            if victim is not None:
                timer = threading.Timer(draw.uniform(0.0, times[0]), victim.kill)
                timer.start()
            start = time.perf_counter()
            work(out)
            times.append(time.perf_counter() - start)
            wrong += next(Path(name).glob(f"out{moment}.*")).read_bytes() != expected
            if victim is not None:
                timer.join()
                victim.wait()
            processes.keep(options.workers)
            wait_for_workers(cluster, options.workers)
    figures = {
        "undisturbed, s": times[0],
        "median with a kill, s": float(np.median(times[1:])),
        "longest, s": max(times),
    }
    return {"job": job, "kills": options.moments, "different files": wrong, **figures}, wrong


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""Training from a file of features under a memory limit, beside training in memory and LightGBM.

Run: python scripts/bench_memory.py [--rows 1000000] [--memory 4GB] [--trees 20] [--folder DIR] [--systems NAME ...]
     [--output FILE]
The data are those of scripts/bench_training.py (136 features), written to DIR as .npz and removed at the end. Each
system reads the file and trains in a process of its own, from which the parent reads memory 50 times a second (Linux
only: elsewhere 0): `resident` is the peak with pages of files, `anonymous` without, both in MB. `start` is the time
until the first tree begins: reading, binning. nDCG@10 (gain 2^label - 1) is that on unseen queries.

rerank          the file in memory
rerank-mapped   `--memory`, the features stay in the file
lightgbm        the file in memory, row-wise histograms
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench_common import machine
from bench_training import N_FEATURES, generate, ndcg
from tabulate import tabulate

from rerank.rankers.context import TrainingOptions

SYSTEMS = ("rerank", "rerank-mapped", "lightgbm")
ROWS_A_PART, TEST_ROWS, SAMPLES_A_SECOND = 250_000, 200_000, 50
METRIC = "nDCG(dcg='exp-log2')@10"


@dataclass
class Measured:
    """Figures of one training."""

    seconds: float = 0.0
    start: float = 0.0
    tree: float = 0.0  # median seconds
    ndcg: float = 0.0
    resident: float = 0.0  # MB
    anonymous: float = 0.0
    model: str = ""


def write(path: Path, n_rows: int) -> None:
    """Write the training data part by part."""
    from rerank.files.data import write_data
    from rerank.runtime.mapped_rows import RowFile, row_blocks
    from rerank.types import RankingData, pointers
    from rerank.types.ids import id_array

    labels, groups, rows = [], [], RowFile("the features")
    for part, first in enumerate(range(0, n_rows, ROWS_A_PART)):
        X, part_labels, part_groups = generate(min(ROWS_A_PART, n_rows - first), part)
        rows.append(X)
        labels.append(part_labels)
        groups.append(part_groups)
    counts = np.concatenate(groups)
    data = RankingData(
        id_array([f"q{number:07d}" for number in range(len(counts))]),
        pointers(counts),
        np.char.add("d", np.arange(n_rows).astype(np.str_)),
        np.broadcast_to(np.float32(0), (n_rows, N_FEATURES)),
        tuple(f"f{number}" for number in range(N_FEATURES)),
        labels=np.concatenate(labels),
    )
    write_data(data, path, (block for _, block in row_blocks(rows.finish(N_FEATURES))))


def work(system: str, path: Path, trees: int, memory: str, threads: int) -> None:
    """Train one system in this process; print its figures as JSON."""
    times: list[float] = []
    first = time.perf_counter()
    if system == "lightgbm":
        predict, digest = _lightgbm(path, trees, threads, times), ""
    else:
        predict, digest = _rerank(system, path, trees, memory, threads, times)
    seconds = time.perf_counter() - first
    trees_took = np.diff(times)
    tree = statistics.median(trees_took.tolist())
    print(json.dumps({"trained": True}), flush=True)
    X, labels, groups = generate(TEST_ROWS, 10_000)
    quality = float(ndcg(predict(X), labels, groups).mean())
    start = times[0] - first - tree
    print(json.dumps({"seconds": seconds, "start": start, "tree": tree, "ndcg": quality, "model": digest}))


def _rerank(system: str, path: Path, trees: int, memory: str, threads: int, times: list[float]) -> tuple[Any, str]:
    from rerank.files.data import read_data
    from rerank.rankers.lambdamart import LambdaMART

    mapped = system == "rerank-mapped"
    data = read_data(path, mapped=mapped)
    model = LambdaMART(metric=METRIC, n_estimators=trees, n_jobs=threads)
    model.fit(
        data,
        callbacks=[lambda _: times.append(time.perf_counter())],
        training=TrainingOptions(memory=memory if mapped else None),
    )
    return model.predict, hashlib.sha256(json.dumps(model.to_dict()).encode()).hexdigest()[:16]


def _lightgbm(path: Path, trees: int, threads: int, times: list[float]) -> Any:
    import lightgbm

    from rerank.files.data import read_data

    data = read_data(path)
    parameters = {"n_estimators": trees, "num_leaves": 31, "learning_rate": 0.1, "max_bin": 255}
    model = lightgbm.LGBMRanker(**parameters, n_jobs=threads, verbosity=-1, force_row_wise=True)
    fitted = model.fit(
        data.X, data.labels, group=np.diff(data.query_ptr), callbacks=[lambda _: times.append(time.perf_counter())]
    )
    return fitted.predict


def measure(system: str, path: Path, arguments: argparse.Namespace) -> Measured:
    """Run one system in a process, and read its memory until it has trained."""
    command = [sys.executable, __file__, "--worker", system, "--file", str(path), "--trees", str(arguments.trees)]
    command += ["--memory", arguments.memory, "--threads", str(arguments.threads)]
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, text=True)
        resident = anonymous = 0.0
        while process.poll() is None:
            if os.fstat(out.fileno()).st_size:
                break  # trained: what follows measures quality
            resident = max(resident, _memory(process.pid, "VmRSS"))
            anonymous = max(anonymous, _memory(process.pid, "RssAnon"))
            time.sleep(1 / SAMPLES_A_SECOND)
        if process.wait():
            raise SystemExit(f"{system}: ended with {process.returncode}")
        out.seek(0)
        figures = json.loads(out.read().splitlines()[-1])
    return Measured(**figures, resident=resident, anonymous=anonymous)


def _memory(process: int, name: str) -> float:
    """Return MB by its name in /proc (0 where the system has none, or the process has ended)."""
    try:
        lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith(name + ":")), 0.0)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--folder", type=Path, help="where the data are written; that of temporary files by default")
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    parser.add_argument("--worker", choices=SYSTEMS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments.worker, arguments.file, arguments.trees, arguments.memory, arguments.threads)
        return
    figures: dict[str, Measured] = {}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "train.npz"
        write(path, arguments.rows)
        print(f"{arguments.rows:,} rows x {N_FEATURES} features, {path.stat().st_size / 1e6:,.0f} MB", flush=True)
        for system in arguments.systems:
            figures[system] = measure(system, path, arguments)
            print(json.dumps({system: vars(figures[system])}), flush=True)
    per_row = {name: 1e9 * each.tree / arguments.rows for name, each in figures.items()}
    columns = ("system", "s", "start s", "s a tree", "ns a row and tree", "resident MB", "anonymous MB", "nDCG@10")
    rows = [
        (name, each.seconds, each.start, each.tree, per_row[name], each.resident, each.anonymous, f"{each.ndcg:.4f}")
        for name, each in figures.items()
    ]
    print(tabulate(rows, columns, floatfmt=".2f"))
    models = {each.model for each in figures.values() if each.model}
    if models:
        print("models: equal" if len(models) == 1 else "models: DIFFER")
    if arguments.output:
        packages = ["lightgbm"] if "lightgbm" in figures else []
        result = {"machine": machine("numba", *packages), "rows": arguments.rows, "trees": arguments.trees}
        result |= {"memory": arguments.memory, "systems": {name: vars(each) for name, each in figures.items()}}
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""Training time, memory and quality beside LightGBM and XGBoost on generated data of MSLR-WEB10K's shape.

Run: python scripts/bench_training.py [--rows 223531] [--trees 200] [--repeats 5] [--quick] [--output FILE]
Every system trains in a process of its own, in turn, binning included, with the same trees, leaves, learning rate and
bins. Before a time counts, the nDCG@10 (gain 2^label - 1) on unseen queries of the same generator is measured.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

N_FEATURES = 136
SHARES = (0.52, 0.84, 0.97, 0.99)  # labels 0 to 4: 52, 32, 13, 2 and 1 % of the rows
OURS = "rerank"
LIGHTGBM = ("lightgbm", "lightgbm-row-wise", "lightgbm-quantised-16", "lightgbm-quantised-64")
SYSTEMS = (OURS, *LIGHTGBM, "xgboost-hist")


def generate(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X (n_rows, 136) float32, labels and group sizes: counts, heavy tails, sparse and binary columns."""
    random = np.random.default_rng(seed)
    groups: list[int] = []
    while sum(groups) < n_rows:
        groups.append(int(min(random.integers(40, 201), n_rows - sum(groups))))
    X = np.empty((n_rows, N_FEATURES), dtype=np.float32)
    for feature in range(N_FEATURES):
        X[:, feature] = _column(random, feature, n_rows)
    weights = np.random.default_rng(7).normal(0, 1, N_FEATURES) / np.sqrt(N_FEATURES)
    value = np.log1p(np.abs(X)) @ weights + 0.5 * np.tanh(X[:, 2] * X[:, 7]) + random.normal(0, 0.7, n_rows)
    labels = np.searchsorted(np.quantile(value, SHARES), value).astype(np.float64)
    return X, labels, np.array(groups)


def _column(random: np.random.Generator, feature: int, n_rows: int) -> np.ndarray:
    kind = feature % 5
    if kind == 0:
        return random.poisson(np.exp(random.normal(0, 1)), n_rows)
    if kind == 1:
        return random.lognormal(0, 2, n_rows)
    if kind == 2:
        return random.normal(0, 1, n_rows)
    if kind == 3:
        return (random.random(n_rows) < 0.1) * random.gamma(1, 1, n_rows)
    return random.random(n_rows) < 0.3


def train(system: str, X: np.ndarray, labels: np.ndarray, groups: np.ndarray, trees: int, threads: int):  # type: ignore[no-untyped-def]
    """Train one system; return what predicts."""
    if system == OURS:
        from rerank.rankers.lambdamart import LambdaMART

        qid = np.repeat(np.arange(len(groups)), groups)
        model = LambdaMART(n_estimators=trees, metric="nDCG(dcg='exp-log2')@10", n_jobs=threads)
        return model.fit(X, labels, qid=qid).predict
    if system.startswith("lightgbm"):
        import lightgbm

        extra = {"force_row_wise": True} if "row-wise" in system else {}
        if "quantised" in system:
            extra = {"use_quantized_grad": True, "num_grad_quant_bins": int(system.rsplit("-", 1)[1])}
        parameters = {"n_estimators": trees, "num_leaves": 31, "learning_rate": 0.1, "max_bin": 255}
        model = lightgbm.LGBMRanker(**parameters, n_jobs=threads, verbosity=-1, **extra)
        return model.fit(X, labels, group=groups).predict
    import xgboost

    data = xgboost.QuantileDMatrix(X, labels, group=groups, max_bin=255, nthread=threads)
    parameters = {"objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 31}
    parameters |= {"max_depth": 0, "eta": 0.1, "max_bin": 255, "nthread": threads}
    booster = xgboost.train(parameters, data, trees)
    return lambda rows: booster.predict(xgboost.DMatrix(rows))


def ndcg(scores: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> float:
    """Return the mean nDCG@10 with gain 2^label - 1."""
    from rerank.metrics.base import RankedLists
    from rerank.metrics.registry import parse_measure
    from rerank.types import ideal_of_rows, pointers, query_rows

    query_ptr = pointers(groups)
    ranked = labels[np.lexsort((-scores, query_rows(query_ptr)))]
    lists = RankedLists(ranked, query_ptr, *ideal_of_rows(labels, query_ptr))
    return float(parse_measure("nDCG(dcg='exp-log2')@10").scores(lists).mean())


def worker(system: str, rows: int, trees: int, threads: int) -> None:
    """Train once in this process; print seconds, memory added and quality as JSON."""
    train(system, *generate(2000, 3), 3, threads)  # load libraries and kernels before the clock starts
    data = generate(rows, 0)
    before = _resident()
    start = time.perf_counter()
    predict = train(system, *data, trees, threads)
    seconds = time.perf_counter() - start
    added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    X, labels, groups = generate(max(rows // 5, 5000), 1)
    print(json.dumps({"seconds": seconds, "added_mb": added, "ndcg": ndcg(predict(X), labels, groups)}))


def _resident() -> float:
    """Return the resident memory in MB; where the system tells none, the peak so far."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(systems: list[str], rows: int, trees: int, threads: int, repeats: int) -> dict[str, dict[str, float]]:
    """Run the systems in turn, `repeats` times; return medians, and quality of the last run."""
    found: dict[str, list[dict[str, float]]] = {system: [] for system in systems}
    for _ in range(repeats):
        for system in systems:
            command = [sys.executable, __file__, "--worker", system, "--rows", str(rows), "--trees", str(trees)]
            done = subprocess.run([*command, "--threads", str(threads)], check=True, capture_output=True, text=True)
            found[system].append(json.loads(done.stdout.splitlines()[-1]))
    return {
        system: {key: statistics.median(run[key] for run in runs) for key in runs[0]} for system, runs in found.items()
    }


def main() -> None:
    """Measure and print the table of ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=223_531)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="40,000 rows, 30 trees, one run each")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--worker")
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.rows, options.trees, options.threads)
        return
    if options.quick:
        options.rows, options.trees, options.repeats = 40_000, 30, 1
    systems = [name for name in SYSTEMS if name == OURS or importlib.util.find_spec(name.split("-")[0])]
    found = measure(systems, options.rows, options.trees, options.threads, options.repeats)
    report(found, options.rows, options.trees, options.threads, options.output)


def report(found: dict[str, dict[str, float]], rows: int, trees: int, threads: int, output: Path | None) -> None:
    """Print the table, and write it as JSON where asked."""
    peers = [name for name in ("lightgbm", "xgboost") if importlib.util.find_spec(name)]
    versions = ", ".join(f"{name} {importlib.import_module(name).__version__}" for name in peers)
    print(
        f"{rows:,} rows x {N_FEATURES}, {trees} trees x 31 leaves, {threads} threads; {versions}; {platform.platform()}"
    )
    print(f"{'system':24s} {'seconds':>8s} {'ratio':>6s} {'added MB':>9s} {'nDCG@10':>8s}")
    for system, row in found.items():
        ratio = row["seconds"] / found[OURS]["seconds"]
        print(f"{system:24s} {row['seconds']:8.2f} {ratio:6.2f} {row['added_mb']:9.0f} {row['ndcg']:8.4f}")
    if output:
        output.write_text(
            json.dumps({"rows": rows, "trees": trees, "threads": threads, "systems": found}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()

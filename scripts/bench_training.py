#!/usr/bin/env python
"""Training time, memory and quality beside LightGBM and XGBoost on generated data of MSLR-WEB10K's shape.

Run: python scripts/bench_training.py [--rows 223531] [--trees 200] [--repeats 5] [--four] [--distinct]
     [--quick] [--output FILE]
     python scripts/bench_training.py --curve docs/images/training.png [--trees 50]
Every system trains in a process of its own, in turn, binning included, with the same trees, leaves, learning rate and
bins. Each run is printed as it ends; the table has medians, and the least and greatest seconds. What is needed (`pip
install lucene-rerank[bench]`) is checked first. nDCG@10 (gain 2^label - 1) is that on unseen queries of the same
generator; its difference from `rerank` has an interval of 95 % from 10,000 bootstrap samples of the queries. The
systems named `sampled` grow each tree on rows drawn by their gradients: a tenth (minimal variance sampling; `features`:
with seven tenths of the features, drawn at random), or three tenths (LightGBM's GOSS); `random-splits` tries one
threshold of each feature in a leaf (`extra_trees`). CPU seconds are those of all threads, for machines that are not
quiet. Memory is the peak while training less what was resident before it, which holds the data (Linux only: elsewhere
0). `--four`: LightGBM alone, and four times the rows, too. `--curve` draws time and memory from 50,000 to 1,000,000
rows, one run each.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from bench_common import machine, needs
from tabulate import tabulate

N_FEATURES = 136
SHARES = (0.52, 0.84, 0.97, 0.99)  # labels 0 to 4: 52, 32, 13, 2 and 1 % of the rows
OURS, SAMPLED, OF_BOTH, RANDOM = "rerank", "rerank-sampled", "rerank-sampled-features", "rerank-random-splits"
LIGHTGBM = ("lightgbm", "lightgbm-row-wise", "lightgbm-quantised-16", "lightgbm-quantised-64")
CLEAR_REFS = Path("/proc/self/clear_refs")
CURVE_ROWS = (50_000, 100_000, 223_531, 500_000, 1_000_000)
SYSTEMS = (OURS, SAMPLED, OF_BOTH, RANDOM, *LIGHTGBM, "lightgbm-sampled", "xgboost-hist")
FOUR_SYSTEMS = (OURS, "lightgbm", "lightgbm-row-wise")
CURVE_SYSTEMS = (OURS, "lightgbm-row-wise", "xgboost-hist")
PEERS = {"lightgbm": "lightgbm", "xgboost": "xgboost"}  # beginning of the name of a system, package


def generate(n_rows: int, seed: int, distinct: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X (n_rows, 136) float32, labels and group sizes.

    The columns are counts, heavy tails, normal, sparse and binary ones; where `distinct`, heavy tails and normal ones
    only, whose values all differ.
    """
    random = np.random.default_rng(seed)
    groups: list[int] = []
    while sum(groups) < n_rows:
        groups.append(int(min(random.integers(40, 201), n_rows - sum(groups))))
    X = np.empty((n_rows, N_FEATURES), dtype=np.float32)
    for feature in range(N_FEATURES):
        X[:, feature] = _column(random, 1 + feature % 2 if distinct else feature % 5, n_rows)
    weights = np.random.default_rng(7).normal(0, 1, N_FEATURES) / np.sqrt(N_FEATURES)
    value = np.log1p(np.abs(X)) @ weights + 0.5 * np.tanh(X[:, 2] * X[:, 7]) + random.normal(0, 0.7, n_rows)
    labels = np.searchsorted(np.quantile(value, SHARES), value).astype(np.float64)
    return X, labels, np.array(groups)


def _column(random: np.random.Generator, kind: int, n_rows: int) -> np.ndarray:
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
    if system.startswith(OURS):
        from rerank.rankers.lambdamart import LambdaMART

        qid = np.repeat(np.arange(len(groups)), groups)
        parameters = {"n_estimators": trees, "min_child_weight": 1e-3, "n_jobs": threads}  # as LightGBM's
        if system in (SAMPLED, OF_BOTH):
            parameters |= {"data_sample_strategy": "mvs", "subsample": 0.1}
        if system == OF_BOTH:
            parameters["colsample_bytree"] = 0.7
        parameters["extra_trees"] = system == RANDOM
        model = LambdaMART(metric="nDCG(dcg='exp-log2')@10", **parameters)
        return model.fit(X, labels, qid=qid).predict
    if system.startswith("lightgbm"):
        import lightgbm

        extra = {"force_row_wise": True} if "row-wise" in system else {}
        if "sampled" in system:
            extra = {"data_sample_strategy": "goss"}
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


def ndcg(scores: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return nDCG@10 with gain 2^label - 1 of each query."""
    from rerank.metrics.registry import parse_measure
    from rerank.metrics.structures import RankedLists
    from rerank.types import ideal_of_rows, pointers, query_rows

    query_ptr = pointers(groups)
    ranked = labels[np.lexsort((-scores, query_rows(query_ptr)))]
    lists = RankedLists(ranked, query_ptr, *ideal_of_rows(labels, query_ptr))
    return parse_measure("nDCG(dcg='exp-log2')@10").scores(lists)


def worker(system: str, rows: int, trees: int, threads: int, distinct: bool) -> None:
    """Train once in this process; print seconds, memory added and quality as JSON."""
    train(system, *generate(2000, 3), 3, threads)  # load libraries and kernels before the clock starts
    data = generate(rows, 0, distinct)
    before = _forget_peak()
    start, start_cpu = time.perf_counter(), time.process_time()
    predict = train(system, *data, trees, threads)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    added = _memory("VmHWM") - before
    X, labels, groups = generate(max(rows // 5, 5000), 1, distinct)
    values = ndcg(predict(X), labels, groups)
    figures = {"seconds": seconds, "cpu_seconds": cpu, "added_mb": added, "ndcg": float(values.mean())}
    print(json.dumps({**figures, "values": values.tolist()}))


def _forget_peak() -> float:
    """Let the peak of this process's memory start anew; return the MB that are resident now."""
    if CLEAR_REFS.exists():
        CLEAR_REFS.write_text("5")
    return _memory("VmRSS")


def _memory(name: str) -> float:
    """Return MB by its name in /proc (0 where the system has none)."""
    status = Path("/proc/self/status")
    lines = status.read_text("utf8").splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(name + ":")), 0.0)


def measure(
    systems: list[str], rows: int, trees: int, threads: int, repeats: int, distinct: bool = False
) -> dict[str, dict[str, float]]:
    """Run the systems in turn, `repeats` times; return medians, and quality of the last run."""
    values: dict[str, np.ndarray] = {}
    result: dict[str, list[dict[str, float]]] = {system: [] for system in systems}
    for _ in range(repeats):
        for system in systems:
            command = [sys.executable, __file__, "--worker", system, "--rows", str(rows), "--trees", str(trees)]
            command += ["--threads", str(threads), *(["--distinct"] if distinct else [])]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            run = json.loads(done.stdout.splitlines()[-1])
            values[system] = np.array(run.pop("values"))
            result[system].append(run)
            shown = ", ".join(f"{key} {value:.4g}" for key, value in run.items())
            print(f"{rows:,} rows, {system}: {shown}", flush=True)
    ours = values.get(OURS)
    return {system: {**_summary(runs), **_difference(values[system], ours)} for system, runs in result.items()}


def _difference(values: np.ndarray, ours: np.ndarray | None) -> dict[str, float]:
    """Return the interval of the mean difference from ours, nothing without ours."""
    if ours is None:
        return {}
    drawn = np.random.default_rng(0).integers(len(ours), size=(10_000, len(ours)))
    low, high = np.quantile((values - ours)[drawn].mean(axis=1), (0.025, 0.975))
    return {"difference_from": float(low), "difference_to": float(high)}


def _summary(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return medians, and the least and greatest seconds."""
    taken = [run["seconds"] for run in runs]
    medians = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    return {**medians, "least_seconds": min(taken), "greatest_seconds": max(taken)}


def main() -> None:
    """Measure and print the table of ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=223_531)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--four", action="store_true", help="LightGBM only, and four times the rows, too")
    parser.add_argument("--distinct", action="store_true", help="data whose columns have as many values as rows")
    parser.add_argument("--curve", type=Path, help="PNG of time and memory against rows, and nothing else")
    parser.add_argument("--quick", action="store_true", help="40,000 rows, 30 trees, one run each")
    parser.add_argument("--systems", help=f"of {', '.join(SYSTEMS)}, with commas between them; all by default")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--worker")
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.rows, options.trees, options.threads, options.distinct)
        return
    if options.quick:
        options.rows, options.trees, options.repeats = 40_000, 30, 1
    systems = list(SYSTEMS) if options.systems is None else options.systems.split(",")
    if not set(systems) <= set(SYSTEMS):
        parser.error(f"--systems: expected names of {', '.join(SYSTEMS)}, got {options.systems}")
    about = machine(
        "numpy", "numba", *(PEERS[name] for name in PEERS if any(each.startswith(name) for each in systems))
    )
    if options.curve:
        needs("matplotlib")
        draw(options.curve, options.trees, options.threads)
        return
    sizes = [options.rows, 4 * options.rows] if options.four else [options.rows]
    if options.four:
        systems = [name for name in systems if name in FOUR_SYSTEMS]
    given = options.trees, options.threads, options.repeats, options.distinct
    tables = [measure(systems, rows, *given) for rows in sizes]
    report(about, tables, sizes, options)


def report(
    about: dict[str, str],
    tables: list[dict[str, dict[str, float]]],
    sizes: list[int],
    options: argparse.Namespace,
) -> None:
    """Print a table for each number of rows, and write them as JSON where asked."""
    trees, threads, output = options.trees, options.threads, options.output
    for rows, result in zip(sizes, tables, strict=True):
        kind = ", distinct values" if options.distinct else ""
        print(f"\n{rows:,} rows x {N_FEATURES}{kind}, {trees} trees x 31 leaves, {threads} threads\n")
        lines = [
            {
                "system": system,
                "seconds": f"{row['seconds']:.2f} ({row['least_seconds']:.2f} to {row['greatest_seconds']:.2f})",
                "times ours": f"{row['seconds'] / result[OURS]['seconds']:.2f}" if OURS in result else "",
                "CPU seconds": f"{row['cpu_seconds']:.2f}",
                "MB added": f"{row['added_mb']:.0f}",
                "nDCG@10": f"{row['ndcg']:.4f}",
                "difference": f"{row['difference_from']:+.4f} to {row['difference_to']:+.4f}" if OURS in result else "",
            }
            for system, row in result.items()
        ]
        print(tabulate(lines, headers="keys", tablefmt="github", disable_numparse=True))
    if len(tables) > 1 and OURS in tables[0]:
        grown = tables[1][OURS]["seconds"] / tables[0][OURS]["seconds"]
        print(f"\n{sizes[1] // sizes[0]} times the rows: {grown:.2f} times the time")
    if output:
        figures = {
            "machine": about,
            "trees": trees,
            "threads": threads,
            "systems": dict(zip(sizes, tables, strict=True)),
        }
        output.write_text(json.dumps(figures, indent=1) + "\n")


def draw(picture: Path, trees: int, threads: int) -> None:
    """Draw seconds and memory against rows."""
    from matplotlib import pyplot

    systems = list(CURVE_SYSTEMS)
    result = {rows: measure(systems, rows, trees, threads, 1) for rows in CURVE_ROWS}
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, key, label in zip(axes, ("seconds", "added_mb"), ("seconds", "MB added by training"), strict=True):
        for system in systems:
            axis.plot(CURVE_ROWS, [result[rows][system][key] for rows in CURVE_ROWS], marker="o", label=system)
        axis.set(xlabel="rows", ylabel=label, xscale="log", yscale="log")
        axis.grid(alpha=0.3)
    axes[0].set_title(f"{N_FEATURES} features, {trees} trees x 31 leaves, {threads} threads", fontsize="medium")
    axes[0].legend()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=110)
    for rows, table in result.items():
        print(rows, {system: {key: round(value, 3) for key, value in row.items()} for system, row in table.items()})


if __name__ == "__main__":
    main()

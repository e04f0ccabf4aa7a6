#!/usr/bin/env python
"""Work on a Dask cluster beside this process: overhead of one worker, efficiency of two, and bytes for each tree.

Run: python scripts/bench_cluster.py [--rows 223531] [--trees 30] [--repeats 3] [--only training|features] [--quick]
     [--output FILE]
Workers are processes of one thread on this machine, and this process uses one thread, too. Overhead: one worker's time
over this process's. Efficiency: one worker's time over twice that of two workers. Training data are those of
bench_training.py; features are those of generated documents. lightgbm.dask and xgboost.dask train on the same
cluster and data where they are installed. The clusters are started, and kernels loaded, before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_common import arguments, machine, report, seconds
from bench_training import generate

import rerank
from rerank.cluster.training import ClusterBooster
from rerank.rankers.context import TrainingOptions

DEPTH = 200  # candidates of a query


def main() -> None:
    args: argparse.Namespace = arguments(__doc__, "--rows", "--trees", "--repeats", "--only")
    n_rows, trees = int(args.rows or (20_000 if args.quick else 223_531)), int(args.trees or (5 if args.quick else 30))
    repeats = int(args.repeats or (1 if args.quick else 3))
    figures: dict[str, Any] = {"machine": machine("numba", "distributed"), "rows": n_rows, "trees": trees}
    with rerank.Cluster("local:1") as one, rerank.Cluster("local:2") as two, tempfile.TemporaryDirectory() as folder:
        ratios: list[dict[str, Any]] = []
        if args.only != "features":
            ratios += training(one, two, n_rows, trees, repeats, figures)
        if args.only != "training":
            ratios += features(one, two, Path(folder), n_rows // DEPTH, repeats, figures)
    report(ratios, figures, args.output)


def compared(
    work: str, jobs: dict[str, Callable[[], Any]], repeats: int, figures: dict[str, Any], bar: float
) -> list[dict[str, Any]]:
    """Measure jobs called "local", "one" and "two"; return the lines of the table."""
    for name, job in list(jobs.items()):
        try:
            job()
        except Exception as error:  # of another package
            if not name.endswith("dask"):
                raise
            figures[f"{name} failed"] = " ".join(str(error).split())[:300]
            del jobs[name]
    times = seconds(jobs, repeats)
    figures[f"{work}: seconds"] = {name: round(value, 3) for name, value in times.items()}
    figures[f"{work}: overhead of one worker"] = times["one"] / times["local"]
    figures[f"{work}: efficiency of two workers"] = times["one"] / (2 * times["two"])
    return [
        line(work, "one worker against this process", times["one"], times["local"], 1 / bar),
        line(work, "two workers against twice one", 2 * times["two"], times["one"], 0.8),
        *(line(work, f"one worker: {name}", times["one"], times[name]) for name in times if name.endswith("dask")),
    ]


def line(work: str, against: str, ours: float, theirs: float, bar: float | None = None) -> dict[str, Any]:
    return {"work": work, "against": against, "ours_s": ours, "theirs_s": theirs, "ratio": theirs / ours, "bar": bar}


def training(
    one: rerank.Cluster, two: rerank.Cluster, n_rows: int, trees: int, repeats: int, figures: dict[str, Any]
) -> list[dict[str, Any]]:
    X, labels, groups = generate(n_rows, 1)
    qid = np.repeat(np.arange(len(groups)), groups)
    sent: list[int] = []
    close = ClusterBooster.close

    def noted(booster: ClusterBooster) -> None:
        close(booster)
        sent.append(booster.sent_bytes)

    ClusterBooster.close = noted  # type: ignore[method-assign]

    def train(cluster: rerank.Cluster | None) -> rerank.LambdaMART:
        model = rerank.LambdaMART(n_estimators=trees, n_jobs=1)
        return model.fit(X, labels, qid=qid, training=TrainingOptions(cluster=cluster))

    jobs = {"local": lambda: train(None), "one": lambda: train(one), "two": lambda: train(two)}
    jobs |= others(one, X, labels, groups, trees)
    same = json.dumps(train(None).to_dict()) == json.dumps(train(two).to_dict())
    if not same:
        raise SystemExit("the model of two workers is another than that of this process")
    figures["bytes that two workers send for each tree"] = sent[-1] / trees
    return compared(f"training, {n_rows} x {X.shape[1]}, {trees} trees", jobs, repeats, figures, 1.3)


def others(
    cluster: rerank.Cluster, X: np.ndarray, labels: np.ndarray, groups: np.ndarray, trees: int
) -> dict[str, Callable[[], Any]]:
    """Return the training of the other packages that are installed, on the same cluster."""
    jobs: dict[str, Callable[[], Any]] = {}
    try:
        import dask.array as da
        import lightgbm
    except ImportError:
        return jobs
    ends = [0, int(groups.sum())]
    rows = da.from_array(X, chunks=(ends[1], X.shape[1]))
    y = da.from_array(labels, chunks=ends[1])
    g = da.from_array(groups, chunks=len(groups))
    parameters = {"n_estimators": trees, "num_leaves": 31, "max_bin": 255, "n_jobs": 1, "verbosity": -1}

    def train() -> None:
        with cluster.client.as_current():
            lightgbm.DaskLGBMRanker(client=cluster.client, **parameters).fit(rows, y, group=g)

    jobs["lightgbm.dask"] = train
    try:
        import xgboost.dask as dxgb
    except ImportError:
        return jobs

    def train_xgboost() -> None:
        qid = da.from_array(np.repeat(np.arange(len(groups)), groups), chunks=ends[1])
        options = {"objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 31}
        with cluster.client.as_current():
            data = dxgb.DaskQuantileDMatrix(cluster.client, rows, y, qid=qid, max_bin=255)
            dxgb.train(
                cluster.client, {**options, "max_depth": 0, "eta": 0.1, "max_bin": 255, "nthread": 1}, data, trees
            )

    jobs["xgboost.dask"] = train_xgboost
    return jobs


def features(
    one: rerank.Cluster, two: rerank.Cluster, folder: Path, n_queries: int, repeats: int, figures: dict[str, Any]
) -> list[dict[str, Any]]:
    draw = random.Random(0)
    words = [f"w{number}" for number in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    documents = [
        {
            "id": f"d{number}",
            "title": " ".join(draw.choices(words, weights, k=8)),
            "body": " ".join(draw.choices(words, weights, k=120)),
        }
        for number in range(20_000)
    ]
    topics = {f"q{number}": " ".join(draw.choices(words, weights, k=4)) for number in range(n_queries)}
    rerank.Index.build(documents, folder / "index", vectors=False).close()
    with (
        rerank.Index.open(folder / "index", threads=1) as local,
        one.open(folder / "index", threads=1) as first,
        two.open(folder / "index", threads=1) as second,
    ):
        run = local.search(topics, k=DEPTH)
        opened = {"local": local, "one": first, "two": second}

        def extract(name: str) -> None:
            opened[name].write_features(folder / f"{name}.npz", run, topics)

        jobs = {name: (lambda name=name: extract(name)) for name in opened}
        lines = compared(f"features, {run.n_rows} pairs", jobs, repeats, figures, 1.15)
    if len({(folder / f"{name}.npz").read_bytes() for name in opened}) != 1:
        raise SystemExit("the features of the clusters are others than those of this process")
    return lines


if __name__ == "__main__":
    start = time.perf_counter()
    main()
    print(f"{time.perf_counter() - start:.0f} s")

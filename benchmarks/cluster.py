"""Work on a Dask cluster beside one process."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rerank
from benchmarks.data import generated, qid_of
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


@benchmark(
    data="generated, 223,531 x 136", peer="lightgbm.dask, xgboost.dask", needs=("distributed", "lightgbm", "xgboost")
)
def cluster_training(options: Options) -> Iterator[Row]:
    """Seconds of training on a cluster, and megabytes that two workers send for each tree; the models must be equal.

    The peers train on the cluster of one worker.
    """
    from rerank.cluster.training import ClusterBooster

    n_trees, sent, close = options.trees or options.pick(100, 3), list[int](), ClusterBooster.close
    X, labels, groups = generated(options.rows or options.pick(223_531, 10_000), 1)

    def train(cluster: rerank.Cluster | None) -> rerank.LambdaMART:
        model = rerank.LambdaMART(n_estimators=n_trees, n_jobs=1)
        return model.fit(X, labels, qid=qid_of(groups), training=rerank.TrainingOptions(cluster=cluster))

    def noted(booster: ClusterBooster) -> None:
        close(booster)
        sent.append(booster.sent_bytes)

    ClusterBooster.close = noted  # type: ignore[method-assign]
    with clusters() as systems:
        jobs: dict[str, Callable[[], Any]] = {name: partial(train, cluster) for name, cluster in systems.items()}
        models = [json.dumps(job().to_dict()) for job in jobs.values()]
        if len(set(models)) != 1:
            raise BenchmarkError("the model of a cluster is another than that of one process")
        yield {"MB that two workers send for each tree": sent[-1] / n_trees / 1e6}
        peers = {"lightgbm.dask": _lightgbm_job, "xgboost.dask": _xgboost_job}
        for name in options.chosen(tuple(peers)):
            jobs[name] = partial(peers[name], systems["one worker"].client, X, labels, groups, n_trees)
            jobs[name]()
        yield from _rows(f"{n_trees} trees", times_in_turns(jobs, options.n_repeats(3)))


def _lightgbm_job(client: Any, X: np.ndarray, labels: np.ndarray, groups: np.ndarray, n_trees: int) -> None:
    import dask.array as da
    import lightgbm

    arrays = [da.from_array(each, chunks=each.shape) for each in (X, labels, groups)]
    settings = {"n_estimators": n_trees, "num_leaves": 31, "max_bin": 255, "n_jobs": 1, "verbosity": -1}
    with client.as_current():
        lightgbm.DaskLGBMRanker(client=client, **settings).fit(arrays[0], arrays[1], group=arrays[2])


def _xgboost_job(client: Any, X: np.ndarray, labels: np.ndarray, groups: np.ndarray, n_trees: int) -> None:
    import dask.array as da
    import xgboost.dask as dxgb

    rows, y, qid = (da.from_array(each, chunks=each.shape) for each in (X, labels, qid_of(groups)))
    settings = {"objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 31}
    with client.as_current():
        data = dxgb.DaskQuantileDMatrix(client, rows, y, qid=qid, max_bin=255)
        dxgb.train(client, {**settings, "max_depth": 0, "eta": 0.1, "max_bin": 255, "nthread": 1}, data, n_trees)


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

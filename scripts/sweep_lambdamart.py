#!/usr/bin/env python
"""Whether other defaults of LambdaMART rank better: one parameter at a time, on all collections.

    scripts/sweep_lambdamart.py [--data FOLDER] [--threads N] [--output FILE]

nfcorpus: 500 training queries train, 100 stop, dev queries are measured. MQ2008, LightGBM's example (training part),
med, cranfield and cacm: five folds, three of which train, one stops, one is measured. The table holds nDCG@10 less that
of the defaults. The last column answers what a sweep on the collection at hand cannot: for each collection the setting
that is best on average on the others is taken, and its gain on the collection that had no part in the choice is given.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

import rerank
from rerank.files.rows import joined_parts
from rerank.files.svmlight import read_svmlight
from rerank.metrics.registry import parse_measure
from rerank.workflows.held_out import query_values

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
MEASURE = "nDCG@10"
FOLDS = 5
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "learning_rate=0.05": {"learning_rate": 0.05},
    "num_leaves=15": {"num_leaves": 15},
    "num_leaves=63": {"num_leaves": 63},
    "min_child_samples=5": {"min_child_samples": 5},
    "min_child_samples=50": {"min_child_samples": 50},
    "min_child_samples=100": {"min_child_samples": 100},
    "min_child_weight=1": {"min_child_weight": 1.0},
    "reg_lambda=1": {"reg_lambda": 1.0},
    "colsample_bytree=0.3": {"colsample_bytree": 0.3},
    "subsample=0.75": {"subsample": 0.75},
    "truncation_level=100": {"truncation_level": 100},
    "all of bench_quality": {
        "learning_rate": 0.05,
        "num_leaves": 15,
        "min_child_samples": 100,
        "colsample_bytree": 0.3,
    },
}
Fit = Callable[[rerank.RankingData, rerank.RankingData], rerank.LambdaMART]
Measured = Callable[[Fit], float]


def main() -> None:
    """Measure every setting on every collection."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    table: dict[str, list[float]] = {name: [] for name in SETTINGS}
    names = []
    for name, measured in collections(given.data):
        names.append(name)
        for setting, parameters in SETTINGS.items():
            table[setting].append(measured(fit_with({**parameters, "n_jobs": given.threads})))
        print(name, {setting: round(values[-1], 4) for setting, values in table.items()}, flush=True)
    gains = {setting: np.subtract(values, table["defaults"]) for setting, values in table.items()}
    rows = [[setting, *gain, gain.mean(), int((gain > 0).sum())] for setting, gain in gains.items()]
    print(tabulate(rows, headers=["setting", *names, "mean", "better"], floatfmt="+.4f"))
    for column, name in enumerate(names):
        others = {setting: np.delete(gain, column).mean() for setting, gain in gains.items()}
        chosen = max(others, key=lambda setting: others[setting])
        print(f"{name}: chosen on the others: {chosen}, gain here {gains[chosen][column]:+.4f}")
    if given.output:
        given.output.write_text(json.dumps({"collections": names, "values": table}, indent=1) + "\n")


def fit_with(parameters: dict[str, Any]) -> Fit:
    """Return a function that trains with some parameters and stops on other data."""
    return lambda train, stop: rerank.LambdaMART(**parameters).fit(train, eval_set=stop)


def collections(data: Path) -> Iterator[tuple[str, Measured]]:
    """Yield each collection's name, and a function that measures a way to train on it."""
    letor = data / "letor"
    parts = [read_svmlight(letor / "mq2008" / f"S{part}.txt") for part in range(1, FOLDS + 1)]
    yield "MQ2008", over_parts(parts)
    yield "LightGBM's", over_folds(read_svmlight(letor / "lightgbm_lambdarank" / "rank.train"))
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("med", "cacm", "cranfield"):
            folder = data / "collections" / name
            topics, qrels = rerank.read_topics(folder / "topics.tsv"), rerank.read_qrels(folder / "qrels.txt")
            topics = {query_id: text for query_id, text in topics.items() if query_id in qrels}
            with rerank.Index.build(folder / "corpus.jsonl", Path(scratch) / name, vectors=False) as index:
                yield name, over_folds(index.features(index.search(topics, k=100), topics, qrels))
        yield "nfcorpus", nfcorpus(data / "collections" / "nfcorpus", Path(scratch) / "nfcorpus")


def value(data: rerank.RankingData, scores: np.ndarray) -> np.ndarray:
    """Return the measure of each query."""
    return query_values(data, scores, parse_measure(MEASURE))


def over_folds(data: rerank.RankingData) -> Measured:
    """Return what measures over five random folds of the queries."""
    fold = np.random.default_rng(0).permutation(len(data)) % FOLDS
    return over_parts([data.select(np.flatnonzero(fold == part)) for part in range(FOLDS)])


def over_parts(parts: list[rerank.RankingData]) -> Measured:
    """Return what measures over five parts: three train, the fourth stops, the fifth is measured."""

    def measured(fit: Fit) -> float:
        values = []
        for first in range(FOLDS):
            train, stop, test = (
                joined_parts([parts[(first + part) % FOLDS] for part in range(3)]),
                *(parts[(first + part) % FOLDS] for part in (3, 4)),
            )
            values.append(value(test, fit(train, stop).predict(test)))
        return float(np.concatenate(values).mean())

    return measured


def nfcorpus(folder: Path, scratch: Path) -> Measured:
    """Return what measures on nfcorpus's dev queries."""
    topics = rerank.read_topics(folder / "topics.tsv")
    qrels = {side: rerank.read_qrels(folder / f"qrels.{side}.txt") for side in ("train", "dev")}
    chosen = np.random.default_rng(0).permutation(list(qrels["train"]))[:600].tolist()
    queries = {"train": {q: topics[q] for q in chosen}, "dev": {q: topics[q] for q in qrels["dev"]}}
    data = {}
    with rerank.Index.build(folder / "corpus.jsonl", scratch, vectors=False) as index:
        for side, depth in (("train", 100), ("dev", 1000)):
            data[side] = index.features(index.search(queries[side], k=depth), queries[side], qrels[side])
    train, stop = data["train"].select(np.arange(500)), data["train"].select(np.arange(500, len(data["train"])))
    return lambda fit: float(value(data["dev"], fit(train, stop).predict(data["dev"])).mean())


if __name__ == "__main__":
    main()

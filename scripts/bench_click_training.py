#!/usr/bin/env python
"""What training on clicks is worth: true nDCG@10 after simulated logs, beside LightGBM's and XGBoost's debiasing.

    scripts/bench_click_training.py [--collection mq2008|nfcorpus ...] [--seeds 5] [--data FOLDER] [--picture FILE]
    scripts/bench_click_training.py --warm-starts
    scripts/bench_click_training.py --times

Users follow the position-based model (theta of Hu et al., WWW 2019, to the power eta; attractiveness 0.1 to 1 by the
label); each query is asked 16 times, and results move by noise of one position. mq2008: the log's ranker is BM25
(feature 25), logs are of every second query, measures of the others. nfcorpus: BM25, 600 training queries, measured on
the test queries, from the first 100 documents; the size of the regression trees was chosen on dev queries. All models
have 100 trees of 15 leaves.

naive       LambdaMART on the lists, clicks as labels
labels      LambdaMART on `click_labels`, the default of `rerank train --clicks`
propensity, unbiased, additive   LambdaMART on the lists with position_bias
lightgbm    lambdarank on the lists with `position`; xgboost: rank:ndcg with lambdarank_unbiased
judged      LambdaMART on true labels of the same queries, all candidates

Share: (model - naive) / (judged - naive). --warm-starts: models of 1, 10 and 100 % of the lists that start from the
log's ranker, beside it. --times: processor seconds of training on 200,000 lists with each position_bias.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import rerank  # noqa: E402
from rerank.files.rows import joined_parts  # noqa: E402
from rerank.metrics.registry import parse_measure  # noqa: E402
from rerank.rankers.click_rows import ClickRows  # noqa: E402
from rerank.rankers.training import TrainingSet, Validation  # noqa: E402
from rerank.types import Qrels, RankingData, query_rows  # noqa: E402

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", ROOT.parent / "shared" / "data"))
ETAS, SHARES, MEASURE = (0.0, 0.5, 1.0, 2.0), (0.01, 0.1, 1.0), "nDCG@10"
TREES = {"n_estimators": 100, "num_leaves": 15, "min_child_samples": 30, "learning_rate": 0.05, "n_jobs": 1}
QUERIES = 600  # of nfcorpus


@dataclass(frozen=True)
class Collection:
    """Queries to log and to measure on, and the base of the log's ranker."""

    train: RankingData
    test: RankingData
    base: str

    def log(self, eta: float, seed: int) -> rerank.Clicks:
        """Return a log of simulated users."""
        run = self.train.run(self.train.column(self.base.removeprefix("feature:")))
        query = self.train.query_ids[query_rows(self.train.query_ptr)]
        qrels = Qrels.from_rows(query, self.train.doc_ids, self.train.labels.astype(np.int64))
        return rerank.simulate_clicks(run, qrels, rerank.Users(eta=eta), passes=16, spread=1.0, seed=seed)

    def measured(self, scores: np.ndarray) -> float:
        """Return the true mean of the measure on the queries to measure on."""
        rows = TrainingSet.of(self.test, np.nan_to_num(scores))
        return Validation(rows, parse_measure(MEASURE)).value(rows.start_scores)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collection", action="append", choices=["mq2008", "nfcorpus"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DEFAULT)
    parser.add_argument("--warm-starts", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--picture", type=Path, help="SVG of the curves of the last collection")
    given = parser.parse_args()
    logging.getLogger("rerank").setLevel(logging.ERROR)
    if given.times:
        print(times(mq2008(given.data)))
        return
    for name in given.collection or ["mq2008", "nfcorpus"]:
        collection = {"mq2008": mq2008, "nfcorpus": nfcorpus}[name](given.data)
        print(name, collection.train.summary(), f"log's ranker {logged(collection):.4f}", flush=True)
        if given.warm_starts:
            print(warm_starts(collection, given.seeds), flush=True)
            continue
        rows = methods(collection, given.seeds)
        print(tabulate(rows, ["eta", "method", MEASURE, "sd of seeds", "share"], floatfmt=".4f"), flush=True)
        if given.picture:
            draw(rows, name, given.picture)


def mq2008(folder: Path) -> Collection:
    """Return MQ2008's queries with a relevant document, every second one to log."""
    parts = [rerank.read_data(folder / "letor" / "mq2008" / f"S{number}.txt") for number in range(1, 6)]
    data = joined_parts(parts)
    data = data.select(np.flatnonzero(np.maximum.reduceat(data.labels, data.query_ptr[:-1]) > 0))
    chosen = np.isin(data.query_ids, np.unique(data.query_ids)[::2])
    return Collection(data.select(np.flatnonzero(chosen)), data.select(np.flatnonzero(~chosen)), "feature:25")


def nfcorpus(folder: Path) -> Collection:
    """Return training and test queries of nfcorpus, with the features of BM25's first 100."""
    folder = folder / "collections" / "nfcorpus"
    with tempfile.TemporaryDirectory() as temporary:
        index = rerank.Index.build(folder / "corpus.jsonl", Path(temporary) / "index")
        topics = rerank.read_topics(folder / "topics.tsv")
        parts = []
        for name in ("train", "test"):
            qrels = rerank.read_qrels(folder / f"qrels.{name}.txt")
            names = [query for query in topics if query in qrels]
            names = names[:: len(names) // QUERIES][:QUERIES] if name == "train" else names
            some = rerank.Topics({query: topics[query] for query in names})
            run = index.search(some, candidates="bm25", k=100)
            parts.append(index.features(run, some, qrels))
    base = next(name for name in parts[0].feature_names if name.startswith("bm25."))
    return Collection(*parts, f"feature:{base}")


def logged(collection: Collection) -> float:
    """Return the measure of the log's ranker."""
    return collection.measured(collection.test.column(collection.base.removeprefix("feature:")))


def draw(rows: list[list[Any]], name: str, path: Path) -> None:
    """Draw the measure of each method by eta."""
    from matplotlib.figure import Figure

    axes = Figure(figsize=(7.0, 4.0), layout="constrained").subplots()
    for method in ("judged", "labels", "additive", "propensity", "unbiased", "naive"):
        points = [(row[0], row[2]) for row in rows if row[1] == method]
        style = {"judged": "k--", "naive": "k:"}.get(method, "o-")
        axes.plot(*zip(*points, strict=True), style, label="labels (default)" if method == "labels" else method)
    axes.set(xlabel="eta: bias of the users", ylabel=MEASURE, title=f"{name}: models of clicks")
    axes.legend()
    axes.figure.savefig(path, metadata={"Date": None})


def methods(collection: Collection, seeds: int) -> list[list[Any]]:
    """Return the rows of methods by eta: mean over the seeds, and share of the distance from naive to judged."""
    train, test = collection.train, collection.test
    judged = collection.measured(rerank.LambdaMART(**TREES).fit(train).predict(test))
    on_lists: dict[str, Callable[[rerank.Clicks], np.ndarray]] = {
        bias: partial(_of_lists, collection, bias) for bias in ("ignored", "propensity", "unbiased", "additive")
    }
    named = {"naive": on_lists.pop("ignored"), "labels": partial(_of_labels, collection), **on_lists}
    named |= {"lightgbm": partial(_lightgbm, collection), "xgboost": partial(_xgboost, collection)}
    rows = []
    for eta in ETAS:
        logs = [collection.log(eta, seed) for seed in range(seeds)]
        figures = {name: [collection.measured(scores(log)) for log in logs] for name, scores in named.items()}
        naive = np.mean(figures["naive"])
        for name, values in figures.items():
            share = (np.mean(values) - naive) / (judged - naive)
            rows.append([eta, name, np.mean(values), np.std(values), f"{share:.0%}"])
        rows.append([eta, "judged", judged, 0.0, "100%"])
    return rows


def warm_starts(collection: Collection, seeds: int) -> str:
    """Return the table of shares of the log: models with and without the log's ranker as the base, less it."""
    rows, base = [], logged(collection)
    for share in SHARES:
        gains: dict[str, list[float]] = {"cold": [], "warm": []}
        for seed in range(seeds):
            clicks = collection.log(1.0, seed)
            lists = np.random.default_rng(seed).permutation(len(clicks.list_ptr) - 1)
            chosen = np.zeros(len(lists), dtype=bool)
            chosen[lists[: max(round(share * len(lists)), 1)]] = True
            some = clicks.select(np.repeat(chosen, np.diff(clicks.list_ptr)))
            for name, start in (("cold", None), ("warm", collection.base)):
                gains[name].append(collection.measured(_of_labels(collection, some, start)) - base)
        rows += [[f"{share:.0%}", name, np.mean(gains[name]), min(gains[name])] for name in gains]
    return tabulate(rows, ["share of the log", "model", "mean less the log's ranker", "worst seed"], floatfmt="+.4f")


def _of_labels(collection: Collection, clicks: rerank.Clicks, base: str | None = None) -> np.ndarray:
    labels = rerank.click_labels(rerank.estimate_clicks(clicks), collection.train)
    return rerank.LambdaMART(**TREES, base=base).fit(labels).predict(collection.test)


def _of_lists(collection: Collection, bias: str, clicks: rerank.Clicks) -> np.ndarray:
    return rerank.LambdaMART(**TREES, position_bias=bias).fit(collection.train, clicks=clicks).predict(collection.test)


def _lists(collection: Collection, clicks: rerank.Clicks) -> tuple[np.ndarray, ...]:
    """Return rows, clicks, positions and list sizes, each list as often as the log has it."""
    found = ClickRows.of(clicks, collection.train)
    sizes, counts = np.diff(found.list_ptr), found.counts.astype(np.int64)
    order = np.concatenate(
        [np.tile(np.arange(*found.list_ptr[number : number + 2]), count) for number, count in enumerate(counts)]
    )
    return found.rows[order], found.clicked[order], found.positions[order], np.repeat(sizes, counts)


def _lightgbm(collection: Collection, clicks: rerank.Clicks) -> np.ndarray:
    import lightgbm

    rows, clicked, positions, sizes = _lists(collection, clicks)
    data = lightgbm.Dataset(collection.train.X[rows], clicked, group=sizes, position=positions)
    settings = {"objective": "lambdarank", "num_leaves": 15, "learning_rate": 0.05, "min_data_in_leaf": 30}
    return lightgbm.train({**settings, "verbose": -1, "num_threads": 1}, data, 100).predict(collection.test.X)


def _xgboost(collection: Collection, clicks: rerank.Clicks) -> np.ndarray:
    import xgboost

    rows, clicked, _, sizes = _lists(collection, clicks)
    data = xgboost.DMatrix(collection.train.X[rows], clicked)
    data.set_group(sizes)
    settings = {"objective": "rank:ndcg", "lambdarank_unbiased": True, "max_leaves": 15, "max_depth": 0, "eta": 0.05}
    settings |= {"grow_policy": "lossguide", "tree_method": "hist", "lambdarank_pair_method": "topk", "nthread": 1}
    return xgboost.train(settings, data, 100).predict(xgboost.DMatrix(collection.test.X))


def times(collection: Collection) -> str:
    """Return the table of training times: medians of five in turns, beside that without a bias."""
    train = replace(collection.train, labels=collection.train.labels)
    run = train.run(train.column("25"))
    query = train.query_ids[query_rows(train.query_ptr)]
    qrels = Qrels.from_rows(query, train.doc_ids, train.labels.astype(np.int64))
    clicks = rerank.simulate_clicks(run, qrels, passes=200_000 // len(train), spread=1.0)
    taken: dict[str, list[float]] = {bias: [] for bias in ("ignored", "propensity", "unbiased", "additive")}
    for bias in taken:
        rerank.LambdaMART(n_estimators=2, n_jobs=1, position_bias=bias).fit(train, clicks=clicks)
    for _ in range(5):
        for bias, seconds in taken.items():
            start = time.process_time()
            rerank.LambdaMART(**TREES, position_bias=bias).fit(train, clicks=clicks)
            seconds.append(time.process_time() - start)
    plain = np.median(taken["ignored"])
    rows = [[bias, np.median(seconds), np.median(seconds) / plain] for bias, seconds in taken.items()]
    return f"{clicks.summary()}\n" + tabulate(rows, ["position_bias", "seconds", "beside ignored"], floatfmt=".2f")


if __name__ == "__main__":
    main()

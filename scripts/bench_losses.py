#!/usr/bin/env python
"""Losses of boosted trees, and random splits: nDCG@10 by cross-validation on small collections and MQ2008.

Run: python scripts/bench_losses.py [--collection NAME ...] [--dart] [--seeds 5] [--quick] [--output FILE]
The queries are assigned to five folds anew for each seed, which is the seed of the loss and the trees, too; the trees
(150 of 15 leaves) are the same for all losses, were not tuned, and do not stop early. The rows of the collections are
BM25's first 100 documents. A query's value is its mean over the seeds; the interval is that of the mean difference from
lambdarank, from 10,000 bootstrap samples of the queries. `--dart` measures LightGBM's dropout of trees (DART), and half
its learning rate, in their place, with LightGBM's other defaults, as the difference from LightGBM without either.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from bench_common import machine
from bench_judged import SHARED, collection
from tabulate import tabulate

import rerank
from rerank.metrics.registry import parse_measure
from rerank.metrics.structures import RankedLists
from rerank.rankers.boosted import BoostedTrees
from rerank.types.ordering import trec_order


class LightGBM:
    """LightGBM's ranker, with the methods that are used here."""

    def __init__(self, **parameters: Any) -> None:
        import lightgbm

        self._ranker = lightgbm.LGBMRanker(verbose=-1, **parameters)

    def fit(self, data: rerank.RankingData) -> Self:
        """Learn from labelled rows."""
        self._ranker.fit(data.X, data.labels, group=np.diff(data.query_ptr))
        return self

    def predict(self, data: rerank.RankingData) -> np.ndarray:
        """Return the score of each row."""
        return np.asarray(self._ranker.predict(data.X))


COLLECTIONS = ("mq2008", "med", "cacm", "cranfield", "nfcorpus")
N_FOLDS, N_SAMPLES = 5, 10_000
LOSSES: Mapping[str, Callable[..., BoostedTrees | LightGBM]] = {
    "lambdarank": rerank.LambdaMART,
    "lambdaloss++": lambda **given: rerank.LambdaMART(delta="lambdaloss++", **given),
    "lambdagap": lambda **given: rerank.LambdaMART(delta="lambdagap", **given),
    "xe-ndcg": lambda **given: rerank.MART(objective="xe-ndcg", **given),
    "random splits": lambda **given: rerank.LambdaMART(extra_trees=True, **given),
    "yeti": lambda **given: rerank.MART(objective="yeti", **given),
}
DART: Mapping[str, Callable[..., BoostedTrees | LightGBM]] = {
    "lightgbm": LightGBM,
    "lightgbm dart": lambda **given: LightGBM(boosting_type="dart", **given),
    "lightgbm, smaller steps": lambda **given: LightGBM(learning_rate=0.05, **given),
}


def data_of(name: str) -> rerank.RankingData:
    """Return the judged rows of a collection."""
    if name == "mq2008":
        return rerank.read_data([SHARED / "letor" / name / f"S{number}.txt" for number in range(1, 6)])
    part = "qrels.dev.txt" if name == "nfcorpus" else "qrels.txt"
    return collection(name, {"all": part})["all"]


def values(data: rerank.RankingData, scores: np.ndarray) -> np.ndarray:
    """Return nDCG@10 of each query, ties as trec_eval breaks them."""
    labels = data.labels[trec_order(data.query_ptr, scores, data.doc_ids)]
    return parse_measure("nDCG@10").scores(RankedLists(labels, data.query_ptr, *data.ideal()))


def held_out(
    data: rerank.RankingData, ranker: Callable[..., BoostedTrees | LightGBM], seed: int, n_trees: int
) -> np.ndarray:
    """Return nDCG@10 of each query by trees of the other folds."""
    fold, out = np.random.default_rng(seed).permutation(len(data)) % N_FOLDS, np.empty(len(data))
    for number in range(N_FOLDS):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        model = ranker(n_estimators=n_trees, num_leaves=15, random_state=seed, n_jobs=1).fit(data.select(train))
        part = data.select(test)
        out[test] = values(part, model.predict(part))
    return out


def main() -> None:
    """Print a row for each collection and loss."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collection", action="append", choices=COLLECTIONS)
    parser.add_argument("--dart", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one seed, 5 trees: for no figure that counts")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    seeds, n_trees = (1, 5) if given.quick else (given.seeds, 150)
    about, rows = machine("numpy", "numba"), []
    for name in given.collection or COLLECTIONS[:-1]:
        data = data_of(name)
        baseline = np.empty(0)
        for loss, ranker in (DART if given.dart else LOSSES).items():
            means = np.mean([held_out(data, ranker, seed, n_trees) for seed in range(seeds)], axis=0)
            baseline = baseline if len(baseline) else means
            drawn = np.random.default_rng(0).integers(len(data), size=(N_SAMPLES, len(data)))
            low, high = np.quantile((means - baseline)[drawn].mean(axis=1), (0.025, 0.975))
            rows.append(
                {
                    "data": name,
                    "queries": len(data),
                    "loss": loss,
                    "nDCG@10": float(means.mean()),
                    "difference": float((means - baseline).mean()),
                    "from": float(low),
                    "to": float(high),
                }
            )
            print(*rows[-1].values(), sep="  ", flush=True)
    print(tabulate(rows, headers="keys", tablefmt="github", floatfmt=".4f"))
    if given.output:
        given.output.write_text(json.dumps({"machine": about, "losses": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

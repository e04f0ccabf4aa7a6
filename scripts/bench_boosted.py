#!/usr/bin/env python
"""nDCG@10 of every ranker of boosted trees on fold 1 of LETOR 4.0's MQ2008, and of the best single feature.

Run: python scripts/bench_boosted.py [--data FOLDER] [--threads N]
Trained on S1 to S3; learning rate, leaves and the number of trees are chosen on S4; S5 is measured once, with what was
chosen. The single feature (either way round) is chosen on S1 to S3. nDCG@10 has gain = label; a query without a
relevant document has 0.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from rerank.files.svmlight import read_svmlight
from rerank.metrics.registry import parse_measure
from rerank.metrics.structures import RankedLists
from rerank.rankers.ranker import Ranker, ranker_class
from rerank.types import Floats, RankingData, pointers
from rerank.types.ordering import trec_order

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
OBJECTIVES = ("least-squares", "logistic", "balanced-logistic", "ranknet", "hinge", "plackett-luce")
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "LambdaMART": ("lambdamart", {}),
    **{f"MART, {objective}": ("mart", {"objective": objective}) for objective in OBJECTIVES},
    "GBRank, this round's pairs": ("gbrank", {}),
    "GBRank, pairs kept": ("gbrank", {"keep_pairs": True}),
    "LogistRank": ("logistrank", {}),
}
LEAVES, RATES = (4, 8, 16), (0.05, 0.1)
GBRANK_RATES = (0.5, 1.0)
COMMON = {"n_estimators": 500, "early_stopping_rounds": 50}


def joined(parts: list[RankingData]) -> RankingData:
    """Return parts as one; no query is in two of them."""
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("doc_ids", "X", "labels")}
    query_ids = np.concatenate([part.query_ids for part in parts])
    counts = np.concatenate([np.diff(part.query_ptr) for part in parts])
    return RankingData(query_ids, pointers(counts), **columns, feature_names=parts[0].feature_names)


def ndcg(data: RankingData, scores: Floats) -> float:
    """Return the mean nDCG@10, ties as trec_eval breaks them."""
    labels = data.labels[trec_order(data.query_ptr, scores, data.doc_ids)]
    return float(parse_measure("nDCG@10").scores(RankedLists(labels, data.query_ptr, *data.ideal())).mean())


def best_feature(train: RankingData) -> tuple[int, float]:
    """Return the column that ranks the training queries best, and its sign."""
    ways = product(range(train.n_features), (1.0, -1.0))
    return max(ways, key=lambda way: ndcg(train, way[1] * train.X[:, way[0]].astype(np.float64)))


def chosen(kind: str, parameters: dict[str, Any], train: RankingData, valid: RankingData, threads: int) -> Ranker:
    """Return the model with the best validation measure over the grid."""
    rates = GBRANK_RATES if kind == "gbrank" else RATES
    grid = [{"num_leaves": leaves, "learning_rate": rate} for leaves, rate in product(LEAVES, rates)]
    models = [
        ranker_class(kind)(**COMMON, **parameters, **point, n_jobs=threads).fit(train, eval_set=valid) for point in grid
    ]
    return max(models, key=lambda model: max(model.evals_result_["valid"]["nDCG@10"]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT / "letor" / "mq2008")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    parts = [read_svmlight(options.data / f"S{part}.txt") for part in range(1, 6)]
    train, valid, test = joined(parts[:3]), parts[3], parts[4]
    column, sign = best_feature(train)
    print(f"best feature: {column + 1}, test nDCG@10 {ndcg(test, sign * test.X[:, column].astype(np.float64)):.4f}")
    print("system                        test   valid  trees  leaves  rate  seconds of the grid")
    for system, (kind, parameters) in SYSTEMS.items():
        start = time.perf_counter()
        model = chosen(kind, parameters, train, valid, options.threads)
        seconds, best = time.perf_counter() - start, max(model.evals_result_["valid"]["nDCG@10"])
        settings = f"{model.best_iteration_:5d}  {model.num_leaves:6d}  {model.learning_rate:4.2f}"
        print(f"{system:28s}{ndcg(test, model.predict(test)):.4f}  {best:.4f}  {settings}  {seconds:7.1f}", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""nDCG@10 on the five folds of LETOR 4.0's MQ2008: LambdaMART and LightGBM, same hyper-parameters, same data.

Run: python scripts/bench_mq2008.py [--data FOLDER] [--trees 100] [--output FILE]
Each fold trains on three parts; the fourth is left alone (no early stopping), the fifth is measured. nDCG@10 has
gain = label; a query without a relevant document has 0.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from pathlib import Path

import lightgbm
import numpy as np

from rerank.files.svmlight import read_svmlight
from rerank.metrics.registry import parse_measure
from rerank.metrics.structures import RankedLists
from rerank.rankers.lambdamart import LambdaMART
from rerank.types import RankingData
from rerank.types.ordering import trec_order

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SHARED = {"num_leaves": 31, "learning_rate": 0.1, "min_child_samples": 20, "min_child_weight": 1e-3, "max_bin": 255}


def joined(parts: list[RankingData]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, labels and group sizes of some parts; no query is in two of them."""
    X = np.concatenate([part.X for part in parts])
    labels = np.concatenate([part.labels for part in parts])
    return X, labels, np.concatenate([np.diff(part.query_ptr) for part in parts])


def ndcg(test: RankingData, scores: np.ndarray) -> float:
    """Return the mean nDCG@10, ties as trec_eval breaks them."""
    labels = test.labels[trec_order(test.query_ptr, scores, test.doc_ids)]
    ideal_labels, ideal_ptr = test.ideal()
    return float(parse_measure("nDCG@10").scores(RankedLists(labels, test.query_ptr, ideal_labels, ideal_ptr)).mean())


def fold(parts: list[RankingData], number: int, trees: int) -> dict[str, float]:
    """Train both on one fold's training parts; return their nDCG@10 on its test part, and the seconds."""
    X, y, groups = joined([parts[(number + part) % 5] for part in range(3)])
    test = parts[(number + 4) % 5]
    qid = np.repeat(np.arange(len(groups)), groups)
    start = time.perf_counter()
    ours = LambdaMART(n_estimators=trees, **SHARED).fit(X, y, qid=qid)
    middle = time.perf_counter()
    theirs = lightgbm.LGBMRanker(n_estimators=trees, label_gain=[0, 1, 2], verbosity=-1, **SHARED)
    theirs.fit(X, y, group=groups)
    end = time.perf_counter()
    return {
        "LambdaMART": ndcg(test, ours.predict(test.X)),
        "LightGBM": ndcg(test, theirs.predict(test.X)),
        "LambdaMART seconds": middle - start,
        "LightGBM seconds": end - middle,
    }


def main() -> None:
    """Run the five folds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT / "letor" / "mq2008")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    parts = [read_svmlight(options.data / f"S{part}.txt") for part in range(1, 6)]
    fold(parts, 0, 2)  # compiles, where that was not done yet
    rows = [fold(parts, number, options.trees) for number in range(5)]
    print(f"mq2008, nDCG@10, {options.trees} trees, LightGBM {lightgbm.__version__}, {platform.platform()}")
    print("fold  LambdaMART  LightGBM")
    for number, row in enumerate(rows, 1):
        print(f"{number:4d}  {row['LambdaMART']:10.4f}  {row['LightGBM']:8.4f}")
    means = {name: statistics.mean(row[name] for row in rows) for name in rows[0]}
    ours, theirs = means["LambdaMART"], means["LightGBM"]
    print(f"mean  {ours:10.4f}  {theirs:8.4f}   difference {ours - theirs:+.4f}")
    print(f"seconds a fold  {means['LambdaMART seconds']:.2f}  {means['LightGBM seconds']:.2f}")
    if options.output:
        options.output.write_text(json.dumps({"folds": rows, "mean": means}, indent=1) + "\n")


if __name__ == "__main__":
    main()

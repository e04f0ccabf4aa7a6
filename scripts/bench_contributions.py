#!/usr/bin/env python
"""Contributions of features to scores, beside LightGBM's `pred_contrib` for the same trees, one thread each.

Run: python scripts/bench_contributions.py [--rows 1000] [--trees 200] [--repeats 5]
LightGBM trains; its model is imported, so that both explain the same trees. The largest relative difference is printed
before the times: seconds of `Booster.predict(X, pred_contrib=True, num_threads=1)` and of
`model.contributions(X)` with n_jobs=1, in alternation.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np

import rerank

N_FEATURES, QUERY_ROWS = 136, 100


def main() -> None:
    """Train, compare and time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, N_FEATURES)).astype(np.float32)
    X[random.random(X.shape) < 0.05] = np.nan
    known = np.nan_to_num(X)
    labels = (known[:, 0] + known[:, 1] * known[:, 2] > 0.5).astype(int)
    data = lightgbm.Dataset(X, labels, group=[QUERY_ROWS] * (len(X) // QUERY_ROWS))
    settings = {"objective": "lambdarank", "num_leaves": 31, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings, data, num_boost_round=given.trees)
    model, rows = rerank.import_model(booster).set_params(n_jobs=1), X[: given.rows]

    def theirs() -> Any:
        return booster.predict(rows, pred_contrib=True, num_threads=1)

    def ours() -> Any:
        return model.contributions(rows)

    difference = np.abs(ours() - theirs()) / np.maximum(np.abs(theirs()), 1e-300)
    print(f"{given.rows} rows x {N_FEATURES} features x {given.trees} trees of 31 leaves, one thread each")
    print(f"largest relative difference {difference.max():.1e}")
    times = [(seconds(ours), seconds(theirs)) for _ in range(given.repeats)]
    our_median, their_median = (statistics.median(column) for column in zip(*times, strict=True))
    ratios = sorted(their / our for our, their in times)
    print(
        f"rerank {our_median:.4f} s, LightGBM {their_median:.4f} s: {statistics.median(ratios):.1f} times "
        f"({ratios[0]:.1f} to {ratios[-1]:.1f})"
    )


def seconds(work: Callable[[], Any]) -> float:
    """Return the time of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()

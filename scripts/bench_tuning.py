#!/usr/bin/env python
"""nDCG@10 of LambdaMART with its defaults and with tuned parameters, on the five folds of LETOR 4.0's MQ2008.

Run: python scripts/bench_tuning.py [--data FOLDER] [--settings 20] [--output FILE]
Each fold trains on three parts, the fourth ends the trainings and compares the settings, the fifth is measured: no
choice sees it. nDCG@10 has gain = label; a query without a relevant document has 0.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from rerank.evaluation.significance import bootstrap_intervals
from rerank.files.rows import joined_parts
from rerank.files.svmlight import read_svmlight
from rerank.metrics.registry import parse_measure
from rerank.rankers.lambdamart import LambdaMART
from rerank.types import RankingData
from rerank.workflows.held_out import query_values
from rerank.workflows.tuning import Tuning

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
MEASURE = "nDCG@10"


def fold(parts: list[RankingData], number: int, n_settings: int) -> tuple[np.ndarray, np.ndarray, dict[str, object]]:
    """Return the measure of each held-out query by default and tuned, and what the search did."""
    train, stop = joined_parts([parts[(number + part) % 5] for part in range(3)]), parts[(number + 3) % 5]
    test, measure = parts[(number + 4) % 5], parse_measure(MEASURE)
    start = time.perf_counter()
    tuned = Tuning(n_settings).search(LambdaMART(metric=MEASURE), train, stop)
    seconds = time.perf_counter() - start
    values = [
        query_values(test, LambdaMART(metric=MEASURE, **given).fit(train, eval_set=stop).predict(test), measure)
        for given in ({}, tuned.parameters)
    ]
    about = {
        "chosen": dict(tuned.parameters),
        "given up": sum(each.value is None for each in tuned.tries),
        "seconds": seconds,
        "importances": dict(tuned.importances),
    }
    return values[0], values[1], about


def main() -> None:
    """Run the five folds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT / "letor" / "mq2008")
    parser.add_argument("--settings", type=int, default=20)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    parts = [read_svmlight(options.data / f"S{part}.txt") for part in range(1, 6)]
    print(f"mq2008, {MEASURE}, {options.settings} settings a fold\nfold  defaults   tuned  given up  seconds  chosen")
    results = []
    for number in range(5):
        defaults, tuned, about = fold(parts, number, options.settings)
        results.append((defaults, tuned, about))
        print(
            f"{number + 1:4d}  {defaults.mean():8.4f}  {tuned.mean():6.4f}  {about['given up']:8d}  "
            f"{about['seconds']:7.0f}  {about['chosen']}",
            flush=True,
        )
    means = [float(np.mean([result[column].mean() for result in results])) for column in (0, 1)]
    gains = np.concatenate([tuned - defaults for defaults, tuned, _ in results])
    (low,), (high,) = bootstrap_intervals(gains[:, None])
    print(f"mean  {means[0]:8.4f}  {means[1]:6.4f}  difference {gains.mean():+.4f} [{low:+.4f}, {high:+.4f}]")
    if options.output is not None:
        figures = {"means": means, "difference": [float(gains.mean()), float(low), float(high)]}
        options.output.write_text(json.dumps({**figures, "folds": [about for _, _, about in results]}, indent=1) + "\n")


if __name__ == "__main__":
    main()

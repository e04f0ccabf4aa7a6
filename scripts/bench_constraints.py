#!/usr/bin/env python
"""What the directions that features declare are worth with few judged queries: monotone_constraints="features".

    scripts/bench_constraints.py [--draws 5] [--data FOLDER]

nfcorpus, the first 100 documents of BM25: LambdaMART of n training queries, drawn --draws times, with and without the
constraints; mean nDCG@10 of the test queries, the mean difference, and in how many draws it is above 0.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import numpy as np
from bench_click_training import DEFAULT, nfcorpus
from tabulate import tabulate

import rerank

NUMBERS = (10, 20, 50, 100, 300)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DEFAULT)
    given = parser.parse_args()
    logging.getLogger("rerank").setLevel(logging.ERROR)
    collection, rows = nfcorpus(given.data), []
    for number in NUMBERS:
        figures = []
        for seed in range(given.draws):
            drawn = np.random.default_rng(seed).choice(len(collection.train), number, replace=False)
            some = collection.train.select(np.sort(drawn))
            models = [rerank.LambdaMART(monotone_constraints=each, n_jobs=1).fit(some) for each in (None, "features")]
            figures.append([collection.measured(model.predict(collection.test)) for model in models])
        free, bound = np.transpose(figures)
        rows.append([number, free.mean(), bound.mean(), (bound - free).mean(), f"{(bound > free).sum()}/{len(free)}"])
    print(tabulate(rows, ["queries", "free", "monotone", "difference", "better"], floatfmt=".4f"))


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""Adapt a LightGBM model to new queries: its own nDCG@10 (base), from nothing (cold), and adapted, by default settings.

Run: python scripts/bench_adaptation.py [--quick] [--studies MQ2008,nfcorpus,cranfield] [--output FILE]
Each study has five draws; base, new queries and test queries have none in common:

    MQ2008     the folds of LETOR 4.0: the base learned two parts, the new queries are of two others, the fifth is the
               test
    nfcorpus   base, 500 training queries; new queries from the other training queries, tested on the test part
    cranfield  base, 500 training queries of nfcorpus: another collection and other topics. New queries from a random
               two thirds of cranfield's, tested on the last third

The base is an LGBMRanker of 100 trees with 15 leaves, read by `rerank.import_model`. Nothing stops a training early.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import pandas as pd
from bench_common import arguments, machine, report
from bench_judged import SHARED, collection, qrels_of
from tabulate import tabulate

import rerank
from rerank.evaluation.evaluate import evaluate
from rerank.rankers.ranker import Ranker
from rerank.types import Qrels, RankingData

METRIC = "nDCG@10"
DRAWS, OLD, PARTS = 5, 500, 5
PARTS_OF = (0, 1), (2, 3), (4,)  # base, new queries, test
LIGHTGBM = {"n_estimators": 100, "num_leaves": 15, "label_gain": [0, 1, 2, 3, 4], "verbosity": -1}
SIZES = {"MQ2008": (50, 300), "nfcorpus": (50, 200), "cranfield": (50, 150)}  # new queries


class Draw(NamedTuple):
    """Queries of the base, new queries in random order, and test queries."""

    old: RankingData
    new: RankingData
    test: RankingData


def draws(study: str, n_draws: int) -> Iterator[Draw]:
    """Yield the draws of a study."""
    for number in range(n_draws):
        random = np.random.default_rng(number)
        if study == "MQ2008":
            data, parts = _mq2008()
            of = [np.flatnonzero(np.isin(parts, [(number + part) % PARTS for part in some])) for some in PARTS_OF]
            yield Draw(data.select(of[0]), data.select(random.permutation(of[1])), data.select(of[2]))
            continue
        train, test = (_nfcorpus()[part] for part in ("train", "test"))
        dealt = random.permutation(len(train))
        old, new = train.select(np.sort(dealt[:OLD])), train.select(dealt[OLD:])
        if study == "cranfield":
            other = _cranfield()
            dealt = random.permutation(len(other))
            new, test = (other.select(some) for some in np.split(dealt, [2 * len(other) // 3]))
        yield Draw(old, new, test)


@cache
def _mq2008() -> tuple[RankingData, np.ndarray]:
    """Return all queries, and the part of each, from 0."""
    folder = SHARED / "letor" / "mq2008"
    each = [rerank.read_data(folder / f"S{part + 1}.txt") for part in range(PARTS)]
    names = {query_id: part for part, data in enumerate(each) for query_id in data}
    data = rerank.RankingData.from_frame(pd.concat([part.to_frame() for part in each], ignore_index=True))
    return data, np.array([names[query_id] for query_id in data])


@cache
def _nfcorpus() -> dict[str, RankingData]:
    return collection("nfcorpus", {part: f"qrels.{part}.txt" for part in ("train", "test")})


@cache
def _cranfield() -> RankingData:
    return collection("cranfield", {"all": "qrels.txt"})["all"]


def lightgbm_model(data: RankingData) -> Ranker:
    """Train LightGBM's ranker on some queries and import it."""
    theirs = lightgbm.LGBMRanker(**LIGHTGBM)
    theirs.fit(data.X, data.labels, group=np.diff(data.query_ptr))
    return rerank.import_model(theirs, feature_names=list(data.feature_names))


def figures(study: str, draw: Draw, sizes: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Yield a line for each number of new queries."""
    base, qrels = lightgbm_model(draw.old), qrels_of(draw.test)
    of_base = mean(qrels, base.rank(draw.test))
    for size in sizes:
        new = draw.new.select(np.arange(min(size, len(draw.new))))
        line: dict[str, Any] = {"study": study, "new queries": len(new), "base": of_base}
        for name, start in (("cold", None), ("adapted", base)):
            model = rerank.LambdaMART(base=start).fit(new)
            line[name] = mean(qrels, model.rank(draw.test))
        yield line


def mean(qrels: Qrels, run: rerank.Run) -> float:
    """Return the mean over all test queries."""
    return evaluate(qrels, run, [METRIC], complete=True)[METRIC]


def summary(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the means over the draws for each study and number of queries, and the least gain over the base."""
    results = []
    for study, size in dict.fromkeys((line["study"], line["new queries"]) for line in lines):
        drawn = [line for line in lines if (line["study"], line["new queries"]) == (study, size)]
        means = {name: np.mean([line[name] for line in drawn]) for name in ("base", "cold", "adapted")}
        gains = [line["adapted"] - line["base"] for line in drawn]
        results.append({"study": study, "new queries": size, **means, "gain": np.mean(gains), "least": min(gains)})
    return results


def main() -> None:
    """Run the studies; print a table."""
    options = arguments(__doc__.splitlines()[0], "--studies")
    about = machine("numpy", "numba", "lightgbm")
    begin, lines = time.perf_counter(), []
    for study in (options.studies or ",".join(SIZES)).split(","):
        for draw in draws(study, 1 if options.quick else DRAWS):
            for line in figures(study, draw, SIZES[study][: 1 if options.quick else None]):
                lines.append(line)
                print("  " + ", ".join(f"{name} {value}" for name, value in line.items()), flush=True)
    print()
    print(tabulate(summary(lines), headers="keys", tablefmt="github", floatfmt=".4f"))
    about = {"machine": about, "seconds in all": time.perf_counter() - begin}
    report([], about, None)
    if options.output:
        options.output.write_text(json.dumps({**about, "draws": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()

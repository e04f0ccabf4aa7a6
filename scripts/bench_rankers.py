#!/usr/bin/env python
"""Every registered ranker on the five folds of MQ2008 and on nfcorpus, cold and warm-started from BM25.

Run: python scripts/bench_rankers.py [--quick] [--rankers NAME,NAME] [--output FILE]
The second pair of tables trains LambdaMART for each of several measures and scores it on each of them. `--quick` runs
one fold and few iterations, for no figure that counts. Settings (`SETTINGS`) were fixed beforehand; training stops on
the validation part; the test part is read once. The floor is the best single feature, its sign included, chosen on the
training and validation parts. nfcorpus: BM25's first 100 documents; 1,000 of the 2,590 training topics, drawn by seed.
"""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from bench_common import arguments, machine, report
from bench_judged import SHARED, collection, qrels_of
from tabulate import tabulate

from rerank.evaluation.evaluate import evaluate
from rerank.files.rows import joined_parts
from rerank.files.svmlight import read_svmlight
from rerank.rankers.ranker import known_rankers, ranker_class
from rerank.types import Qrels, RankingData

MEASURES = ("nDCG@10", "AP", "RR")
TRAINED_FOR = ("nDCG@10", "AP", "RR", "ERR@20", "P@10")
SETTINGS = {
    "n_estimators": 200,
    "early_stopping_rounds": 30,
    "n_epochs": 20,
    "max_iter": 200,
    "members": "2*lambdamart(subsample=0.5, n_estimators=200, early_stopping_rounds=30), lambdarank(n_epochs=20), "
    "logisticregression",
}
QUICK = {
    "n_estimators": 3,
    "n_epochs": 1,
    "max_iter": 5,
    "members": "2*lambdamart(n_estimators=3, subsample=0.5), lambdamart(n_estimators=2)",
}
TRAINING_TOPICS = 1000


class Split(NamedTuple):
    """One split of a data set; `bm25` is the base of a warm start."""

    train: RankingData
    valid: RankingData
    test: RankingData
    qrels: Qrels
    bm25: str


def mq2008(quick: bool) -> list[Split]:
    """Return LETOR's folds: three parts train, the fourth stops, the fifth is measured; feature 25 is BM25."""
    parts = [read_svmlight(SHARED / "letor" / "mq2008" / f"S{part}.txt") for part in range(1, 6)]
    splits = []
    for number in range(1 if quick else 5):
        train = joined_parts([parts[(number + part) % 5] for part in range(3)])
        test = parts[(number + 4) % 5]
        splits.append(Split(train, parts[(number + 3) % 5], test, qrels_of(test), "feature:25"))
    return splits


def nfcorpus(quick: bool) -> list[Split]:
    """Return the collection's own split."""
    data = collection("nfcorpus", {part: f"qrels.{part}.txt" for part in ("train", "dev", "test")})
    n_topics = 100 if quick else TRAINING_TOPICS
    drawn = np.sort(np.random.default_rng(0).permutation(len(data["train"]))[:n_topics])
    return [Split(data["train"].select(drawn), data["dev"], data["test"], qrels_of(data["test"]), "run")]


def values(split: Split, scores: np.ndarray, measures: Sequence[str]) -> dict[str, float]:
    """Return the means on the test part, over all its queries."""
    result = evaluate(split.qrels, split.test.run(scores), measures, complete=True)
    return {measure: result[measure] for measure in measures}


def best_feature(split: Split, metric: str) -> tuple[str, int]:
    """Return the feature, and its sign, that ranks the training and validation parts best; missing counts as least."""
    results: dict[tuple[str, int], float] = {}
    for part in (split.train, split.valid):
        qrels = qrels_of(part)
        for name in part.feature_names:
            for sign in (1, -1):
                run = part.run(signed(part, name, sign))
                results[name, sign] = (
                    results.get((name, sign), 0.0) + len(part) * evaluate(qrels, run, [metric])[metric]
                )
    return max(results, key=lambda key: (results[key], key))


def signed(data: RankingData, name: str, sign: int) -> np.ndarray:
    """Return a feature as scores."""
    column = sign * data.column(name)
    return np.where(np.isnan(column), np.nanmin(column, initial=0.0) - 1.0, column)


def settings(name: str, quick: bool) -> dict[str, Any]:
    """Return the settings that a ranker has a parameter for."""
    known = inspect.signature(ranker_class(name)).parameters
    parameters = {**SETTINGS, **QUICK} if quick else SETTINGS
    return {key: value for key, value in parameters.items() if key in known}


def systems(split: Split, names: Sequence[str], quick: bool) -> Iterator[tuple[str, str, np.ndarray, float]]:
    """Yield name, start, test scores and seconds of training of every system."""
    name, sign = best_feature(split, "nDCG@10")
    yield "best single feature", "", signed(split.test, name, sign), 0.0
    bm25 = split.test.base_scores if split.bm25 == "run" else split.test.column(split.bm25.partition(":")[2])
    yield "BM25", "", bm25, 0.0
    for ranker in names:
        for start, base in (("cold", None), ("BM25", split.bm25)):
            begin = time.perf_counter()
            model = ranker_class(ranker)(metric="nDCG@10", base=base, **settings(ranker, quick))
            model.fit(split.train, eval_set=split.valid)
            seconds = time.perf_counter() - begin
            yield ranker, start, model.predict(split.test), seconds
            print(f"  {ranker} {start}: {seconds:.1f} s, {model.best_iteration_} iterations", flush=True)


def compare(splits: Sequence[Split], names: Sequence[str], quick: bool) -> list[dict[str, Any]]:
    """Return one line for every system: means over the splits."""
    results: dict[tuple[str, str], list[dict[str, float]]] = {}
    for split in splits:
        for name, start, scores, seconds in systems(split, names, quick):
            results.setdefault((name, start), []).append({**values(split, scores, MEASURES), "seconds": seconds})
    return [
        {"ranker": name, "start": start, **{key: float(np.mean([line[key] for line in lines])) for key in lines[0]}}
        for (name, start), lines in results.items()
    ]


def trained_for_each(splits: Sequence[Split], quick: bool) -> dict[str, dict[str, float]]:
    """Return the test means of LambdaMART by the measure that it was trained for, then by measure."""
    results: dict[str, list[dict[str, float]]] = {measure: [] for measure in TRAINED_FOR}
    for split in splits:
        for measure in TRAINED_FOR:
            model = ranker_class("lambdamart")(metric=measure, **settings("lambdamart", quick))
            model.fit(split.train, eval_set=split.valid)
            results[measure].append(values(split, model.predict(split.test), TRAINED_FOR))
            print(f"  lambdamart for {measure}: {model.best_iteration_} trees", flush=True)
    return {
        trained: {measure: float(np.mean([line[measure] for line in lines])) for measure in TRAINED_FOR}
        for trained, lines in results.items()
    }


def print_comparison(title: str, lines: Sequence[Mapping[str, Any]]) -> None:
    """Print the table, and which rankers fall below the best single feature."""
    print(f"\n### {title}\n")
    print(tabulate(lines, headers="keys", tablefmt="github", floatfmt=("", "", ".4f", ".4f", ".4f", ".1f")))
    floor = lines[0]
    below = [f"{line['ranker']} {line['start']}" for line in lines[2:] if line["nDCG@10"] < floor["nDCG@10"]]
    print(f"\nBelow the best single feature in nDCG@10: {', '.join(below) or 'none'}.")


def print_matrix(title: str, matrix: Mapping[str, Mapping[str, float]]) -> None:
    """Print the matrix, the best of each column in bold, and where training for a measure does not win on it."""
    print(f"\n### {title}\n")
    best = {measure: max(matrix, key=lambda trained: matrix[trained][measure]) for measure in TRAINED_FOR}
    lines = [
        [trained] + [f"**{row[m]:.4f}**" if best[m] == trained else f"{row[m]:.4f}" for m in TRAINED_FOR]
        for trained, row in matrix.items()
    ]
    headers = ["trained for", *TRAINED_FOR]
    print(tabulate(lines, headers=headers, tablefmt="github", disable_numparse=True, stralign="right"))
    lost = [
        f"on {m} training for {best[m]} is better by {matrix[best[m]][m] - matrix[m][m]:.4f}"
        for m in TRAINED_FOR
        if best[m] != m
    ]
    print(f"\nTraining for a measure wins on it, except: {'; '.join(lost) or 'nowhere'}.")


def main() -> None:
    """Run both data sets and print the tables."""
    options = arguments(__doc__.splitlines()[0], "--rankers")
    names = options.rankers.split(",") if options.rankers else list(known_rankers())
    figures: dict[str, Any] = {"machine": machine("numpy", "numba")}
    begin, results = time.perf_counter(), {}
    for title, load in (("MQ2008", mq2008), ("nfcorpus", nfcorpus)):
        print(f"{title} ...", flush=True)
        splits = load(options.quick)
        results[title] = compare(splits, names, options.quick), trained_for_each(splits, options.quick)
    for title, (lines, matrix) in results.items():
        print_comparison(f"{title}: every ranker", lines)
        print_matrix(f"{title}: LambdaMART trained for each measure", matrix)
        figures[title] = {"rankers": lines, "trained for": matrix}
    figures["seconds in all"] = time.perf_counter() - begin
    print()
    report([], {key: value for key, value in figures.items() if key not in results}, None)
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""LambdaSMART's adaptation of a ranker to new queries, compared with training from scratch on the same queries.

Run: python scripts/bench_adaptation.py [--quick] [--picture docs/images/adaptation.png] [--output FILE]
Two studies, nDCG@10, BM25's first 100 documents, several random draws of each number of queries:

    cranfield  the base ranker learned on nfcorpus (another collection, other topics); adapted to cranfield's.
               75 of the 225 topics are the test; the draws come from the other 150
    nfcorpus   the base ranker learned on nfcorpus's short training topics (up to the median number of words);
               adapted to the long ones of the training part, tested on the long ones of the test part

Of each draw a fifth stops the training. Adapted models start from the base ranker's scores, the others from 0. All
settings were fixed beforehand; test queries are the same throughout and no training sees them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_common import arguments, machine, report
from bench_judged import SHARED, collection, qrels_of
from tabulate import tabulate

import rerank
from rerank.evaluation.evaluate import evaluate
from rerank.types import Qrels, RankingData

METRIC = "nDCG@10"
SETTINGS = {"n_estimators": 200, "num_leaves": 15, "early_stopping_rounds": 30, "metric": METRIC}
QUICK = {**SETTINGS, "n_estimators": 5}
CRANFIELD_TEST = 75


class Study(NamedTuple):
    """A base ranker, and the queries that it is to be adapted to."""

    name: str
    base: rerank.LambdaMART
    pool: RankingData
    test: RankingData
    sizes: tuple[int, ...]


def studies(settings: Mapping[str, Any]) -> list[Study]:
    """Prepare the data and train both base rankers."""
    parts = collection("nfcorpus", {part: f"qrels.{part}.txt" for part in ("train", "dev", "test")})
    other = collection("cranfield", {"all": "qrels.txt"})["all"]
    dealt = np.random.default_rng(0).permutation(len(other))
    base = rerank.LambdaMART(**settings).fit(parts["train"], eval_set=parts["dev"])
    pool, test = other.select(np.sort(dealt[CRANFIELD_TEST:])), other.select(np.sort(dealt[:CRANFIELD_TEST]))
    results = [Study("cranfield", base, pool, test, (50, 100, len(pool)))]
    words = _words(parts["train"])
    bound = np.median(words)
    short = rerank.LambdaMART(**settings).fit(
        parts["train"].select(np.flatnonzero(words <= bound)),
        eval_set=parts["dev"].select(np.flatnonzero(_words(parts["dev"]) <= bound)),
    )
    pool, test = (parts[part].select(np.flatnonzero(_words(parts[part]) > bound)) for part in ("train", "test"))
    return [*results, Study("nfcorpus", short, pool, test, (50, 200, min(1000, len(pool))))]


def _words(data: RankingData) -> np.ndarray:
    """Return the number of words of each query."""
    topics = rerank.read_topics(SHARED / "collections" / "nfcorpus" / "topics.tsv")
    return np.array([len(topics[query_id].split()) for query_id in data])


def mean(qrels: Qrels, run: rerank.Run) -> float:
    """Return the mean over all test queries."""
    return evaluate(qrels, run, [METRIC], complete=True)[METRIC]


def curve(study: Study, draws: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of one study: every draw of every size, adapted and from nothing."""
    qrels = qrels_of(study.test)
    results: dict[str, Any] = {
        "BM25": mean(qrels, study.test.run(study.test.base_scores)),
        "base ranker": mean(qrels, study.base.rank(study.test)),
        "draws": [],
    }
    for size in study.sizes:
        for draw in range(draws):
            drawn = np.random.default_rng([size, draw]).permutation(len(study.pool))[:size]
            stop, train = (study.pool.select(np.sort(some)) for some in np.split(drawn, [size // 5]))
            line = {"queries": size, "draw": draw}
            for name, base in (("adapted", study.base), ("from nothing", None)):
                model = rerank.LambdaMART(**settings, base=base).fit(train, eval_set=stop)
                line[name] = mean(qrels, model.rank(study.test))
            results["draws"].append(line)
            print(f"  {study.name}, {size} queries, draw {draw}", flush=True)
    return results


def summary(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one line for each number of queries: means over the draws, standard deviations, and the difference."""
    lines = []
    for size in sorted({line["queries"] for line in results["draws"]}):
        drawn = [line for line in results["draws"] if line["queries"] == size]
        adapted, fresh = (np.array([line[name] for line in drawn]) for name in ("adapted", "from nothing"))
        lines.append(
            {
                "queries": size,
                "adapted": adapted.mean(),
                "sd": adapted.std(),
                "from nothing": fresh.mean(),
                "sd ": fresh.std(),
                "adapted - from nothing": (adapted - fresh).mean(),
                "adapted - base": adapted.mean() - results["base ranker"],
                "adapted - BM25": adapted.mean() - results["BM25"],
            }
        )
    return lines


def verdicts(lines: list[dict[str, Any]]) -> str:
    """Say where adaptation does not help."""
    sizes_by_opponent = {
        "than training from nothing": [line["queries"] for line in lines if line["adapted - from nothing"] <= 0],
        "than the base ranker": [line["queries"] for line in lines if line["adapted - base"] <= 0],
        "than BM25": [line["queries"] for line in lines if line["adapted - BM25"] <= 0],
    }
    results = [
        f"not better {than} at {', '.join(map(str, sizes))} queries"
        for than, sizes in sizes_by_opponent.items()
        if sizes
    ]
    return (
        "; ".join(results) or "better than training from nothing, the base ranker and BM25 at every number of queries"
    )


def draw_picture(results: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Draw the learning curves, a panel for each study."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 3), dpi=80, layout="constrained")
    for axes, (name, study) in zip(figure.subplots(1, len(results)), results.items(), strict=True):
        lines = summary(study)
        sizes = [line["queries"] for line in lines]
        for label, spread in (("adapted", "sd"), ("from nothing", "sd ")):
            means, spreads = ([line[key] for line in lines] for key in (label, spread))
            axes.errorbar(sizes, means, spreads, label=label, marker="o", capsize=3)
        axes.axhline(study["base ranker"], color="grey", linestyle="--", label="base ranker")
        axes.axhline(study["BM25"], color="grey", linestyle=":", label="BM25")
        axes.set(title=name, xlabel="queries to train on", ylabel=METRIC, xscale="log", xticks=sizes)
        axes.set_xticklabels(sizes)
        axes.minorticks_off()
    axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main() -> None:
    """Run both studies; print the tables, draw the picture."""
    options = arguments(__doc__.splitlines()[0], "--picture")
    about = machine("numpy", "numba")
    settings, draws = (QUICK, 2) if options.quick else (SETTINGS, 5)
    begin = time.perf_counter()
    results = {study.name: curve(study, draws, settings) for study in studies(settings)}
    for name, study in results.items():
        lines = summary(study)
        print(f"\n### {name}: base ranker {study['base ranker']:.4f}, BM25 {study['BM25']:.4f}, {draws} draws\n")
        print(tabulate(lines, headers="keys", tablefmt="github", floatfmt=".4f"))
        print(f"\nAdapted models are {verdicts(lines)}.")
    if options.picture:
        draw_picture(results, Path(options.picture))
    figures = {"machine": about, "seconds in all": time.perf_counter() - begin}
    print()
    report([], figures, None)
    if options.output:
        options.output.write_text(json.dumps({**figures, **results}, indent=1) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""The main job on nfcorpus: BM25's 1,000, features, LambdaMART and LambdaSMART trained on train, stopped on dev.

Run: python scripts/bench_nfcorpus.py [--data FOLDER] [--output FILE]
Hyper-parameters were chosen on train and dev (`SETTINGS`); the test judgements are read once, at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import rerank
from rerank.evaluation.evaluate import evaluate
from rerank.evaluation.report import comparison_table

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SETTINGS = {"n_estimators": 900, "early_stopping_rounds": 200}


def main() -> None:
    """Index, retrieve, extract, train, rank, evaluate; print the table and the seconds of each step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT / "collections" / "nfcorpus")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        runs, _ = study(options.data, Path(folder) / "index", seconds)
    qrels = rerank.read_qrels(options.data / "qrels.test.txt")
    measures = ("nDCG@10", "AP", "RR", "R@100", "R@1000")
    results = {name: evaluate(qrels, run, measures, complete=True) for name, run in runs.items()}
    print(comparison_table(results, baseline="BM25"))
    print("\nseconds: " + ", ".join(f"{step} {value:.1f}" for step, value in seconds.items()))
    if options.output:
        means = {name: {measure: result[measure] for measure in measures} for name, result in results.items()}
        options.output.write_text(json.dumps({"means": means, "seconds": seconds}, indent=1) + "\n")


def study(
    data: Path, index_folder: Path, seconds: dict[str, float], n_estimators: int = SETTINGS["n_estimators"]
) -> tuple[dict[str, rerank.Run], dict[str, rerank.LambdaMART]]:
    """Return the test runs of BM25 and of both models, and the models."""
    start = time.perf_counter()

    def lap(step: str) -> None:
        nonlocal start
        now = time.perf_counter()
        seconds[step], start = now - start, now

    all_topics = rerank.read_topics(data / "topics.tsv")
    with rerank.Index.build(data / "corpus.jsonl", index_folder) as index:
        lap("index")
        found = {}
        for part in ("train", "dev", "test"):
            judged = rerank.read_qrels(data / f"qrels.{part}.txt")
            topics = {query_id: all_topics[query_id] for query_id in judged}
            run = index.search(topics, k=1000)
            found[part] = run, index.features(run, topics, None if part == "test" else judged)
        lap("retrieve and extract")
    runs, models = {"BM25": found["test"][0]}, {}
    settings = {**SETTINGS, "n_estimators": n_estimators}
    for name, base in (("LambdaMART", None), ("LambdaSMART", "run")):
        model = rerank.LambdaMART(**settings, base=base).fit(found["train"][1], eval_set=found["dev"][1])
        runs[name], models[name] = model.rank(found["test"][1], name=name), model
        lap(f"{name} ({model.best_iteration_} trees)")
    return runs, models


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""A study on nfcorpus: 1,000 documents of BM25, features, LambdaMART and LambdaSMART with early stopping on dev.

Run: python scripts/bench_nfcorpus.py [--data FOLDER] [--output FILE] [--ablation]

A model learns from BM25's first `TRAIN_DEPTH` documents of each training query, and reranks all 1,000 of a test query.
Features, hyper-parameters and depth were chosen on train and dev (`SETTINGS`); the test judgements are read once, at
the end. `LambdaMART x 3` adds up the scores of three models that differ in their seed.
--ablation prints instead what each family of features adds, and what is lost without it, on dev; test is not read.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import rerank
from rerank.evaluation.evaluate import evaluate
from rerank.evaluation.report import comparison_table
from rerank.features.columns import column_groups
from rerank.features.recipe import Recipe
from rerank.features.registry import index_family_names

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SETTINGS = {
    "n_estimators": 600,
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_child_samples": 100,
    "colsample_bytree": 0.3,
    "early_stopping_rounds": 100,
}
TRAIN_DEPTH = 100
SEEDS = (0, 1, 2)
FIRST = ("letor", "run")  # what the ablation starts from: the catalogue as it began
MEASURES = ("nDCG@10", "AP", "RR", "R@100", "R@1000")
Parts = dict[str, rerank.RankingData]


def main() -> None:
    """Index, retrieve, extract, then train and evaluate, or take the families apart."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT / "collections" / "nfcorpus")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--ablation", action="store_true", help="what each family adds, on dev")
    options = parser.parse_args()
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        results = (ablation if options.ablation else figures)(options.data, Path(folder) / "index", seconds)
    print("\nseconds: " + ", ".join(f"{step} {value:.1f}" for step, value in seconds.items()))
    if options.output:
        options.output.write_text(json.dumps({"means": results, "seconds": seconds}, indent=1) + "\n")


def figures(data: Path, index_folder: Path, seconds: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return and print the test figures of BM25, of both models, and of three seeds together."""
    runs, _ = study(data, index_folder, seconds)
    qrels = rerank.read_qrels(data / "qrels.test.txt")
    results = {name: evaluate(qrels, run, MEASURES, complete=True) for name, run in runs.items()}
    print(comparison_table(results, baseline="BM25"))
    return {name: {measure: result[measure] for measure in MEASURES} for name, result in results.items()}


def study(
    data: Path, index_folder: Path, seconds: dict[str, float], seeds: Sequence[int] = SEEDS
) -> tuple[dict[str, rerank.Run], dict[str, rerank.LambdaMART]]:
    """Return the test runs of BM25, of both models and of all seeds together, and the models."""
    parts = extracted(data, index_folder, ("train", "dev", "test"), None, seconds)
    test, cold = parts["test"], {seed: f"LambdaMART, seed {seed}" for seed in seeds}
    seed_models = [trained(parts, seconds, name, random_state=seed) for seed, name in cold.items()]
    models = {"LambdaMART": seed_models[0], "LambdaSMART": trained(parts, seconds, "LambdaSMART", base="run")}
    runs = {"BM25": test.run(test.base_scores, "BM25")}
    runs |= {name: model.rank(test, name=name) for name, model in models.items()}
    if len(seed_models) > 1:
        runs[f"LambdaMART x {len(seed_models)}"] = test.run(
            sum(model.predict(test) for model in seed_models), "LambdaMART-seeds"
        )
    return runs, models


def ablation(data: Path, index_folder: Path, seconds: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return and print dev's nDCG@10: the first families, each other added to them, all, and all but one."""
    names = index_family_names()
    parts = extracted(data, index_folder, ("train", "dev"), Recipe(families=names), seconds)
    groups = column_groups(Recipe.from_dict(parts["dev"].recipe))
    family_of = {column: group.name for group in groups for column in group.names}
    others = [name for name in names if name not in FIRST]
    trials = {"letor and run": FIRST}
    trials |= {f"+ {name}": (*FIRST, name) for name in others}
    trials |= {"all families": names} | {f"all but {name}": tuple(set(names) - {name}) for name in others}
    qrels, results = rerank.read_qrels(data / "qrels.dev.txt"), {}
    for trial, families in trials.items():
        chosen = {part: of_families(rows, families, family_of) for part, rows in parts.items()}
        model = trained(chosen, seconds, trial)
        result = evaluate(qrels, model.rank(chosen["dev"]), ("nDCG@10",), complete=True)
        results[trial] = {"nDCG@10": result["nDCG@10"], "features": chosen["dev"].n_features}
        print(f"{trial:24s} {chosen['dev'].n_features:4d} features  nDCG@10 {result['nDCG@10']:.4f}", flush=True)
    return results


def extracted(
    data: Path, index_folder: Path, names: Iterable[str], recipe: Recipe | None, seconds: dict[str, float]
) -> Parts:
    """Return the features of BM25's 1,000 for each part; test comes without labels."""
    start = time.perf_counter()
    all_topics, parts = rerank.read_topics(data / "topics.tsv"), {}
    with rerank.Index.build(data / "corpus.jsonl", index_folder, vectors=False) as index:
        seconds["index"] = time.perf_counter() - start
        for part in names:
            judged = rerank.read_qrels(data / f"qrels.{part}.txt")
            topics = {query_id: all_topics[query_id] for query_id in judged}
            run = index.search(topics, k=1000)
            parts[part] = index.features(run, topics, None if part == "test" else judged, recipe=recipe)
            if part == "train":
                parts[part] = head(parts[part], TRAIN_DEPTH)
    seconds["retrieve and extract"] = time.perf_counter() - start - seconds["index"]
    return parts


def head(data: rerank.RankingData, depth: int) -> rerank.RankingData:
    """Return the first rows of each query."""
    counts = np.diff(data.query_ptr)
    rank = np.arange(data.n_rows) - np.repeat(data.query_ptr[:-1], counts)
    return replace(
        data,
        query_ptr=np.concatenate([[0], np.cumsum(np.minimum(counts, depth))]),
        doc_ids=data.doc_ids[rank < depth],
        X=data.X[rank < depth],
        labels=data.labels[rank < depth],
        base_scores=data.base_scores[rank < depth],
    )


def of_families(data: rerank.RankingData, families: Iterable[str], family_of: dict[str, str]) -> rerank.RankingData:
    """Return the data with the features of some families."""
    columns = [number for number, name in enumerate(data.feature_names) if family_of[name] in families]
    names = tuple(data.feature_names[number] for number in columns)
    return replace(data, X=np.ascontiguousarray(data.X[:, columns]), feature_names=names)


def trained(parts: Parts, seconds: dict[str, float], name: str, **more: object) -> rerank.LambdaMART:
    """Return a model of train, stopped on dev."""
    start = time.perf_counter()
    model = rerank.LambdaMART(**SETTINGS, **more).fit(parts["train"], eval_set=parts["dev"])
    seconds[f"{name} ({model.best_iteration_} trees)"] = time.perf_counter() - start
    return model


if __name__ == "__main__":
    main()

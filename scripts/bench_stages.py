#!/usr/bin/env python
"""What two stages lose and save: nfcorpus's test queries, a cheap model before the full one.

    scripts/bench_stages.py [--data FOLDER] [--output FILE] [--quick]

Candidates are a union of BM25's and RM3's first 10,000 and 1,000 neighbours by latent semantic indexing. The full model
has all features and trees, the cheap one 14 features of the whole document and a regression of 40 small trees; both
learn from the training queries. Each line is the mean nDCG@10 of the test queries and milliseconds a query, candidates
not included; the loss is that to the full model on all candidates.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from bench_common import arguments, machine
from tabulate import tabulate

import rerank
from rerank.retrieval.union import UnionRun

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
UNION = "bm25:10000,rm3:10000,lsi:1000"
TRAIN_UNION = "bm25:100,rm3:100,lsi:100"
MEASURE = "nDCG@10"
CHEAP = rerank.Recipe(families=("letor", "run", "lsi"), fields=("contents",))
DEPTHS = (100, 300, 1000)


def main() -> None:
    """Measure all candidates, then each depth of the second stage."""
    given = arguments(__doc__, "--data")
    folder = Path(given.data or DEFAULT) / "collections" / "nfcorpus"
    topics = rerank.read_topics(folder / "topics.tsv")
    qrels = {side: rerank.read_qrels(folder / f"qrels.{side}.txt") for side in ("train", "test")}
    names = {side: list(qrels[side])[: 40 if given.quick else None] for side in qrels}
    queries = {side: {query_id: topics[query_id] for query_id in names[side]} for side in qrels}
    with (
        tempfile.TemporaryDirectory() as scratch,
        rerank.Index.build(folder / "corpus.jsonl", Path(scratch) / "index", vectors=False) as index,
    ):
        index.learn_vectors()
        first, second = models(index, queries["train"], qrels["train"])
        candidates = index.search(queries["test"], candidates=UNION)
        print(f"{len(candidates)} queries, {candidates.n_rows / len(candidates):.0f} candidates a query", flush=True)
        rows = measured(index, candidates, queries["test"], qrels["test"], (first, second))
    print(tabulate(rows, headers="keys", floatfmt=".4f"))
    if given.output:
        given.output.write_text(json.dumps({"machine": machine("numba"), "stages": rows}, indent=1) + "\n")


def models(index: rerank.Index, topics: dict[str, str], qrels: rerank.Qrels) -> tuple[rerank.MART, rerank.LambdaMART]:
    """Return the cheap and the full model, trained on the first 100 of each source."""
    run = index.search(topics, candidates=TRAIN_UNION)
    held_out = np.arange(len(run)) % 10 == 0
    data = index.features(run, topics, qrels)
    train, stop = data.select(np.flatnonzero(~held_out)), data.select(np.flatnonzero(held_out))
    full = rerank.LambdaMART(
        n_estimators=300, learning_rate=0.05, num_leaves=15, colsample_bytree=0.3, early_stopping_rounds=50
    )
    cheap = rerank.MART(n_estimators=40, num_leaves=8, metric="R@100")
    return cheap.fit(index.features(run, topics, qrels, recipe=CHEAP)), full.fit(train, eval_set=stop)


def measured(
    index: rerank.Index,
    candidates: UnionRun,
    topics: dict[str, str],
    qrels: rerank.Qrels,
    stages: tuple[rerank.MART, rerank.LambdaMART],
) -> list[dict[str, Any]]:
    """Return a line for one stage on all candidates, and for two stages of each depth."""
    first, second = stages
    rows: list[dict[str, Any]] = []
    for depth in (None, *DEPTHS):
        stage: dict[str, Any] = {} if depth is None else {"first": first, "first_k": 100_000, "k": depth}
        times = []
        for _ in range(3):
            start = time.perf_counter()
            run = rerank.rerank(index, second, topics, candidates, **{"k": 100_000, **stage})
            times.append(time.perf_counter() - start)
        value = rerank.evaluate(qrels, run, [MEASURE], complete=True)[MEASURE]
        milliseconds = 1e3 * float(np.median(times)) / len(topics)
        line = {"second stage": depth or "all", MEASURE: value, "ms a query": milliseconds}
        rows.append({**line, "loss": rows[0][MEASURE] - value if rows else 0.0})
        print(rows[-1], flush=True)
    return rows


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""Which sizes of trees rank best where few queries are judged: gain in nDCG@10 over BM25, from a cold start.

    scripts/sweep_sizes.py [--data FOLDER] [--collection NAME ...] [--draws 8] [--output FILE]

The first 100 candidates of BM25 of med, cacm, cranfield and 300 training queries of nfcorpus, with vectors. For each
number of queries, that many are drawn --draws times and train; the others are measured. Mean of the draws, and the
worst one.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
from tabulate import tabulate

import rerank
from rerank.metrics.registry import parse_measure
from rerank.workflows.held_out import query_values
from rerank.workflows.train import judged_queries

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
COLLECTIONS = {"med": "qrels.txt", "cacm": "qrels.txt", "cranfield": "qrels.txt", "nfcorpus": "qrels.train.txt"}
NUMBERS, MOST = (10, 20, 40), 300  # queries that train, and queries of a collection
SIZES = ((10, 4, 20), (10, 4, 100), (20, 4, 100), (20, 8, 100), (50, 4, 100), (50, 8, 100), (50, 8, 200), (100, 4, 100))
MEASURE = parse_measure("nDCG@10")


def main() -> None:
    """Print a table for all collections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT)
    parser.add_argument("--collection", action="append", choices=COLLECTIONS)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    rows = []
    for name in given.collection or COLLECTIONS:
        data = features(given.data / "collections" / name, COLLECTIONS[name])
        for number in NUMBERS:
            if number < len(data):
                gains = [gains_of(data, number, draw) for draw in range(given.draws)]
                cells = [
                    f"{mean:+.4f} ({least:+.3f})"
                    for mean, least in zip(np.mean(gains, 0), np.min(gains, 0), strict=True)
                ]
                rows.append([name, number, *cells])
    headers = ["collection", "queries", *(f"{trees} x {leaves}, {least}" for trees, leaves, least in SIZES)]
    table = tabulate(rows, headers=headers)
    print(table)
    if given.output:
        given.output.write_text(f"{table}\n")


def features(folder: Path, judgements: str) -> rerank.RankingData:
    """Return the features of BM25's first 100 documents of judged topics."""
    topics, qrels = judged_queries(rerank.read_topics(folder / "topics.tsv"), rerank.read_qrels(folder / judgements))
    drawn = np.random.default_rng(5).permutation(list(topics))[:MOST].tolist()
    some = rerank.Topics({query_id: topics[query_id] for query_id in drawn})
    with (
        tempfile.TemporaryDirectory() as scratch,
        rerank.Index.build(folder / "corpus.jsonl", Path(scratch) / "index", vectors=True) as index,
    ):
        return index.features(index.search(some, k=1000), some, qrels).head(100)


def gains_of(data: rerank.RankingData, number: int, draw: int) -> list[float]:
    """Return the gain of each size over BM25 on the queries that do not train."""
    order = np.random.default_rng(draw).permutation(len(data))
    train, test = data.select(np.sort(order[:number])), data.select(np.sort(order[number:]))
    bm25 = query_values(test, test.column("run.score"), MEASURE).mean()
    models = [
        rerank.LambdaMART(n_estimators=trees, num_leaves=leaves, min_child_samples=least).fit(train)
        for trees, leaves, least in SIZES
    ]
    return [float(query_values(test, model.predict(test), MEASURE).mean() - bm25) for model in models]


if __name__ == "__main__":
    main()

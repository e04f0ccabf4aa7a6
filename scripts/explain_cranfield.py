#!/usr/bin/env python
"""An explanation on a real collection: the page that `rerank explain --html` makes for a held-out query of Cranfield.

Run: python scripts/explain_cranfield.py [-o FOLDER] [--screenshot docs/images/explain.png]
LambdaMART learns from the topics with odd numbers, started from BM25. Of the other topics, that is taken where a
relevant document rises most to the first rank; it is compared with the document that BM25 had there.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from bench_nfcorpus import DEFAULT
from report_nfcorpus import picture

import rerank
from rerank.cli.main import run as run_command

K = 100
RECIPE = rerank.Recipe(families=("letor", "run", "proximity"))


def main() -> None:
    """Train, choose the documents, explain them, take the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DEFAULT / "collections" / "cranfield")
    parser.add_argument("-o", "--output", type=Path, default=Path("bench-output/explain"))
    parser.add_argument("--screenshot", type=Path, help="PNG of the page's beginning; needs Chromium")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    index = options.output / "index"
    topics = rerank.read_topics(options.data / "topics.tsv")
    qrels = rerank.read_qrels(options.data / "qrels.txt")
    with rerank.Index.build(options.data / "corpus.jsonl", index, overwrite=True, vectors=False) as opened:
        model, held_out = train(opened, topics, qrels)
        candidates = opened.search({query_id: topics[query_id] for query_id in held_out}, k=K)
        query_id, documents = choose(candidates, rerank.rerank(opened, model, topics, candidates, k=K), qrels)
    model.save(options.output / "model.json")
    page = options.output / "explain.html"
    parts = [str(index), str(options.output / "model.json"), str(options.data / "topics.tsv"), "-k", str(K)]
    code = run_command(["explain", *parts, "--query", query_id, "--documents", documents, "--html", str(page)])
    if code == 0 and options.screenshot is not None:
        picture(page, options.screenshot)
    sys.exit(code)


def train(index: rerank.Index, topics: rerank.Topics, qrels: rerank.Qrels) -> tuple[rerank.LambdaMART, list[str]]:
    """Return a model, and the ids of the topics that it has not seen."""
    judged = [query_id for query_id in topics if query_id in qrels]
    run = index.search({query_id: topics[query_id] for query_id in judged[::2]}, k=K)
    data = index.features(run, topics, qrels, recipe=RECIPE)
    model = rerank.LambdaMART(n_estimators=100, num_leaves=7, learning_rate=0.05, base="run").fit(data)
    return model, judged[1::2]


def choose(before: rerank.Run, after: rerank.Run, qrels: rerank.Qrels) -> tuple[str, str]:
    """Return the query, and the documents that are first after and before reranking."""
    rises = {}
    for query_id in before:
        old, new = list(before[query_id]), list(after[query_id])
        labels = qrels[query_id]
        if labels.get(new[0], 0) > 0 and labels.get(old[0], 0) <= 0:
            rises[query_id] = old.index(new[0]), f"{new[0]},{old[0]}"
    best = list(rises)[int(np.argmax([rise for rise, _ in rises.values()]))]
    return best, rises[best][1]


if __name__ == "__main__":
    main()

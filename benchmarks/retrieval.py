"""Retrieval beside Pyserini, the nearest of many vectors, and learning of vectors."""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.large_collection import (
    Pyserini,
    check_same_hits,
    java_class,
    lean_index,
    mixed_documents,
    open_collection,
    read_hits,
)
from benchmarks.measuring import compared, run_command, run_verb, timed, times_in_turns
from benchmarks.registry import BenchmarkError, Options, Row, benchmark

K, THREADS, QUERIES, NEAREST = 1000, 2, 64, 1000
TIES = 3  # that float32 orders otherwise at the end of a list
LSI = (
    "import sys; from rerank.lucene.arrays import open_forward; from rerank.vectors.vectors import learn_lsi; "
    "learn_lsi(open_forward(sys.argv[1]).fields['contents'])"
)


def collect_garbage() -> None:
    """Let Python and Java drop what the last job left."""
    gc.collect()
    java_class("java.lang.System").gc()


@benchmark(
    data="100,000 documents of real sentences, 1,000 queries, k = 1000",
    peer="Pyserini's batch_search and search, hits read, on the same index and on one without stored text",
    needs=("jnius",),
)
def retrieval(options: Options) -> Iterator[Row]:
    """Milliseconds of BM25 retrieval in a batch, two threads, and of 100 queries one by one; hits must be the same."""
    n_documents, n_queries = options.pick(100_000, 5_000), options.pick(1000, 50)
    opened, topics = open_collection(options, n_documents, n_queries)
    with opened:
        same, lean = Pyserini(opened.path), Pyserini(lean_index(options, n_documents))
        index, few = opened.using(threads=THREADS), dict(list(topics.items())[:100])
        run = index.search(topics, K)
        for peer in (same, lean):
            check_same_hits(run, read_hits(peer.batch_search(topics, K, THREADS)))
        jobs: dict[str, Callable[[], Any]] = {
            "rerank": partial(index.search, topics, K),
            "batch_search, lean index": lambda: read_hits(lean.batch_search(topics, K, THREADS)),
            "the same, hits not read": lambda: lean.batch_search(topics, K, THREADS),
        }
        yield from compared(f"{n_queries} queries", times_in_turns(jobs, options.n_repeats(), collect_garbage))
        jobs = {
            "rerank": lambda: [opened.search({query_id: text}, K) for query_id, text in few.items()],
            "search, same index": lambda: [same.read(text, K) for text in few.values()],
            "search, lean index": lambda: [lean.read(text, K) for text in few.values()],
        }
        times = times_in_turns(jobs, options.n_repeats(), collect_garbage)
        yield from compared(f"{len(few)} queries, one by one", times)


@benchmark(data="1,000,000 generated vectors of 384 dimensions", peer="all compared by BLAS")
def nearest(options: Options) -> Iterator[Row]:
    """Milliseconds of the nearest 1,000 vectors, one thread each, and seconds to code all; both must find the same."""
    from rerank.retrieval.sources.nearest import nearest_hits
    from rerank.vectors.coded import CodedVectors

    n_docs = options.documents[0] if options.documents else options.pick(1_000_000, 60_000)
    makers = {"mixture": mixed_vectors, "round": round_vectors}
    for kind in options.chosen(tuple(makers)):
        documents, queries = makers[kind](n_docs, 384)
        norms = np.sqrt(np.einsum("ij,ij->i", documents, documents))
        made = timed(partial(CodedVectors.of, documents))
        nearest_hits(queries[:2], documents, NEAREST, 1)
        taken, of_all = [], []
        for query in queries:
            begin = time.perf_counter()
            ((docs, _),) = nearest_hits(query[None], documents, NEAREST, 1)
            between = time.perf_counter()
            with threadpool_limits(1):
                cosines = documents @ query / norms
            expected = np.argpartition(-cosines, NEAREST)[:NEAREST]
            of_all.append(time.perf_counter() - between)
            taken.append(between - begin)
            if len(np.setdiff1d(docs, expected)) > TIES:
                raise BenchmarkError("expected the nearest vectors of all, got others")
        row = {"vectors": kind, "documents": n_docs, "ms a query": 1e3 * float(np.median(taken))}
        yield {**row, "all compared, ms": 1e3 * float(np.median(of_all)), "coded, s": made}


def mixed_vectors(n_docs: int, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors of documents and of queries: subjects, topics around them, documents around those.

    The spectrum falls as that of text embeddings does: the standard deviation of dimension i is i^-1/2.
    """
    random, scale = np.random.default_rng(0), np.arange(1, dimensions + 1, dtype=np.float32) ** np.float32(-0.5)

    def noise(n_vectors: int, size: float) -> np.ndarray:
        return np.float32(size) * scale * random.standard_normal((n_vectors, dimensions), dtype=np.float32)

    n_topics = max(n_docs // 500, 64)
    topics = noise(64, 1.0)[random.integers(64, size=n_topics)] + noise(n_topics, 0.7)
    sizes = random.pareto(1.2, n_topics) + 0.2
    documents = topics[random.choice(n_topics, size=n_docs, p=sizes / sizes.sum())]
    for first in range(0, n_docs, 1 << 15):
        block = documents[first : first + (1 << 15)]
        block += noise(len(block), 0.6)
    return documents, documents[random.integers(n_docs, size=QUERIES)] + noise(QUERIES, 0.6)


def round_vectors(n_docs: int, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors of documents and of queries whose dimensions are all alike: there are hardly near neighbours."""
    random = np.random.default_rng(0)
    centres = random.standard_normal((max(n_docs // 5000, 1), dimensions), dtype=np.float32)
    documents = centres[random.integers(len(centres), size=n_docs)]
    for first in range(0, n_docs, 1 << 15):
        block = documents[first : first + (1 << 15)]
        block += 0.5 * random.standard_normal(block.shape, dtype=np.float32)
    some = documents[random.integers(n_docs, size=QUERIES)]
    return documents, some + 0.5 * random.standard_normal(some.shape, dtype=np.float32)


@benchmark(data="100,000 documents of real sentences")
def vectors(options: Options) -> Iterator[Row]:
    """Seconds and peak memory of latent semantic indexing alone (400 dimensions), and of `rerank vectors`."""
    from rerank.index.resources import VECTORS
    from rerank.lucene.arrays import open_forward
    from rerank.lucene.shards import RESOURCES

    n_documents = options.documents[0] if options.documents else options.pick(100_000, 5_000)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        with (folder / "corpus.jsonl").open("w", encoding="utf8") as file:
            file.writelines(json.dumps(document) + "\n" for document in mixed_documents(options, n_documents))
        run_verb("index", "corpus.jsonl", "-o", "index", "--no-vectors", folder=folder)
        run_verb("vectors", "index", "--dimensions", "10", folder=folder)  # compiles
        yield run_command(sys.executable, "-c", LSI, "index", folder=folder).row("latent semantic indexing")
        yield run_verb("vectors", "index", folder=folder).row("rerank vectors")
        pairs = len(open_forward(folder / "index").fields["contents"].terms)
        size = (folder / "index" / RESOURCES / VECTORS).stat().st_size / 1e6
        yield {"documents": n_documents, "pairs of a document and a word": pairs, "file, MB": size}

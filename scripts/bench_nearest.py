#!/usr/bin/env python
"""Milliseconds and recall of the nearest documents among many, on one thread.

    python scripts/bench_nearest.py [--quick] [--documents 1000000] [--dimensions 384] [--kind round]
        [--output FILE]

Vectors are mixtures at three scales, with a spectrum that falls as that of text embeddings does (the standard deviation
of dimension i is i^-1/2): 64 subjects, topics around them (one for 500 documents, of sizes by a Pareto law), documents
around those. Queries are documents with as much noise again. `--kind round`: documents around random centres, one for
5,000, all dimensions alike; with noise of half the centres' length they have hardly any near neighbours, the worst
case. The index is made in a new cache folder, and read from its file again. The bar is 5 ms a query for the nearest
1,000 at a recall of .95 among 1,000,000 documents, on one thread. Needs the extra `nearest`.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time

import numpy as np
from bench_common import arguments, machine, report

from rerank.retrieval import approximate
from rerank.retrieval.sources.nearest import nearest_hits

QUERIES, NEAREST = 64, 1000


def main() -> None:
    """Build the index, and time the search with it and, for a few queries, without."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    given = arguments((__doc__ or "").splitlines()[0], "--documents", "--dimensions", "--kind")
    n_docs = int(given.documents or (60_000 if given.quick else 1_000_000))
    dimensions = int(given.dimensions or 384)
    documents, queries = (round_vectors if given.kind == "round" else mixed_vectors)(n_docs, dimensions)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["RERANK_CACHE"] = cache
        figures = measured(documents, queries)
    report([], figures, given.output)


def measured(documents: np.ndarray, queries: np.ndarray) -> dict[str, object]:
    """Return the figures."""
    figures: dict[str, object] = {"machine": machine("faiss-cpu")}
    doc_ids = np.array([f"d{number:07d}" for number in range(len(documents))])
    for what in ("seconds to build", "seconds to read it again"):
        approximate._INDEXES.clear()
        started = time.perf_counter()
        approximate.approximate_index(documents)
        figures[what] = time.perf_counter() - started
    list(nearest_hits(queries[:2], documents, doc_ids, NEAREST, 1))
    found, times = [], []
    for query in queries:
        started, processor = time.perf_counter(), time.thread_time()
        found += [docs for docs, _ in nearest_hits(query[None], documents, doc_ids, NEAREST, 1)]
        times.append((time.perf_counter() - started, time.thread_time() - processor))
    for name, values in zip(("", ", processor"), 1e3 * np.array(times).T, strict=True):
        figures[f"ms a query, median{name}"] = float(np.median(values))
        figures[f"ms a query, mean{name}"] = float(np.mean(values))
    again = [docs for docs, _ in nearest_hits(queries, documents, doc_ids, NEAREST, 2)]
    figures["same for two threads"] = all(map(np.array_equal, found, again))
    started, shares = time.perf_counter(), []
    norms = np.sqrt(np.einsum("ij,ij->i", documents, documents))
    for query, docs in zip(queries, found, strict=True):
        cosines = documents @ query / norms
        shares.append(len(np.intersect1d(docs, np.argpartition(-cosines, NEAREST)[:NEAREST])) / NEAREST)
    figures["ms a query, all compared by BLAS"] = 1e3 * (time.perf_counter() - started) / len(shares)
    figures["recall"] = float(np.mean(shares))
    return figures


def mixed_vectors(n_docs: int, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors of documents and of queries, float32, of subjects, topics and documents around them."""
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
    """Return vectors of documents and of queries, float32, whose dimensions are all alike."""
    random = np.random.default_rng(0)
    centres = random.standard_normal((max(n_docs // 5000, 1), dimensions), dtype=np.float32)
    documents = centres[random.integers(len(centres), size=n_docs)]
    for first in range(0, n_docs, 1 << 15):
        block = documents[first : first + (1 << 15)]
        block += 0.5 * random.standard_normal(block.shape, dtype=np.float32)
    some = documents[random.integers(n_docs, size=QUERIES)]
    return documents, some + 0.5 * random.standard_normal(some.shape, dtype=np.float32)


if __name__ == "__main__":
    main()

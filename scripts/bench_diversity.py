"""Milliseconds of MMR and xQuAD for the first documents of a query, on one thread.

    python scripts/bench_diversity.py [--quick] [--output FILE]

Vectors are random, of 400 dimensions as those of latent semantic indexing and of 384 as those of small encoders: the
time does not depend on their values. The bar is 1 ms for 100 documents.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from bench_common import REPEATS, arguments, machine, report, seconds

from rerank.combination.diversity import METHODS, Diversifier

QUERIES = 20  # of a job, so that it is long enough to be timed


def main() -> None:
    """Time both methods for several numbers of documents."""
    given = arguments(__doc__)
    machine()
    random = np.random.default_rng(0)
    jobs = {}
    for dimensions in (384, 400):
        for n_docs in (50, 100) if given.quick else (50, 100, 200, 1000):
            scores = np.sort(random.normal(size=n_docs))[::-1]
            vectors = random.normal(size=(n_docs, dimensions)).astype(np.float32)
            for method in METHODS:
                job = partial(repeat, Diversifier(method), scores, vectors)
                job()
                jobs[f"{method}, {n_docs} documents, {dimensions} dimensions"] = job
    figures = {f"{name}, ms a query": 1e3 * taken / QUERIES for name, taken in seconds(jobs, REPEATS).items()}
    report([], {"machine": machine(), **figures}, given.output)


def repeat(diversifier: Diversifier, scores: np.ndarray, vectors: np.ndarray) -> None:
    """Reorder the documents of several queries."""
    for _ in range(QUERIES):
        diversifier.choose(scores, vectors)


if __name__ == "__main__":
    main()

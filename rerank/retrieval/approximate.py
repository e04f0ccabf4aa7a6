"""The nearest documents among many, by an index of the library faiss: inverted lists, one byte a dimension.

Documents are divided into about sqrt(n) lists by k-means; a query is compared with the vectors in the lists whose
centres are nearest. How many lists: the least power of 2 with which, on average over some documents as queries, 95 % of
the nearest 1,000 are found. What is found is compared again exactly, so that scores are those of the exact search.
k-means runs on one thread and a query is answered by one, so that the result does not depend on threads.

References
----------
J. Johnson, M. Douze and H. Jegou, Billion-Scale Similarity Search with GPUs, IEEE Transactions on Big Data 7, 2021.

"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types import Ints

EXACT = 50_000  # documents up to which all are compared
RECALL, NEAREST, SAMPLE = 0.95, 1000, 32
TRAINING = 64  # vectors of a list that k-means learns from
MORE = 1.25  # documents that are found for each that is wanted, as one byte a dimension rounds
BLOCK = 1 << 15
_log = logging.getLogger("rerank")


@dataclass(frozen=True, eq=False)
class ApproximateIndex:
    """An index of the documents' vectors.

    lists     faiss's index
    n_probes  lists that a query is compared with
    """

    lists: Any
    n_probes: int

    @classmethod
    def build(cls, documents: NDArray[np.float32]) -> ApproximateIndex:
        """Divide the documents (n_docs, dimensions) into lists, and find out how many of them a query needs."""
        import faiss

        started = time.perf_counter()
        n_docs, dimensions = documents.shape
        n_lists = 1 << max(int(np.log2(n_docs) / 2), 1)
        random = np.random.default_rng(0)
        with _faiss_threads(1):
            quantizer = faiss.IndexFlatIP(dimensions)
            kind = faiss.ScalarQuantizer.QT_8bit
            lists = faiss.IndexIVFScalarQuantizer(
                quantizer, dimensions, n_lists, kind, faiss.METRIC_INNER_PRODUCT, False
            )
            rows = np.sort(random.permutation(n_docs)[: TRAINING * n_lists])
            lists.train(_units(documents[rows]))
            for first in range(0, n_docs, BLOCK):
                lists.add(_units(documents[first : first + BLOCK]))
        sample = _units(documents[np.sort(random.permutation(n_docs)[:SAMPLE])])
        wanted = _exact(sample, documents, min(NEAREST, n_docs))
        n_probes, recall = 1, 0.0
        while n_probes < n_lists:
            recall = _recall(cls(lists, n_probes).nearest(sample, wanted.shape[1]), wanted)
            if recall >= RECALL:
                break
            n_probes *= 2
        _log.info(
            "nearest documents: index of %d vectors made in %.0f s; %d of %d lists find %.3f of the nearest %d.",
            *(n_docs, time.perf_counter() - started, n_probes, n_lists, recall or 1.0, wanted.shape[1]),
        )
        return cls(lists, n_probes)

    def nearest(self, queries: NDArray[np.float32], k: int, threads: int = 1) -> NDArray[np.int64]:
        """Return documents near each query, (n_queries, more than k) int64, -1 for none."""
        import faiss

        n_found = min(int(k * MORE) + 1, self.lists.ntotal)
        with _faiss_threads(threads):
            found: NDArray[np.int64] = self.lists.search(
                _units(queries), n_found, params=faiss.SearchParametersIVF(nprobe=self.n_probes)
            )[1]
        return found


def approximate_index(documents: NDArray[np.float32]) -> ApproximateIndex | None:
    """Return the index of many documents, made once for an array; None where all documents are compared."""
    if len(documents) <= EXACT:
        return None
    if find_spec("faiss") is None:
        _note(len(documents))
        return None
    for known, index in _INDEXES:
        if known is documents:
            return index
    index = ApproximateIndex.build(documents)
    _INDEXES[:] = [(documents, index), *_INDEXES[:1]]
    return index


_INDEXES: list[tuple[NDArray[np.float32], ApproximateIndex]] = []  # of the arrays that were used last


@lru_cache(maxsize=1)
def _note(n_docs: int) -> None:
    _log.info(
        "nearest documents: all %d are compared; `pip install 'lucene-rerank[nearest]'` compares few of them.", n_docs
    )


@contextmanager
def _faiss_threads(count: int) -> Iterator[None]:
    """Set faiss's number of threads in the block."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return vectors (n, dimensions) at length 1; a zero vector remains."""
    norms = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    units: NDArray[np.float32] = np.divide(vectors, norms, out=np.zeros(vectors.shape), where=norms > 0).astype(
        np.float32
    )
    return units


def _exact(queries: NDArray[np.float32], documents: NDArray[np.float32], k: int) -> Ints:
    """Return the nearest k documents of each query, (n_queries, k) int64, in any order."""
    scores, found = np.full((len(queries), 0), 0.0, np.float32), np.empty((len(queries), 0), np.int64)
    for first in range(0, len(documents), BLOCK):
        block = queries @ _units(documents[first : first + BLOCK]).T
        scores = np.concatenate([scores, block], axis=1)
        found = np.concatenate([found, np.broadcast_to(np.arange(first, first + block.shape[1]), block.shape)], axis=1)
        if scores.shape[1] > k:
            best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
            scores, found = np.take_along_axis(scores, best, 1), np.take_along_axis(found, best, 1)
    return found


def _recall(found: Ints, wanted: Ints) -> float:
    """Return the mean share of the wanted documents of each query that are found."""
    return float(np.mean([len(np.intersect1d(*pair)) / wanted.shape[1] for pair in zip(found, wanted, strict=True)]))

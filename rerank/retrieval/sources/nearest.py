"""Documents that are near to the query: by vectors, or by the judgements of similar queries.

Vectors are those of latent semantic indexing or of a user-defined encoder; those from outside make a run, which is a
source of candidates, of features, or of a fusion. Up to 50,000 documents, all are compared; of more, those that an
index finds where the extra `nearest` is installed.

The index is one of the library faiss: inverted lists, four bits a dimension. Documents are divided into about sqrt(n)
lists by k-means; a query is compared with the vectors in an eighth of the lists, those whose centres are nearest, in
four bits a dimension, which the processor compares 32 at a time. Six times as many documents are found as are wanted,
and compared again exactly, so that scores are those of the exact search. k-means runs on one thread and a query is
answered by one, alone, so that the result depends neither on threads nor on other queries.

An index that was made is kept in the cache folder, under the checksum of the vectors.

References
----------
J. Johnson, M. Douze and H. Jegou, Billion-Scale Similarity Search with GPUs, IEEE Transactions on Big Data 7, 2021.
F. Andre, A.-M. Kermarrec and N. Le Scouarnec, Quicker ADC, IEEE TPAMI 43, 2021 (four bits, compared in registers).

"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, log
from rerank.features.match import gather_candidates
from rerank.features.recipe import family
from rerank.files.vectors import checked_vectors, read_vectors
from rerank.retrieval.base import Hits, SearchInputs, Source, best_hits, register
from rerank.runtime.elementary import dot
from rerank.runtime.fields import Record
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_only_view
from rerank.runtime.store import Kind, Stored, kept
from rerank.runtime.threads import in_threads, kernel_threads
from rerank.types import Floats, Ids, Ints, Run
from rerank.vectors.vectors import LSI, unit_vectors

EXACT = 50_000  # documents up to which all are compared
SHARE = 8  # of the lists, one in so many is compared with a query
TRAINING = 64  # vectors of a list that k-means learns from
MORE = 6  # documents that are found for each that is wanted, as four bits a dimension round
BLOCK = 1 << 15
VectorsLike = str | Path | tuple[Any, ArrayLike]
KIND = Kind(
    "rerank nearest documents",
    2,
    "an index of vectors",
    "Delete it, it is made again.",
    Record({}),
    lambda _: {"index": Stored(np.uint8, ("n_bytes",))},
)
_PREPARED: list[tuple[ref[NDArray[np.float32]], Any, NDArray[np.float32]]] = []  # of the arrays that were used last


def prepared(documents: NDArray[np.float32]) -> tuple[Any, NDArray[np.float32]]:
    """Return faiss's index of many documents and no norms, or None and the norms of all; made once for an array."""
    for known, index, norms in _PREPARED:
        if known() is documents:
            return index, norms
    index = _stored_index(documents) if len(documents) > EXACT and find_spec("faiss") is not None else None
    norms = np.empty(len(documents) if index is None else 0, dtype=np.float32)
    _fill_norms(read_only_view(documents[: len(norms)]), norms)
    _PREPARED[:] = [(ref(documents), index, norms), *_PREPARED[:1]]
    return index, norms


def _stored_index(documents: NDArray[np.float32]) -> Any:
    """Return the index of the cache folder, which is made where it is not there or is damaged."""
    import faiss

    checksum = hashlib.sha256(f"faiss {faiss.__version__} {documents.shape} {SHARE}".encode())
    for first in range(0, len(documents), BLOCK):
        checksum.update(documents[first : first + BLOCK].tobytes())
    name = f"nearest-{checksum.hexdigest()}"
    arrays = kept(name, KIND, lambda: {"index": faiss.serialize_index(_made_index(documents))})
    return faiss.deserialize_index(np.array(arrays["index"]))


def _made_index(documents: NDArray[np.float32]) -> Any:
    """Return a new index of the documents (n_docs, dimensions)."""
    import faiss

    started = time.perf_counter()
    n_docs, dimensions = documents.shape
    n_lists = 1 << max(round(np.log2(n_docs) / 2), 1)
    rows = np.sort(np.random.default_rng(0).permutation(n_docs)[: TRAINING * n_lists])
    with _one_faiss_thread():
        index = faiss.index_factory(dimensions, f"IVF{n_lists},PQ{dimensions}x4fs", faiss.METRIC_INNER_PRODUCT)
        index.train(unit_vectors(documents[rows]))
        for first in range(0, n_docs, BLOCK):
            index.add(unit_vectors(documents[first : first + BLOCK]))
    index.nprobe = max(n_lists // SHARE, 1)
    log.info("nearest documents: index of %d vectors made in %.0f s.", n_docs, time.perf_counter() - started)
    return index


def _near(index: Any, query: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return documents near a query (dimensions,), ascending: more than k, as four bits a dimension round."""
    with _one_faiss_thread():
        found: NDArray[np.int64] = index.search(unit_vectors(query[None]), min(MORE * k, index.ntotal))[1][0]
    return np.sort(found[found >= 0])


@contextmanager
def _one_faiss_thread() -> Iterator[None]:
    """Let faiss use one thread in the block, where it is called by this one."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def nearest_hits(
    queries: NDArray[np.float32],
    documents: NDArray[np.float32],
    k: int,
    threads: int | None = None,
    places: Ints | None = None,
) -> list[tuple[Ints, Floats]]:
    """Return the k documents of the greatest cosine above 0 of each query.

    queries    (n_queries, dimensions) float32
    documents  (n_docs, dimensions) float32
    places     as for `best_hits`
    """
    index, norms = prepared(documents)
    documents = read_only_view(documents)
    every = np.arange(len(norms))

    def hits(query: int) -> tuple[Ints, Floats]:
        docs = every if index is None else _near(index, queries[query], k)
        cosines = np.empty(len(docs), dtype=np.float32)
        _fill_cosines(queries[query], documents, docs, norms, cosines)
        scores: Floats = np.asarray(np.round(cosines.astype(np.float64), 6), dtype=np.float64)
        found = np.flatnonzero(scores > 0.0)
        return best_hits(docs[found], scores[found], k, places)

    with kernel_threads(threads) as n_threads:
        return in_threads(hits, range(len(queries)), n_threads)


def nearest_run(
    documents: VectorsLike, queries: VectorsLike, k: int = 1000, *, name: str = "dense", threads: int | None = None
) -> Run:
    """Return the documents of the greatest cosine to each query, by vectors that another system computed.

    Give the run to an index as a source of candidates (`index.using(runs={"dense": run})`, candidates
    `bm25:1000,run:dense.run`), or to `fuse`.

    Parameters
    ----------
    documents, queries : path, or (ids, array of shape (n, dimensions))
        Vectors with their ids: a .npy file with a file of the ids (.ids), a Parquet file, or arrays.
    k : int
        Number of documents of each query; those of a cosine of 0 or less are left out.
    name : str
        Name of the run.
    threads : int, optional
        Number of threads; None is all cores. The run does not depend on it.

    Returns
    -------
    Run
        The documents. Up to 50,000 all are compared; of more, those that an index finds where the extra `nearest` is
        installed.

    Raises
    ------
    InvalidInputError, FileFormatError
        For vectors that are not finite, ids that are there twice, and queries of other dimensions than the documents.

    """
    if not isinstance(k, int | np.integer) or k < 1:
        raise InvalidInputError(f"k: expected a number of documents from 1, got {k!r}. Pass e.g. 1000.")
    doc_ids, vectors = _read(documents)
    query_ids, of_queries = _read(queries)
    if vectors.shape[1] != of_queries.shape[1]:
        raise InvalidInputError(
            f"vectors: expected queries of {vectors.shape[1]} dimensions as the documents have, got "
            f"{of_queries.shape[1]}. Encode both with the same model."
        )
    places = np.argsort(np.argsort(doc_ids))
    return Hits.joined(nearest_hits(of_queries, vectors, int(k), threads, places), name).run(query_ids, doc_ids)


def _read(vectors: VectorsLike) -> tuple[Ids, Any]:
    if isinstance(vectors, str | Path):
        return read_vectors(vectors)
    if not isinstance(vectors, tuple | list) or len(vectors) != 2:
        raise InvalidInputError(
            f"vectors: expected a file, or ids and an array of the same length, got {type(vectors).__name__}. "
            "Pass (ids, array)."
        )
    return checked_vectors(*vectors)


@kernel()
def _fill_norms(documents, out):
    """Fill `out` (n_docs,) with the norms."""
    for doc in range(len(documents)):
        out[doc] = np.sqrt(dot(documents[doc], documents[doc]))


@kernel()
def _fill_cosines(query, documents, docs, norms, out):
    """Fill `out` (n,) with the cosines of a query to the documents of numbers (n,); 0 where either vector is zero.

    norms  of all documents, or none: then they are computed
    """
    of_query = np.sqrt(dot(query, query))
    for row in range(len(docs)):
        document = documents[docs[row]]
        norm = of_query * (norms[docs[row]] if len(norms) else np.sqrt(dot(document, document)))
        out[row] = dot(query, document) / norm if norm > 0.0 else 0.0


@register(LSI)
class Lsi(Source):
    """Cosine of the vectors of query and whole document in all dimensions; documents below 0 are left out."""

    reads = ("vectors",)

    def hits(self, inputs: SearchInputs, k: int) -> Hits:
        """Return the k best documents of each query."""
        if inputs.vectors is None:
            raise InvalidInputError(
                "candidates: expected vectors for the source lsi, got none. Learn them (`rerank vectors INDEX`), or "
                "leave the source out."
            )
        vectors = inputs.vectors
        queries = vectors.queries(LSI, inputs.query_terms)
        nearest = nearest_hits(queries, vectors.all_documents(LSI), k, inputs.threads)
        return Hits.joined(nearest, f"lsi-dimensions={queries.shape[1]}")


@register("encoder")
class EncoderSource(Source):
    """Cosine of the encoder's vectors of query and document; documents below 0 are left out."""

    reads = ("encoder",)

    def hits(self, inputs: SearchInputs, k: int) -> Hits:
        """Return the k best documents of each query."""
        encoded = inputs.encoded
        if encoded is None:
            raise InvalidInputError(
                "candidates: expected an encoder for the source encoder, got none. Bind one (`rerank vectors INDEX "
                "--encoder NAME`, or Index.open(..., encoder=...)), or leave the source out."
            )
        queries = encoded.of_queries(inputs.query_ids)
        return Hits.joined(nearest_hits(queries, encoded.documents, k, inputs.threads), f"encoder-{encoded.name}")


@register("history")
class JudgedNeighbours(Source):
    """The features history.neighbours and history.neighbours_smoothed of each document, added up.

    The judgements of a query itself and of its near duplicates do not find its documents.
    """

    learned = True
    reads = ("history", "vectors")

    def hits(self, inputs: SearchInputs, k: int) -> Hits:
        """Return the k best documents of each query."""
        if inputs.history is None:
            raise InvalidInputError(
                "candidates: expected a history for the source history, got none. Learn it (`rerank history INDEX "
                "TOPICS QRELS`), or leave the source out."
            )
        ptr = np.zeros(len(inputs.query_ids) + 1, dtype=np.int64)
        queries = gather_candidates(inputs.forward, inputs.query_terms, ptr, ptr[:0], np.zeros(0))
        queries = replace(queries, query_ids=inputs.query_ids, history=inputs.history)
        member: Any = family("history.neighbours")
        prepared = member.prepared(inputs.history, inputs.vectors)

        def found(query: Any) -> tuple[Ints, Floats]:
            scores = member.all_scores(prepared, inputs.history, query)
            docs = np.flatnonzero(scores > 0.0)
            return best_hits(docs, scores[docs], k)

        return Hits.joined(map(found, queries.history_queries), "history-neighbours")

"""Documents that are near to the query: by vectors, or by the judgements of similar queries.

Vectors are those of latent semantic indexing or of a user-defined encoder. Vectors that another system computed make a
run, which is a source of candidates, of features, or of a fusion. Documents whose cosine cannot be among the k greatest
are skipped by their codes (`rerank.vectors.coded`), which does not change the result.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError
from rerank.features.family import family
from rerank.features.match import gather_candidates
from rerank.files.vectors import checked_vectors, read_vectors
from rerank.retrieval.base import Hits, SearchInputs, Source, best_hits, register
from rerank.runtime.elementary import dot
from rerank.runtime.fields import COUNT, read_at
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_only_view
from rerank.runtime.threads import in_threads, kernel_threads
from rerank.types import Floats, Ids, Ints, Run
from rerank.vectors.coded import CodedVectors
from rerank.vectors.vectors import LSI

VectorsLike = str | Path | tuple[Any, ArrayLike]
_CODED: list[tuple[ref[NDArray[np.float32]], CodedVectors]] = []  # the two arrays that were used last, and their codes


def _coded(documents: NDArray[np.float32]) -> CodedVectors:
    """Return the codes of an array, which must not change: they are computed once."""
    for known, coded in _CODED:
        if known() is documents:
            return coded
    coded = CodedVectors.of(documents)
    _CODED[:] = [(ref(documents), coded), *_CODED[:1]]
    return coded


def nearest_hits(
    queries: NDArray[np.float32],
    documents: NDArray[np.float32],
    k: int,
    threads: int | None = None,
    places: Ints | None = None,
) -> list[tuple[Ints, Floats]]:
    """Return the k documents of the greatest cosine above 0 of each query.

    queries    (n_queries, dimensions) float32
    documents  (n_docs, dimensions) float32, an array that does not change: its codes are kept
    places     as for `best_hits`
    """
    coded = _coded(documents)
    documents = read_only_view(documents)

    def hits(query: int) -> tuple[Ints, Floats]:
        docs = coded.possible(queries[query], k)
        cosines = np.empty(len(docs), dtype=np.float32)
        _fill_cosines(queries[query], documents, docs, coded.norms, cosines)
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
        Number of documents of each query; documents with a cosine of 0 or less are left out.
    name : str
        Name of the run.
    threads : int, optional
        Number of threads; None is all cores. The run does not depend on it.

    Returns
    -------
    Run
        The documents.

    Raises
    ------
    InvalidInputError, FileFormatError
        For vectors that are not finite, ids that occur twice, and queries of other dimensions than the documents.

    """
    k = read_at("k", COUNT, k)
    doc_ids, vectors = _read(documents)
    query_ids, of_queries = _read(queries)
    if vectors.shape[1] != of_queries.shape[1]:
        raise InvalidInputError(
            f"vectors: expected queries of {vectors.shape[1]} dimensions as the documents have, got "
            f"{of_queries.shape[1]}. Encode both with the same model."
        )
    places = np.argsort(np.argsort(doc_ids))
    # A view is a new array, so that codes are computed anew: the caller may have changed the numbers.
    return Hits.joined(nearest_hits(of_queries, vectors[:], int(k), threads, places), name).run(query_ids, doc_ids)


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
def _fill_cosines(query, documents, docs, norms, out):
    """Fill `out` (n,) with the cosines of a query to the documents of numbers (n,); 0 where either vector is zero.

    norms  (n_docs,) of all documents
    """
    of_query = np.sqrt(dot(query, query))
    for row in range(len(docs)):
        norm = of_query * norms[docs[row]]
        out[row] = dot(query, documents[docs[row]]) / norm if norm > 0.0 else 0.0


@register(LSI)
class Lsi(Source):
    """Cosine of the vectors of query and whole document in all dimensions; documents of 0 or less are left out."""

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
    """Cosine of the encoder's vectors of query and document; documents of 0 or less are left out."""

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
    """The sum of the features history.neighbours and history.neighbours_smoothed of each document.

    The judgements of the query itself and of its near duplicates are not used.
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

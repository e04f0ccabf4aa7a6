"""The documents whose vectors are nearest to the query's: latent semantic indexing, or a user-defined encoder.

Up to 50,000 documents, all are compared; of more, those that an index finds where the extra `nearest` is installed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.retrieval.approximate import approximate_index
from rerank.retrieval.base import Hits, SearchInputs, Source, best_hits, register, run_of
from rerank.runtime.elementary import dot
from rerank.runtime.kernels import kernel
from rerank.runtime.threads import in_threads, kernel_threads
from rerank.runtime.views import read_only_view
from rerank.types import Floats, Run
from rerank.types.ids import Ids
from rerank.vectors.space import LSI

_QUERIES = 64  # compared at a time
_DECIMALS = 6


def nearest_hits(
    queries: NDArray[np.float32], documents: NDArray[np.float32], doc_ids: Ids, k: int, threads: int | None = None
) -> Iterator[Hits]:
    """Yield the k documents of the greatest cosine above 0 of each query.

    Shapes: queries float32 (n_queries, dimensions); documents float32 (n_docs, dimensions); doc_ids (n_docs,).
    """
    index = approximate_index(documents)
    documents = read_only_view(documents)
    norms = np.empty(len(documents) if index is None else 0, dtype=np.float32)
    _fill_norms(documents[: len(norms)], norms)
    every = np.arange(len(norms))

    def hits(query: int) -> Hits:
        docs = every if index is None else index.nearest(queries[query], k)
        cosines = np.empty(len(docs), dtype=np.float32)
        _fill_cosines(queries[query], documents, docs, norms, cosines)
        scores: Floats = np.asarray(np.round(cosines.astype(np.float64), _DECIMALS), dtype=np.float64)
        found = np.flatnonzero(scores > 0.0)
        return best_hits(docs[found], scores[found], doc_ids, k)

    with kernel_threads(threads) as n_threads:
        for first in range(0, len(queries), _QUERIES):
            yield from in_threads(hits, range(first, min(first + _QUERIES, len(queries))), n_threads)


@kernel()
def _fill_norms(documents, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n_docs,) with the norms."""
    for doc in range(len(documents)):
        out[doc] = np.sqrt(dot(documents[doc], documents[doc]))


@kernel()
def _fill_cosines(query, documents, docs, norms, out):  # type: ignore[no-untyped-def]
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

    def search(self, inputs: SearchInputs, k: int) -> Run:
        """Return the k best documents of each query."""
        if inputs.vectors is None:
            raise InvalidInputError(
                "candidates: expected vectors for the source lsi, got none. Learn them (`rerank vectors INDEX`), or "
                "leave the source out."
            )
        vectors = inputs.vectors
        queries = vectors.queries(LSI, inputs.query_terms)
        hits = nearest_hits(queries, vectors.all_documents(LSI), inputs.forward.doc_ids, k, inputs.threads)
        return run_of(inputs, hits, f"lsi-dimensions={queries.shape[1]}")


@register("encoder")
class EncoderSource(Source):
    """Cosine of the encoder's vectors of query and document; documents below 0 are left out."""

    reads = ("encoder",)

    def search(self, inputs: SearchInputs, k: int) -> Run:
        """Return the k best documents of each query."""
        given = inputs.encoded
        if given is None:
            raise InvalidInputError(
                "candidates: expected an encoder for the source encoder, got none. Bind one (`rerank vectors INDEX "
                "--encoder module:function`, or Index.open(..., encoder=...)), or leave the source out."
            )
        queries = given.of_queries(inputs.query_ids)
        hits = nearest_hits(queries, given.documents, inputs.forward.doc_ids, k, inputs.threads)
        return run_of(inputs, hits, f"encoder-{given.name}")

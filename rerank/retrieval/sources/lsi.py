"""Latent semantic indexing: the documents whose vectors are nearest to the query's."""

from __future__ import annotations

from rerank.errors import InvalidInputError
from rerank.retrieval.base import SearchInputs, Source, register, run_of
from rerank.retrieval.nearest import nearest_hits
from rerank.types import Run
from rerank.vectors.space import LSI


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

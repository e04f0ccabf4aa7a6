"""A user-defined encoder: the documents whose vectors are nearest to the query's."""

from __future__ import annotations

from rerank.errors import InvalidInputError
from rerank.retrieval.base import SearchInputs, Source, register, run_of
from rerank.retrieval.nearest import nearest_hits
from rerank.types import Run


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

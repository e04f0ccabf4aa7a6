"""BM25."""

from __future__ import annotations

from rerank.retrieval.base import SearchInputs, Source, register
from rerank.types import Run
from rerank.types.retriever import BM25


@register(BM25)
class Bm25(Source):
    """Lucene's BM25, as `Index.search`."""

    def search(self, inputs: SearchInputs, k: int) -> Run:
        """Return the k best documents of each query."""
        return inputs.bm25_run(k)

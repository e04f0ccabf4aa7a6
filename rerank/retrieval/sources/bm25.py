"""BM25 by Lucene."""

from rerank.retrieval.base import Hits, SearchInputs, Source, register
from rerank.types import BM25


@register(BM25)
class Bm25(Source):
    """Lucene's BM25, as `Index.search`."""

    def hits(self, inputs: SearchInputs, k: int) -> Hits:
        """Return the k best documents of each query."""
        run = inputs.bm25(k)
        return Hits(run.query_ptr, inputs.forward.doc_numbers(run.doc_ids), run.scores, run.name)

"""LangChain: a document compressor, for `ContextualCompressionRetriever` or any chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, PrivateAttr

from rerank.plugins.texts import TextReranker
from rerank.rankers.warm_start import UNSUPERVISED
from rerank.types.retriever import CONTENTS


class RerankCompressor(BaseDocumentCompressor):
    """Order documents by a model and keep the best.

    Parameters
    ----------
    index : Index or path
        The index whose statistics are used.
    model : Ranker or path
        The model or its file; by default the ranking that needs no judgements.
    top_n : int, optional
        Documents to keep; by default all.
    field : str
        The field of the index that `page_content` fills.

    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    index: Any
    model: Any = UNSUPERVISED
    top_n: int | None = None
    field: str = CONTENTS
    _texts: TextReranker = PrivateAttr()

    def model_post_init(self, context: object, /) -> None:
        """Open the index and load the model."""
        self._texts = TextReranker(self.index, self.model, self.field)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return copies of the best documents, best first, with the score as `metadata["relevance_score"]`."""
        ranked = self._texts.order(query, [document.page_content for document in documents], self.top_n)
        return [
            documents[number].model_copy(update={"metadata": {**documents[number].metadata, "relevance_score": score}})
            for number, score in ranked
        ]

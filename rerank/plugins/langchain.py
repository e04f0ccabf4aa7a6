"""LangChain: a retriever, and a document compressor for `ContextualCompressionRetriever` or any chain."""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    Callbacks,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import run_in_executor
from pydantic import ConfigDict, Field, PrivateAttr

from rerank.plugins.texts import DocumentRetriever, TextReranker
from rerank.rankers.bases import UNSUPERVISED


class RerankCompressor(BaseDocumentCompressor):
    """Order documents by a model and keep the best ones.

    Parameters
    ----------
    index : Index or path, optional
        The index whose statistics are used; by default those that the model holds.
    model : Ranker or path
        The model or its file; by default the ranking that needs no judgements.
    top_n : int, optional
        Documents to keep; by default all.
    field : str, optional
        The field of the index that `page_content` fills; by default the field with most of the index's words. Metadata
        with the names of other fields or numbers of the index fill these.
    min_score, abstain : float, optional
        Least probability that a document is relevant, and that any document is; documents below the first are left out,
        and below the second all are. Only for a calibrated model, whose scores are probabilities.

    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    index: Any = Field(None, frozen=True)
    model: Any = Field(UNSUPERVISED, frozen=True)
    top_n: int | None = Field(None, ge=1)
    field: str | None = Field(None, frozen=True)
    min_score: float | None = Field(None, frozen=True)
    abstain: float | None = Field(None, frozen=True)
    _texts: TextReranker = PrivateAttr()

    def model_post_init(self, context: object, /) -> None:
        """Open the index and load the model."""
        self._texts = TextReranker(self.index, self.model, self.field, min_score=self.min_score, abstain=self.abstain)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return copies of the best documents, best first, with their score in `metadata["score"]`.

        `metadata["relevance_score"]` is the same score where the model is calibrated (a probability), otherwise None.
        Where the index keeps passages, `metadata["passage"]` is the best one.
        """
        texts = [(document.page_content, document.metadata) for document in documents]
        return [
            documents[number].model_copy(
                update={"metadata": {**documents[number].metadata, **_scores(score, self._texts), **passage}}
            )
            for number, score, passage in self._texts.order_with_passages(query, texts, self.top_n)
        ]


class RerankRetriever(BaseRetriever):
    """Find documents of an index, and order them with a model.

    Parameters
    ----------
    index : Index or path
        The index, which stores its documents.
    model : Ranker or path, optional
        The model or its file; it determines the candidates. By default the ranking that needs no judgements.
    candidates : str, optional
        Sources (`bm25`, `lsi`, `encoder`) whose documents are returned in their own order, in place of a model, e.g.
        for a fusion in the chain.
    k : int
        Documents to return.
    min_score, abstain : float, optional
        As for `RerankCompressor`.

    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    index: Any = Field(frozen=True)
    model: Any = Field(None, frozen=True)
    candidates: str | None = Field(None, frozen=True)
    k: int = Field(10, ge=1)
    min_score: float | None = Field(None, frozen=True)
    abstain: float | None = Field(None, frozen=True)
    _retriever: DocumentRetriever = PrivateAttr()

    def model_post_init(self, context: object, /) -> None:
        """Open the index and load the model."""
        self._retriever = DocumentRetriever(
            self.index, self.model, self.candidates, min_score=self.min_score, abstain=self.abstain
        )

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        """Return the best documents, best first, with the scores of `RerankCompressor` in their metadata."""
        return [
            Document(
                id=doc_id, page_content=text, metadata={**metadata, "id": doc_id, **_scores(score, self._retriever)}
            )
            for doc_id, score, text, metadata in self._retriever.find(query, self.k if k is None else k)
        ]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        """Return the same, from a thread."""
        return await run_in_executor(None, self._get_relevant_documents, query, run_manager=run_manager.get_sync(), k=k)


def _scores(score: float, ranking: TextReranker | DocumentRetriever) -> dict[str, float | None]:
    """Return the score, also as `relevance_score` where it is a probability, which is None otherwise."""
    return {"score": score, "relevance_score": None if ranking.cutoff is None else score}

"""The `rerankers` library: a ranker with its interface."""

from __future__ import annotations

from pathlib import Path

from rerankers.documents import Document
from rerankers.models.ranker import BaseRanker
from rerankers.results import RankedResults, Result
from rerankers.utils import prep_docs

from rerank.plugins.texts import TextReranker
from rerank.rankers.ranker import Ranker
from rerank.workflows.index import Index


class RerankRanker(BaseRanker):
    """Order documents by a model.

    Parameters
    ----------
    index : Index or path
        The index whose statistics are used.
    model : Ranker or path
        The model or its file.
    field : str, optional
        The field of the index that the texts fill; by default that with most of the index's words. Metadata of
        documents that are named as other fields or numbers of the index fill these.

    """

    def __init__(self, index: Index | str | Path, model: Ranker | str | Path, field: str | None = None) -> None:
        self.ranking_type = "pointwise"
        self._texts = TextReranker(index, model, field)

    def rank(
        self,
        query: str,
        docs: str | list[str] | Document | list[Document],
        doc_ids: list[str] | list[int] | None = None,
    ) -> RankedResults:
        """Return all documents, best first."""
        documents = prep_docs(docs, doc_ids)
        texts = [self._texts.with_metadata(each.text, each.metadata or {}) for each in documents]
        ranked = self._texts.order(query, texts)
        results = [
            Result(document=documents[number], score=score, rank=rank)
            for rank, (number, score) in enumerate(ranked, start=1)
        ]
        return RankedResults(results=results, query=query, has_scores=True)

    def score(self, query: str, doc: str) -> float:
        """Return the score of one text."""
        return self._texts.order(query, [doc])[0][1]

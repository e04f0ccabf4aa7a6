"""The `rerankers` library: a ranker with its interface."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rerankers.documents import Document
from rerankers.models.ranker import BaseRanker
from rerankers.results import RankedResults, Result
from rerankers.utils import prep_docs

from rerank.errors import InvalidInputError, shown
from rerank.index.index import Index
from rerank.plugins.texts import TextReranker
from rerank.rankers.bases import UNSUPERVISED
from rerank.rankers.ranker import Ranker


class RerankRanker(BaseRanker):
    """Order documents by a model.

    Parameters
    ----------
    index : Index or path, optional
        The index whose statistics are used; by default those that the model holds.
    model : Ranker or path
        The model or its file; by default the ranking that needs no judgements.
    field : str, optional
        The field of the index that the texts fill; by default that with most of the index's words. Metadata of
        documents that are named as other fields or numbers of the index fill these.
    min_score, abstain : float, optional
        Least probability of a document, and that any document is relevant; below these, documents are left out. Only
        for a calibrated model, whose scores are probabilities.

    """

    def __init__(
        self,
        index: Index | str | Path | None = None,
        model: Ranker | str | Path = UNSUPERVISED,
        field: str | None = None,
        *,
        min_score: float | None = None,
        abstain: float | None = None,
    ) -> None:
        self.ranking_type = "pointwise"
        self._texts = TextReranker(index, model, field, min_score=min_score, abstain=abstain)

    def rank(
        self,
        query: str,
        docs: str | list[str] | Document | list[Document],
        doc_ids: list[str] | list[int] | None = None,
        metadata: list[dict[str, Any]] | dict[str, Any] | None = None,
    ) -> RankedResults:
        """Return the documents, best first: all, but where the model has a least probability.

        Parameters
        ----------
        query : str
            The query.
        docs : str, list of str, Document or list of Document
            The documents.
        doc_ids : list of str or int, optional
            Their ids.
        metadata : list of dict, optional
            Their metadata, in place of their own; of one document also a dict.

        Returns
        -------
        RankedResults
            The results.

        """
        documents = [] if isinstance(docs, list) and not docs else prep_docs(docs, doc_ids)
        if metadata is not None:
            listed = [metadata] if isinstance(metadata, Mapping) else list(metadata)
            if len(listed) != len(documents) or not all(isinstance(own, Mapping | None) for own in listed):
                raise InvalidInputError(
                    f"metadata: expected a dict for each of {len(documents)} documents, got {shown(metadata)}. Pass a "
                    "list of them."
                )
            for document, own in zip(documents, listed, strict=True):
                document.metadata = own
        texts = [self._texts.with_metadata(document.text, document.metadata or {}) for document in documents]
        ranked = self._texts.order(query, texts)
        return RankedResults(
            results=[
                Result(document=documents[number], score=score, rank=rank)
                for rank, (number, score) in enumerate(ranked, start=1)
            ],
            query=query,
            has_scores=True,
        )

    def score(self, query: str, doc: str) -> float:
        """Return the score of one text, 0 where it is left out."""
        ranked = self._texts.order(query, [doc])
        return ranked[0][1] if ranked else 0.0

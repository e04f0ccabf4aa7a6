"""A ranker with the interface of the `rerankers` library."""

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
        The model or its file; by default the unsupervised ranking.
    field : str, optional
        The field of the index that the texts fill; by default the one with most of the index's words. Other fields,
        and numbers, of the index are filled from metadata of the same names.
    min_score, abstain : float, optional
        Least probability that a document is relevant, and that any document of the query is. Documents below the
        first are left out; below the second, all are. Only for a calibrated model, whose scores are probabilities.

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
        """Return the documents, best first; `min_score` and `abstain` may leave some out.

        Parameters
        ----------
        query : str
            The query.
        docs : str, list of str, Document or list of Document
            The documents.
        doc_ids : list of str or int, optional
            Ids of the documents.
        metadata : list of dict, optional
            Metadata of the documents, in place of what they have; for one document also a dict.

        Returns
        -------
        RankedResults
            The documents with score and rank.

        """
        documents = [] if isinstance(docs, list) and not docs else prep_docs(docs, doc_ids)
        if metadata is not None:
            listed = [metadata] if isinstance(metadata, Mapping) else list(metadata)
            if len(listed) != len(documents) or not all(isinstance(own, Mapping | None) for own in listed):
                raise InvalidInputError(
                    f"metadata: expected a dict for each of {len(documents)} documents, got {shown(metadata)}. Pass a "
                    "list of dicts."
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

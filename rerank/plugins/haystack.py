"""Haystack: a retriever and a ranker for pipelines."""

from dataclasses import replace
from inspect import signature
from math import inf
from pathlib import Path
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from rerank.plugins.texts import DocumentRetriever, TextReranker
from rerank.rankers.bases import UNSUPERVISED


class Stored:
    """A component that the file of a pipeline stores as its parameters."""

    def to_dict(self) -> dict[str, Any]:
        """Return the class and the parameters."""
        initialise: Any = self.__init__  # type: ignore[misc]
        values = {name: getattr(self, name) for name in signature(initialise).parameters}
        plain = {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}
        return default_to_dict(self, **plain)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Return a component with the parameters that `to_dict` stored."""
        return default_from_dict(cls, data)


@component
class RerankRanker(Stored):
    """Order documents by a model and keep the best.

    Parameters
    ----------
    index : str or Path, optional
        Folder of the index whose statistics are used; by default those that the model holds.
    model : str or Path
        File of the model; by default the ranking that needs no judgements.
    top_k : int, optional
        Documents to keep; by default all.
    field : str, optional
        The field of the index that `content` fills; by default the one with most words in the index. Entries of
        `meta` fill the other fields and numbers of the index that have their names.
    min_score, abstain : float, optional
        Least probability of a document, and least probability that any document is relevant; documents below are left
        out. Only for a calibrated model, whose scores are then probabilities.

    """

    def __init__(
        self,
        index: str | Path | None = None,
        model: str | Path = UNSUPERVISED,
        top_k: int | None = None,
        field: str | None = None,
        min_score: float | None = None,
        abstain: float | None = None,
    ) -> None:
        self.index = index
        self.model = model
        self.top_k = top_k
        self.field = field
        self.min_score = min_score
        self.abstain = abstain
        self._texts: TextReranker | None = None

    def warm_up(self) -> None:
        """Open the index and load the model, once."""
        if self._texts is None:
            self._texts = TextReranker(
                self.index, self.model, self.field, min_score=self.min_score, abstain=self.abstain
            )

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        """Return copies of the best documents with the model's scores, best first.

        As in Haystack's rankers, a document without content (a table, an image) has the empty text, and of several
        documents with the same id, the one with the highest score is kept. If the index keeps passages,
        `meta["passage"]` is the best passage.
        """
        self.warm_up()
        opened: Any = self._texts
        documents = _each_once(documents)
        texts = [(document.content or "", document.meta) for document in documents]
        ranked = opened.order_with_passages(query, texts, self.top_k if top_k is None else top_k)
        return {
            "documents": [
                replace(documents[number], score=score, meta={**documents[number].meta, **passage})
                for number, score, passage in ranked
            ]
        }


def _each_once(documents: list[Document]) -> list[Document]:
    """Return one document of each id: the first with the highest score, at the place of the first."""
    best: dict[str, Document] = {}
    for document in documents:
        known = best.setdefault(document.id, document)
        if (-inf if document.score is None else document.score) > (-inf if known.score is None else known.score):
            best[document.id] = document
    return list(best.values())


@component
class RerankRetriever(Stored):
    """Find documents of an index, and order them with a model.

    Parameters
    ----------
    index : str or Path
        Folder of the index, which stores its documents.
    model : str or Path, optional
        File of the model, which finds its candidates itself; by default the ranking that needs no judgements.
    candidates : str, optional
        In place of a model, sources whose documents are returned in their order (`bm25`, `lsi`, `encoder`), e.g. for
        `DocumentJoiner`.
    top_k : int
        Documents to return.
    min_score, abstain : float, optional
        As for `RerankRanker`.

    """

    def __init__(
        self,
        index: str | Path,
        model: str | Path | None = None,
        candidates: str | None = None,
        top_k: int = 10,
        min_score: float | None = None,
        abstain: float | None = None,
    ) -> None:
        self.index = index
        self.model = model
        self.candidates = candidates
        self.top_k = top_k
        self.min_score = min_score
        self.abstain = abstain
        self._retriever: DocumentRetriever | None = None

    def warm_up(self) -> None:
        """Open the index and load the model, once."""
        if self._retriever is None:
            self._retriever = DocumentRetriever(
                self.index, self.model, self.candidates, min_score=self.min_score, abstain=self.abstain
            )

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the best documents with the model's scores, best first."""
        self.warm_up()
        opened: Any = self._retriever
        return {
            "documents": [
                Document(id=doc_id, content=text, meta=metadata, score=score)
                for doc_id, score, text, metadata in opened.find(query, self.top_k if top_k is None else top_k)
            ]
        }

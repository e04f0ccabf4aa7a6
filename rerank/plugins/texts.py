"""An index and a model, opened once, for plugins of frameworks: they reorder given texts, or retrieve documents."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rerank.errors import InvalidInputError, shown
from rerank.index.best_passages import stored_texts, text_passages
from rerank.index.bound_model import BoundModel
from rerank.index.collection import Collection
from rerank.index.index import Index
from rerank.index.query_texts import listed
from rerank.index.text_collection import model_for_texts
from rerank.lucene.documents import is_text, stored_fields
from rerank.lucene.text_documents import number_in
from rerank.rankers.bases import UNSUPERVISED
from rerank.rankers.cutoff import Cutoff
from rerank.rankers.ranker import Ranker
from rerank.runtime.fields import COUNT, read_at
from rerank.types import Topics
from rerank.types.data_frames import plain_value
from rerank.types.ids import QUERY
from rerank.types.retriever import CONTENTS


class TextReranker:
    """Order texts for a query with a model, by the statistics that the model holds, or those of an index.

    Parameters
    ----------
    index : Index or path, optional
        The index whose analyser and statistics are used; it need not hold the texts. By default those that the model
        holds; without a model, those of the texts of each call.
    model : Ranker or path
        A ranker of `rerank.train`, or its file; by default the unsupervised ranker.
    field : str, optional
        The field that the texts fill, see `Index.text_features`; by default the one with most of the index's words.
    min_score, abstain : float, optional
        Least probability that a text is relevant, and that any text of the query is, as in `Cutoff`; only for a
        calibrated model.

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
        self.bound = model_for_texts(model, index if index is None or isinstance(index, Index) else Index.open(index))
        self.field = self.collection.main_field if field is None else field
        self.cutoff = _cutoff(self.bound.model, min_score, abstain)

    @property
    def collection(self) -> Collection:
        """What the statistics are from: the index, or what the model holds in its place."""
        return self.bound.index

    def with_metadata(self, text: str, metadata: Mapping[str, Any]) -> str | dict[str, Any]:
        """Return a document of a text and the metadata that the model can read; the text alone where there are none.

        The model reads fields and numbers of the index, and scores of the runs that it was trained with, by name. NUL
        and lone surrogates, which text extraction may leave, become blanks and question marks.
        """
        if not isinstance(text, str):
            raise InvalidInputError(f"text: expected text, got {shown(text)}. Pass the text of each document.")
        forward = self.collection.forward
        fields = forward.fields.keys() - {CONTENTS}
        numbers = {*forward.numbers, *(self.bound.recipe.runs or ())}
        known = {name: plain_value(value) for name, value in metadata.items() if name in fields | numbers}
        texts = {name: value for name, value in known.items() if name in fields and is_text(value)} | {self.field: text}
        texts = {name: value if isinstance(value, str) else " ".join(value) for name, value in texts.items()}
        values = {name: number_in(value) for name, value in known.items() if name in numbers}
        document: dict[str, Any] = {
            **{name: part.encode("utf8", "replace").decode("utf8").replace("\0", " ") for name, part in texts.items()},
            **{name: value for name, value in values.items() if value is not None},
        }
        return document if len(document) > 1 else str(document[self.field])

    def order(
        self, query: str, documents: Sequence[str | Mapping[str, Any]], k: int | None = None
    ) -> list[tuple[int, float]]:
        """Return the position in `documents`, from 0, and the score of each of the k best, best first.

        All are returned where k is None. Scores are probabilities of relevance where the model is calibrated.
        """
        if not documents:
            return []
        ranked = self.bound.rerank_texts(query, listed(documents), k, None, self.field, self.cutoff)
        return [(int(text.document), float(text.score)) for text in ranked]

    def order_with_passages(
        self, query: str, documents: Sequence[tuple[str, Mapping[str, Any]]], k: int | None = None
    ) -> list[tuple[int, float, dict[str, str]]]:
        """Return what `order` does for texts with metadata, and for each text a dict with its best `passage`.

        The dict is empty where the index keeps no passages.
        """
        texts = [self.with_metadata(text, metadata) for text, metadata in documents]
        ranked = self.order(query, texts, k)
        if self.collection.passages is None or not ranked:
            return [(number, score, {}) for number, score in ranked]
        passages = text_passages(self.collection, query, [texts[number] for number, _ in ranked], self.field)
        return [(*pair, {"passage": passage.text}) for pair, passage in zip(ranked, passages, strict=True)]


class Found(NamedTuple):
    """A document of an index: id, score, text, and the other stored fields."""

    doc_id: str
    score: float
    text: str
    metadata: dict[str, Any]


class DocumentRetriever:
    """Find documents of an index, and order them with a model.

    Parameters
    ----------
    index : Index or path
        The index, which stores its documents.
    model : Ranker or path, optional
        A ranker that was trained on features of this index, or its file; the model finds its candidates itself. By
        default the unsupervised ranker.
    candidates : str, optional
        In place of a model: sources whose documents are returned in the sources' order, e.g. `lsi`; see `Index.search`.
    min_score, abstain : float, optional
        Least probability that a document is relevant, and that any document of the query is, as in `Cutoff`; only for a
        calibrated model.

    """

    def __init__(
        self,
        index: Index | str | Path,
        model: Ranker | str | Path | None = None,
        candidates: str | None = None,
        *,
        min_score: float | None = None,
        abstain: float | None = None,
    ) -> None:
        if candidates is not None and not (model is None and min_score is None and abstain is None):
            raise InvalidInputError(
                "candidates: expected no model, min_score or abstain together with candidates, got one. Leave "
                "candidates out: a model finds its own."
            )
        self.index = index if isinstance(index, Index) else Index.open(index)
        self.candidates = candidates
        self.bound = None if candidates is not None else BoundModel.of(self.index, model or UNSUPERVISED)
        self.cutoff = None if self.bound is None else _cutoff(self.bound.model, min_score, abstain)

    def find(self, query: str, k: int) -> list[Found]:
        """Return the k best documents, best first; scores are probabilities where the model is calibrated.

        Where the index keeps passages, the metadata have each document's best one as `passage`.
        """
        k = read_at("k", COUNT, k)
        if self.bound is None:
            run = self.index.search({QUERY: query}, k, candidates=str(self.candidates))
        else:
            run = self.bound.rerank(Topics({QUERY: query}), None, None, cutoff=self.cutoff)
        run = run.take(run.trec_order()).head(k)
        numbers = self.index.forward.doc_numbers(run.doc_ids)
        field = self.index.main_field
        texts = stored_texts(self.index, numbers, field)
        stored = [stored_fields(raw) for raw in self.index.kept_documents(numbers)]
        others = [{name: value for name, value in document.items() if name != field} for document in stored]
        if self.index.passages is not None:
            others = [
                {**metadata, "passage": passage.text}
                for metadata, passage in zip(others, self.index.best_passages(run, {QUERY: query}), strict=True)
            ]
        return list(map(Found, run.doc_ids.tolist(), run.scores.tolist(), texts, others))


def _cutoff(model: Ranker, min_score: float | None, abstain: float | None) -> Cutoff | None:
    """Return the cutoff of a calibrated model, None for another model; refuse least probabilities for the latter."""
    cutoff = Cutoff.of(min_score, abstain)
    if cutoff is not None:
        model.calibrated()
    return None if model.calibration_ is None else cutoff or Cutoff()

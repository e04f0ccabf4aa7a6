"""An index and a model, opened once: shared by the plugins of frameworks that pass texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rerank.lucene.documents import is_text
from rerank.rankers.ranker import Ranker
from rerank.rankers.warm_start import UNSUPERVISED
from rerank.types.retriever import CONTENTS
from rerank.workflows.applying import model_recipe
from rerank.workflows.cutoff import Cutoff
from rerank.workflows.index import Index
from rerank.workflows.unsupervised import applied_model


class TextReranker:
    """Order texts for a query with a model, by the statistics of an index.

    Parameters
    ----------
    index : Index or path
        The index whose analyser and statistics are used; it need not hold the texts.
    model : Ranker or path
        A ranker that was trained on features of this index, or its file; by default the one that needs no judgements.
    field : str, optional
        The field that the texts fill, see `Index.text_features`; by default that with most of the index's words.
    min_score, abstain : float, optional
        Least probability of a text, and that any text is relevant, as in `Cutoff`; only for a calibrated model.

    """

    def __init__(
        self,
        index: Index | str | Path,
        model: Ranker | str | Path = UNSUPERVISED,
        field: str | None = None,
        *,
        min_score: float | None = None,
        abstain: float | None = None,
    ) -> None:
        self.index = index if isinstance(index, Index) else Index.open(index)
        self.model = applied_model(model, self.index, union=False)
        self.field = self.index.main_field if field is None else field
        self.cutoff = None if self.model.calibration_ is None else Cutoff(min_score or 0.0, abstain or 0.0)
        if min_score is not None or abstain is not None:
            self.model.calibrated()

    def with_metadata(self, text: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return a document of a text and those of its metadata that the model can read.

        These are fields and numbers of the index, and scores of the runs that the model was trained with, by name.
        """
        runs = model_recipe(self.model).runs or ()
        fields, numbers = self.index.forward.fields.keys() - {CONTENTS}, {*self.index.forward.numbers, *runs}
        texts = {name: value for name, value in metadata.items() if name in fields and is_text(value)}
        values = {name: value for name, value in metadata.items() if name in numbers and type(value) in (int, float)}
        return {**texts, **values, self.field: text}

    def order(
        self, query: str, documents: Sequence[str | Mapping[str, Any]], k: int | None = None
    ) -> list[tuple[int, float]]:
        """Return the position in `documents`, from 0, and the score of the k best, best first.

        Scores are probabilities of relevance where the model is calibrated.
        """
        if not documents:
            return []
        ranked = self.index.rerank_texts(self.model, query, list(documents), k, field=self.field, cutoff=self.cutoff)
        return [(int(text.document), float(text.score)) for text in ranked]

    def passages(self, query: str, documents: Sequence[str | Mapping[str, Any]]) -> list[dict[str, str]]:
        """Return metadata with the best passage of each document; without it where the index keeps no passages."""
        if self.index.passages is None or not documents:
            return [{} for _ in documents]
        return [{"passage": each.text} for each in self.index.text_passages(query, documents, field=self.field)]

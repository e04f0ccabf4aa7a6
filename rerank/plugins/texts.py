"""An index and a model, opened once: shared by the plugins of frameworks that pass texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rerank.rankers.ranker import Ranker
from rerank.rankers.warm_start import UNSUPERVISED
from rerank.types.retriever import CONTENTS
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
    field : str
        The field that the texts fill, see `Index.text_features`.

    """

    def __init__(
        self, index: Index | str | Path, model: Ranker | str | Path = UNSUPERVISED, field: str = CONTENTS
    ) -> None:
        self.index = index if isinstance(index, Index) else Index.open(index)
        self.model = applied_model(model, self.index, union=False)
        self.field = field

    def order(
        self, query: str, documents: Sequence[str | Mapping[str, str]], k: int | None = None
    ) -> list[tuple[int, float]]:
        """Return the position in `documents`, from 0, and the score of the k best, best first."""
        if not documents:
            return []
        ranked = self.index.rerank_texts(self.model, query, list(documents), k, field=self.field)
        return [(int(text.document), float(text.score)) for text in ranked]

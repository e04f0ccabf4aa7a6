"""The document family: functions of the user's own over the raw document (`@rerank.feature(over="document")`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.features.functions import Function, functions
from rerank.features.match import Candidates
from rerank.features.recipe import Recipe
from rerank.features.registry import Feature, RunFamily


class DocumentFeatures(RunFamily):
    """A feature for each function of your own over the raw document."""

    alone = True

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [function.feature for function in _of_documents(recipe)]

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each function); each document of the batch is read once."""
        found = _of_documents(recipe)
        if not found or candidates.documents is None:
            return
        numbers, place = np.unique(candidates.docs, return_inverse=True)
        documents = [_parsed(text) for text in candidates.documents(numbers)]
        for query in range(len(candidates.query_lengths)):
            first, last = candidates.query_ptr[query : query + 2].tolist()
            tokens = candidates.query_tokens(query)
            mine = [documents[number] for number in place[first:last].tolist()]
            for column, function in enumerate(found):
                values = [function.compute(tokens, document) for document in mine]
                out[first:last, column] = function.column(values, last - first)


def _of_documents(recipe: Recipe) -> list[Function]:
    return [functions()[name] for name in recipe.functions or () if functions()[name].over == "document"]


def _parsed(text: str | None) -> Mapping[str, Any] | str:
    """Return a JSON document as a mapping, any other as its text."""
    if text is None or not text.startswith("{"):
        return text or ""
    try:
        found: Mapping[str, Any] = json.loads(text)
    except ValueError:
        return text
    return found


FAMILY = DocumentFeatures()

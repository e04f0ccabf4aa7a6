"""The document family: functions of the user's own over the raw document (`@rerank.feature(over="document")`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.base import Feature, RunFamily
from rerank.features.functions import Function, functions
from rerank.features.match import Candidates
from rerank.features.read_only import read_only
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.runtime.strict_json import check_nesting


@register("document")
class DocumentFeatures(RunFamily):
    """A feature for each function of your own over the raw document."""

    calling_thread = True

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [function.feature for function in _of_documents(recipe)]

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each function); each document of the batch is read once."""
        found = _of_documents(recipe)
        if not found or candidates.documents is None:
            return
        numbers, number_of_row = np.unique(candidates.docs, return_inverse=True)
        documents = [_parsed(text) for text in candidates.documents(numbers)]
        for query in range(len(candidates.query_lengths)):
            first, last = candidates.query_ptr[query : query + 2].tolist()
            tokens, place = candidates.query_tokens(query), f"query {str(candidates.query_ids[query])!r}"
            places = [f"{place}, document {doc_id!r}" for doc_id in map(str, candidates.doc_ids[first:last])]
            given = [documents[number] for number in number_of_row[first:last].tolist()]
            for column, function in enumerate(found):
                out[first:last, column] = _values(function, tokens, given, places)


def _values(
    function: Function, tokens: Sequence[str], documents: Sequence[Mapping[str, Any] | str], places: Sequence[str]
) -> NDArray[np.float32]:
    """Return what a function makes of each document; one that is no number is named with its document."""
    values = [function.call(place, list(tokens), document) for place, document in zip(places, documents, strict=True)]
    try:
        return function.column(values, len(values), "the query's documents")
    except InvalidInputError:
        return np.concatenate([function.column([value], 1, place) for value, place in zip(values, places, strict=True)])


def _of_documents(recipe: Recipe) -> list[Function]:
    return [functions()[name] for name in recipe.functions or () if functions()[name].over == "document"]


def _parsed(text: str | None) -> Mapping[str, Any] | str:
    """Return a JSON document as a mapping that cannot be changed, any other as its text."""
    if text is None or not text.startswith("{"):
        return text or ""
    try:
        check_nesting(text)
        document: Mapping[str, Any] = json.loads(text, object_hook=read_only)
    except ValueError:
        return text
    return document

"""Families of user-defined functions (`@rerank.feature`): over a field, and over the raw document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.base import Feature, FieldFamily, RunFamily
from rerank.features.functions import Function, Matches, functions
from rerank.features.match import Candidates, FieldBlock
from rerank.features.recipe import Recipe, register
from rerank.runtime.codec import check_nesting


def _chosen(recipe: Recipe, over: str) -> list[Function]:
    return [functions()[name] for name in recipe.functions or () if functions()[name].over == over]


@register("function")
class FunctionFeatures(FieldFamily):
    """A feature for each user-defined function over a field, and for each field."""

    evidence = "functions"
    calling_thread = True

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [function.feature for function in _chosen(recipe, "field")]

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each function), query by query."""
        for query, query_id in enumerate(block.candidates.query_ids):
            first, last = block.candidates.query_ptr[query : query + 2].tolist()
            matches = Matches.of(block, query)
            subject = f"field {block.field.name!r} of query {str(query_id)!r}"
            for column, function in enumerate(_chosen(recipe, "field")):
                out[first:last, column] = function.column(function.call(subject, matches), last - first, subject)


@register("document")
class DocumentFeatures(RunFamily):
    """A feature for each user-defined function over the raw document."""

    evidence = "functions of the document"
    calling_thread = True

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [function.feature for function in _chosen(recipe, "document")]

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each function); each document of the batch is read once."""
        if candidates.documents is None:
            return
        numbers, number_of_row = np.unique(candidates.docs, return_inverse=True)
        texts = candidates.documents(numbers)
        for query, query_id in enumerate(candidates.query_ids):
            first, last = candidates.query_ptr[query : query + 2].tolist()
            tokens = candidates.query_tokens[query]
            subjects = [f"query {str(query_id)!r}, document {str(name)!r}" for name in candidates.doc_ids[first:last]]
            for column, function in enumerate(_chosen(recipe, "document")):
                values = [
                    function.call(subject, list(tokens), _parsed(texts[number]))
                    for subject, number in zip(subjects, number_of_row[first:last].tolist(), strict=True)
                ]
                out[first:last, column] = _column(function, values, subjects)


def _column(function: Function, values: Sequence[Any], subjects: Sequence[str]) -> NDArray[np.float32]:
    """Return a function's values; the error for a value that is no number names the document."""
    try:
        return function.column(values, len(values), "the query's documents")
    except InvalidInputError:
        for value, subject in zip(values, subjects, strict=True):
            function.column([value], 1, subject)
        raise


def _parsed(text: str | None) -> Mapping[str, Any] | str:
    """Return a JSON document as a mapping of its own, any other document as its text."""
    if text is None or not text.startswith("{"):
        return text or ""
    try:
        check_nesting(text)
        document: Mapping[str, Any] = json.loads(text)
    except ValueError:
        return text
    return document

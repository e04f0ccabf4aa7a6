"""The document family: user-defined functions over the raw document (`@rerank.feature(over="document")`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.base import Feature, RunFamily
from rerank.features.candidates import Candidates
from rerank.features.functions import Function, functions
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.runtime.strict_json import check_nesting


@register("document")
class DocumentFeatures(RunFamily):
    """A feature for each user-defined function over the raw document."""

    evidence = "functions of the document"
    calling_thread = True

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [function.feature for function in _document_functions(recipe)]

    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each function); each document of the batch is read once."""
        chosen = _document_functions(recipe)
        if not chosen or candidates.documents is None:
            return
        numbers, number_of_row = np.unique(candidates.docs, return_inverse=True)
        documents = [_parsed(text) for text in candidates.documents(numbers)]
        for query in range(len(candidates.query_lengths)):
            first, last = candidates.query_ptr[query : query + 2].tolist()
            tokens, subject = candidates.query_tokens(query), f"query {str(candidates.query_ids[query])!r}"
            subjects = [f"{subject}, document {doc_id!r}" for doc_id in map(str, candidates.doc_ids[first:last])]
            row_documents = [documents[number] for number in number_of_row[first:last].tolist()]
            for column, function in enumerate(chosen):
                out[first:last, column] = _values(function, tokens, row_documents, subjects)


def _values(
    function: Function, tokens: Sequence[str], documents: Sequence[Mapping[str, Any] | str], subjects: Sequence[str]
) -> NDArray[np.float32]:
    """Return a function's value of each document; the error for a value that is no number names the document."""
    values = [
        function.call(subject, list(tokens), document) for subject, document in zip(subjects, documents, strict=True)
    ]
    try:
        return function.column(values, len(values), "the query's documents")
    except InvalidInputError:
        return np.concatenate(
            [function.column([value], 1, subject) for value, subject in zip(values, subjects, strict=True)]
        )


def _document_functions(recipe: Recipe) -> list[Function]:
    return [functions()[name] for name in recipe.functions or () if functions()[name].over == "document"]


def _parsed(text: str | None) -> Mapping[str, Any] | str:
    """Return a JSON document as a read-only mapping, any other document as its text."""
    if text is None or not text.startswith("{"):
        return text or ""
    try:
        check_nesting(text)
        document: Mapping[str, Any] = json.loads(text, object_hook=read_only)
    except ValueError:
        return text
    return document


def read_only(values: dict[str, Any]) -> dict[str, Any]:
    """Return a read-only dict with read-only lists; for `json.loads(object_hook=...)`."""
    return _Dict({key: _List.of(value) if type(value) is list else value for key, value in values.items()})


def _refuse(self: Any, *arguments: Any, **options: Any) -> NoReturn:
    raise TypeError("a document cannot be changed; change a copy, e.g. copy.deepcopy(document)")


class _Dict(dict[str, Any]):
    """A read-only dict, whose copies can be changed."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: deepcopy(value, memo) for key, value in self.items()}

    def __copy__(self) -> dict[str, Any]:
        return dict(self)


class _List(list[Any]):
    """A read-only list, whose copies can be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    @classmethod
    def of(cls, values: list[Any]) -> _List:
        """Return a list, and the lists in it, as read-only lists."""
        return cls([cls.of(value) if type(value) is list else value for value in values])

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [deepcopy(value, memo) for value in self]

    def __copy__(self) -> list[Any]:
        return list(self)

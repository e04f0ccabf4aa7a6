"""The function family: user-defined functions over a field (`@rerank.feature`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Feature, FieldFamily
from rerank.features.functions import Function, Matches, functions
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import register


@register("function")
class FunctionFeatures(FieldFamily):
    """A feature for each user-defined function over a field, and for each field."""

    evidence = "functions"
    calling_thread = True

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return [function.feature for function in _field_functions(recipe)]

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, a column for each function), query by query."""
        chosen = _field_functions(recipe)
        for query in range(len(block.candidates.query_lengths) if chosen else 0):
            first, last = block.candidates.query_ptr[query : query + 2].tolist()
            matches = Matches.of(block, query)
            subject = f"field {block.field.name!r} of query {str(block.candidates.query_ids[query])!r}"
            for column, function in enumerate(chosen):
                out[first:last, column] = function.column(function.call(subject, matches), last - first, subject)


def _field_functions(recipe: Recipe) -> list[Function]:
    return [functions()[name] for name in recipe.functions or () if functions()[name].over == "field"]

"""Normalisation within the query, which makes the values of a column comparable between queries.

minmax  (x - min) / (max - min) over the query's rows; 0 where all are equal
zscore  (x - mean) / standard deviation over the query's rows; 0 where all are equal
rank    1 + number of the query's rows with a greater value
Missing values stay missing and do not influence the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from rerank.errors import unknown_name
from rerank.features.families.relative import relate
from rerank.types import Ints

_FORMS = ("minmax", "zscore", "rank")  # in the order of the kernel's columns
_COLUMNS = 32  # normalised at a time; the kernel computes all three forms of each


def chosen_columns(what: str, patterns: Sequence[str], names: Sequence[str]) -> Ints:
    """Return the indices of the columns that match one of the patterns, ascending; refuse a pattern without a match."""
    for pattern in patterns:
        if not any(_matches(name, pattern) for name in names):
            raise unknown_name(f"recipe: {what}", pattern, names)
    chosen = [any(_matches(name, pattern) for pattern in patterns) for name in names]
    return np.flatnonzero(np.array(chosen, dtype=np.bool_))


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def normalised_columns(table: Mapping[str, str], names: Sequence[str]) -> dict[str, Ints]:
    """Return the column indices of each normalisation but none; a column takes that of the last matching pattern."""
    if not table:
        return {}
    form_of = np.full(len(names), "none", dtype=object)
    for pattern, form in table.items():
        if pattern != "*":
            form_of[chosen_columns("normalisation", [pattern], names)] = form
        else:
            form_of[:] = form
    return {form: np.flatnonzero(form_of == form) for form in _FORMS if (form_of == form).any()}


def normalise(X: NDArray[np.float32], query_ptr: Ints, columns: Mapping[str, Ints]) -> None:
    """Normalise columns in place, query by query, with the formulas of the relative family.

    Shapes: X float32 (n_rows, n_features); query_ptr int64 (n_queries + 1,).
    """
    for form, indices in columns.items():
        for first in range(0, len(indices), _COLUMNS):
            some = indices[first : first + _COLUMNS]
            all_forms = np.empty((len(X), 3 * len(some)), dtype=np.float32)
            relate(query_ptr, np.ascontiguousarray(X[:, some]), all_forms)
            X[:, some] = all_forms[:, _FORMS.index(form) :: 3]

"""Normalisation within the query: values of a column made comparable between queries.

minmax  (x - least) / (greatest - least) over the query's rows; 0 where all are equal
zscore  (x - mean) / standard deviation over the query's rows; 0 where all are equal
rank    1 + number of the query's rows with a greater value
Missing values stay missing, and no other value is made of them.
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
_COLUMNS = 32  # at a time: the kernel makes three of each


def chosen_columns(what: str, patterns: Sequence[str], names: Sequence[str]) -> Ints:
    """Return the places of the columns that fit one of the patterns, ascending; refuse a pattern that fits none."""
    for pattern in patterns:
        if not any(_fits(name, pattern) for name in names):
            raise unknown_name(f"recipe: {what}", pattern, names)
    fitting = [any(_fits(name, pattern) for pattern in patterns) for name in names]
    return np.flatnonzero(np.array(fitting, dtype=np.bool_))


def _fits(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def normalised_columns(table: Mapping[str, str], names: Sequence[str]) -> dict[str, Ints]:
    """Return the places of the columns of each normalisation that changes values; the last pattern that fits holds."""
    if not table:
        return {}
    how = np.full(len(names), "none", dtype=object)
    for pattern, wanted in table.items():
        if pattern != "*":
            how[chosen_columns("normalisation", [pattern], names)] = wanted
        else:
            how[:] = wanted
    return {name: np.flatnonzero(how == name) for name in _FORMS if (how == name).any()}


def normalise(X: NDArray[np.float32], query_ptr: Ints, columns: Mapping[str, Ints]) -> None:
    """Normalise columns of X (n_rows, n_features) in place, query by query, as the relative family computes it."""
    for name, places in columns.items():
        for first in range(0, len(places), _COLUMNS):
            some = places[first : first + _COLUMNS]
            forms = np.empty((len(X), 3 * len(some)), dtype=np.float32)
            relate(query_ptr, np.ascontiguousarray(X[:, some]), forms)
            X[:, some] = forms[:, _FORMS.index(name) :: 3]

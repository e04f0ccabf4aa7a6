"""Normalisation within the query, which makes the values of a column comparable between queries.

minmax  (x - min) / (max - min) over the query's rows; 0 where all are equal
zscore  (x - mean) / standard deviation over the query's rows; 0 where all are equal
rank    1 + number of the query's rows with a greater value
Missing values stay missing and do not influence the others.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rerank.features.families.relative import FORMS, relate
from rerank.features.recipe import names_matching
from rerank.types import Ints

_COLUMNS = 32  # normalised at a time; the kernel computes all three forms of each


def normalisations(table: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the normalisation of each name that has one but none; that of the last pattern that matches holds."""
    forms: dict[str, str] = {}
    for pattern, form in table.items():
        forms |= dict.fromkeys(names if pattern == "*" else names_matching("normalisation", [pattern], names), form)
    return {name: form for name, form in forms.items() if form != "none"}


def normalise(X: NDArray[np.float32], query_ptr: Ints, columns: Mapping[str, Ints]) -> None:
    """Normalise columns in place, query by query, with the formulas of the relative family.

    Shapes: X float32 (n_rows, n_features); query_ptr int64 (n_queries + 1,).
    """
    for form, indices in columns.items():
        for first in range(0, len(indices), _COLUMNS):
            some = indices[first : first + _COLUMNS]
            X[:, some] = relate(query_ptr, X[:, some])[:, FORMS.index(form) :: len(FORMS)]

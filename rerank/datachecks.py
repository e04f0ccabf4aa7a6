"""What ranking data must be: shapes that fit wherever they are made, values that can be learned from at the edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown

if TYPE_CHECKING:
    from rerank.types import RankingData

MOST_LABEL = 2.0**31  # labels beyond it are no grades
AT_ONCE = 1 << 16  # values that stay in cache


def check_shapes(data: RankingData) -> None:
    """Refuse arrays that do not describe the same queries and rows."""
    n_queries, n_rows = len(data.query_ids), data.n_rows
    wanted = {"labels": n_rows, "base_scores": n_rows, "weights": n_queries}
    for name, size in wanted.items():
        values = getattr(data, name)
        if values is not None and np.shape(values) != (size,):
            raise InvalidInputError(
                f"data: expected {name} of shape ({size},), found {np.shape(values)}; pass one value each."
            )
    if (data.ideal_labels is None) != (data.ideal_ptr is None):
        raise InvalidInputError("data: expected ideal_labels and ideal_ptr, found one of them; pass both or none.")
    ends = {"query_ptr": n_rows}
    if data.ideal_labels is not None:
        ends["ideal_ptr"] = len(data.ideal_labels)
    for name, end in ends.items():
        ptr = np.asarray(getattr(data, name))
        fits = ptr.shape == (n_queries + 1,) and ptr.dtype.kind in "iu" and ptr[0] == 0 and ptr[-1] == end
        if not fits or (ptr[1:] < ptr[:-1]).any():
            raise InvalidInputError(
                f"data: expected {name} of {n_queries + 1} whole numbers that rise from 0 to {end}, found others; "
                "pass the first row of each query, and the number of rows."
            )
    names = data.feature_names
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        twice = next((name for name in names if not isinstance(name, str) or not name or names.count(name) > 1), "")
        raise InvalidInputError(
            f"data: expected feature names that are text, each there once, found {shown(twice)}; rename the feature."
        )


def check_values(data: RankingData, what: str) -> None:
    """Raise what `RankingData.check_values` says."""
    what = f"{what}: " if what else ""
    infinite = _first_infinite(data.X)
    if infinite is not None:
        row, column = infinite
        raise InvalidInputError(
            f"{what}expected finite features, or NaN where missing, found {data.X[row, column]} in feature "
            f"{shown(data.feature_names[column])} at {_row(data, row)}; correct the feature."
        )
    _check_column(data, what, "label", data.labels, MOST_LABEL, "judge the document or leave its row out")
    _check_column(data, what, "base score", data.base_scores, np.inf, "score the document or leave its row out")
    weights, ideal = data.weights, data.ideal_labels
    if weights is not None and not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise InvalidInputError(f"{what}expected finite weights of at least 0, found others; correct them.")
    if ideal is not None and not (np.abs(ideal) <= MOST_LABEL).all():
        raise InvalidInputError(f"{what}expected finite ideal labels, found others; make them with the qrels.")


def _row(data: RankingData, row: int) -> str:
    """Return the words that say which row is meant."""
    query = data.query_ids[np.searchsorted(data.query_ptr, row, side="right") - 1]
    return f"row {row} (query {_name(query)}, document {_name(data.doc_ids[row])})"


def _name(identifier: str) -> str:
    """Return an id as a message names it: as it is, or quoted where it does not print on one line."""
    text = str(identifier)
    return text if text.isprintable() and len(text) <= 60 else shown(text)


def _check_column(
    data: RankingData, what: str, name: str, values: NDArray[Any] | None, most: float, remedy: str
) -> None:
    """Refuse a value of a row that is not finite, or beyond `most`."""
    bad = np.empty(0, np.int64) if values is None else np.flatnonzero(~(np.isfinite(values) & (np.abs(values) <= most)))
    if values is not None and len(bad):
        row = int(bad[0])
        bound = "" if np.isinf(most) else f" (at most {most:g})" if np.isfinite(values[row]) else ""
        raise InvalidInputError(
            f"{what}expected a finite {name} in every row{bound}, found {values[row]} at {_row(data, row)}; {remedy}."
        )


def _first_infinite(X: NDArray[np.float32]) -> tuple[int, int] | None:
    """Return row and column of the first infinite value, or None; read in blocks that stay in cache."""
    step = max(1, AT_ONCE // max(X.shape[1], 1))
    for first in range(0, len(X), step):
        infinite = np.isinf(X[first : first + step])
        if infinite.any():
            row, column = np.argwhere(infinite)[0].tolist()
            return first + row, column
    return None

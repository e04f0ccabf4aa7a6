"""Features standardized for learners that add them up: mean 0, variance 1, missing values as inputs of their own.

The statistics are those of all training rows, weigh every row alike and are stored with the model. The normalization of
features (rerank/features) and of runs (rerank/retrieval/fusion.py) is another: it is computed anew inside each query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numba
import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.runtime.codec import Array, SchemaError
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_only_view
from rerank.runtime.threads import in_threads
from rerank.types import Floats, Ints

BLOCK = 1 << 14  # rows made float64 at a time
FURTHEST = 10.0  # standard deviations
ROUNDING = 1e-7  # a deviation below this share of the mean is rounding of float32


@dataclass(frozen=True, eq=False)
class Standardizer:
    """How features become inputs, learned on the training rows and stored with the model.

    The input of a feature is (value - mean) * scale, clipped at 10 standard deviations. A missing value has input 0,
    the mean; to distinguish the two, the feature has a further input, which is 1 where the value is missing and 0
    elsewhere. A missing value of a feature that had none in training is the mean.

    Attributes
    ----------
    means : ndarray of shape (n_features,), float64
        Means of the values that are not missing.
    scales : ndarray of shape (n_features,), float64
        1 / standard deviation; 0 for a constant feature, whose input is 0.
    missing : ndarray of shape (m,), int64
        Features that had missing values: each has one more input.

    """

    means: Floats
    scales: Annotated[Floats, Array(low=0.0, high=1e100)]
    missing: Ints

    @classmethod
    def learn(cls, X: NDArray[np.float32], rows: Ints) -> Standardizer:
        """Learn from X[rows], float32, in canonical order, NaN where missing.

        Raises InvalidInputError where no feature has two different values.
        """
        present, total, _ = _sums(X, rows, np.zeros(X.shape[1]))
        means = total / np.maximum(present, 1)
        squares = _sums(X, rows, means)[2]
        deviations = np.sqrt(squares / np.maximum(present, 1))
        changing = deviations > ROUNDING * np.abs(means)
        missing = np.flatnonzero((present < len(rows)) & (present > 0))
        if not changing.any() and not len(missing):
            raise InvalidInputError(
                "training data: expected a feature with different values, got only constant ones. Check X."
            )
        return cls(means, np.where(changing, 1.0 / np.where(changing, deviations, 1.0), 0.0), missing)

    @property
    def n_inputs(self) -> int:
        """Number of inputs of a row."""
        return len(self.means) + len(self.missing)

    def inputs(self, X: NDArray[np.float32], rows: Ints | None = None, dtype: Any = np.float64) -> NDArray[Any]:
        """Return the inputs of X[rows], by default of all rows, (n_rows, n_inputs), as float64 or float32."""
        rows = np.arange(len(X)) if rows is None else rows
        out = np.empty((len(rows), self.n_inputs), dtype=dtype)
        X = read_only_view(X)

        def fill(part: slice) -> None:
            _fill_inputs(X, rows[part], self.means, self.scales, self.missing, out[part])

        in_threads(fill, _blocks(len(rows)), numba.get_num_threads())
        return out

    def check_sizes(self, n_features: int, n_weights: int) -> None:
        """Raise SchemaError unless it is that of so many features, and of weights for its inputs."""
        for name in ("means", "scales"):
            if len(getattr(self, name)) != n_features:
                raise SchemaError(f"{n_features} values", str(len(getattr(self, name))), path=f"standardizer.{name}")
        bounds = np.concatenate([[-1], self.missing, [n_features]])
        if (np.diff(bounds) <= 0).any():
            raise SchemaError("ascending features, each once", "others", path="standardizer.missing")
        if n_weights != self.n_inputs:
            raise SchemaError(f"{self.n_inputs} values", str(n_weights), path="weights")


def _blocks(n_rows: int) -> list[slice]:
    return [slice(first, min(first + BLOCK, n_rows)) for first in range(0, n_rows, BLOCK)]


def _sums(X: NDArray[np.float32], rows: Ints, means: Floats) -> Floats:
    """Return for each feature the number of values that are not missing, their sum, and that of squared distances.

    Shapes: means float64 (n_features,), from which distances are; the result (3, n_features) float64.
    """
    blocks = _blocks(len(rows))
    X = read_only_view(X)
    parts = np.zeros((len(blocks), 3, X.shape[1]))  # added in one order, whichever thread is first

    def add(number: int) -> None:
        _add_values(X, rows[blocks[number]], means, parts[number])

    in_threads(add, range(len(blocks)), numba.get_num_threads())
    return parts.sum(axis=0)  # type: ignore[no-any-return]


@kernel()
def _add_values(X, rows, means, out):  # type: ignore[no-untyped-def]
    """Add to out (3, n_features) what `_sums` returns of some rows."""
    for row in rows:
        for feature in range(X.shape[1]):
            value = np.float64(X[row, feature])
            distance = value - means[feature]
            missing = value != value
            out[0, feature] += 0.0 if missing else 1.0
            out[1, feature] += 0.0 if missing else value
            out[2, feature] += 0.0 if missing else distance * distance


@kernel()
def _fill_inputs(X, rows, means, scales, missing, out):  # type: ignore[no-untyped-def]
    """Fill out (n_rows, n_inputs) float32 or float64 with the inputs of X[rows]."""
    n_features = X.shape[1]
    for i in range(rows.shape[0]):
        row = rows[i]
        for feature in range(n_features):
            value = (np.float64(X[row, feature]) - means[feature]) * scales[feature]
            value = min(max(value, -FURTHEST), FURTHEST)
            out[i, feature] = 0.0 if value != value else value
        for j in range(missing.shape[0]):
            out[i, n_features + j] = 1.0 if np.isnan(X[row, missing[j]]) else 0.0

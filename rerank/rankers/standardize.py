"""Features standardized for learners that add them up: mean 0, variance 1, missing values as inputs of their own.

The statistics are those of all training rows, weigh every row alike and are stored with the model. The normalization of
features (rerank/features) and of runs (rerank/combination/fusion.py) is another: it is computed anew inside each query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.runtime.schema import Array, Field, Record, SchemaError, Sizes
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
    scales: Floats
    missing: Ints

    @classmethod
    def learn(cls, X: NDArray[np.float32], rows: Ints) -> Standardizer:
        """Learn from X[rows], float32, in canonical order, NaN where missing.

        Raises InvalidInputError for an infinite value, and where no feature has two different values.
        """
        n_features = X.shape[1]
        present, total, squares = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
        for block in _blocks(X, rows):
            infinite = np.isinf(block).any(axis=0)
            if infinite.any():
                raise InvalidInputError(
                    "training data: expected finite or missing values, got infinity in column "
                    f"{int(np.argmax(infinite)) + 1}. Correct the feature."
                )
            present += (~np.isnan(block)).sum(axis=0)
            total += np.nansum(block, axis=0)
        means = total / np.maximum(present, 1)
        for block in _blocks(X, rows):
            squares += np.nansum((block - means) ** 2, axis=0)
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

    def inputs(self, X: NDArray[np.float32]) -> Floats:
        """Return the inputs of rows (n_rows, n_features) float32, (n_rows, n_inputs) float64."""
        with np.errstate(invalid="ignore"):  # infinity times a scale of 0
            values = (X - self.means) * self.scales
        np.clip(values, -FURTHEST, FURTHEST, out=values)
        values[np.isnan(values)] = 0.0
        return np.concatenate([values, np.isnan(X[:, self.missing])], axis=1) if len(self.missing) else values

    def stored_inputs(self, X: NDArray[np.float32], rows: Ints) -> NDArray[np.float32]:
        """Return the inputs of X[rows] as float32, for a learner that passes over them often."""
        out = np.empty((len(rows), self.n_inputs), dtype=np.float32)
        for first in range(0, len(rows), BLOCK):
            out[first : first + BLOCK] = self.inputs(X[rows[first : first + BLOCK]])
        return out

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain lists, for JSON."""
        return {"means": self.means.tolist(), "scales": self.scales.tolist(), "missing": self.missing.tolist()}


class StoredStandardizer(Field):
    """A standardizer as `Standardizer.to_dict` wrote it; binds `n_inputs`."""

    def read(self, value: object, sizes: Sizes) -> Standardizer:
        """Return the standardizer of `n_features` features."""
        standardizer = Standardizer(**_STORED.read(value, sizes))
        if (np.diff(standardizer.missing) <= 0).any():
            raise SchemaError("ascending features, each once", "others", path="missing")
        sizes["n_inputs"] = standardizer.n_inputs
        return standardizer


_STORED = Record(
    {
        "means": Array(np.float64, "n_features"),
        "scales": Array(np.float64, "n_features", low=0.0, high=1e100),
        "missing": Array(np.int64, low=0, high=lambda sizes: sizes["n_features"] - 1),
    }
)


def _blocks(X: NDArray[np.float32], rows: Ints) -> Iterator[Floats]:
    for first in range(0, len(rows), BLOCK):
        yield X[rows[first : first + BLOCK]].astype(np.float64)

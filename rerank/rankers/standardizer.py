"""Standardized features, for learners that add features up.

Mean 0, variance 1, missing values as inputs of their own. The statistics are those of all training rows, weigh every
row alike and are stored with the model. The normalization of features (rerank/features) and of runs
(rerank/retrieval/fusion.py) is different: it is computed anew inside each query.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import numba
import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.runtime.elementary import random_bits
from rerank.runtime.fields import Array, SchemaError, check_length
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_only_view
from rerank.runtime.threads import in_threads, slices
from rerank.types import Floats, Ints

FLOAT64_ROWS = 1 << 14  # rows made float64 at a time
FURTHEST = 10.0  # standard deviations
DEVIATION_ROUNDING = 1e-7  # a deviation below this share of the mean is rounding of float32


@dataclass(frozen=True, eq=False)
class Standardizer:
    """How features become inputs, learned on the training rows and stored with the model.

    The input of a feature is (value - mean) * scale, clipped at 10 standard deviations. A missing value has input 0,
    the mean; to distinguish the two, the feature has a further input, which is 1 where the value is missing and 0
    elsewhere. A missing value of a feature that had none in training is the mean.

    Inputs that are 0 in all training rows are left out, as are copies of an input, and the others are in an order that
    depends on what they hold: no constant or repeated feature and no order of the features changes a model.

    Attributes
    ----------
    features : ndarray of shape (n_inputs,), int64
        Feature that each input reads.
    of_missing : ndarray of shape (n_inputs,), bool
        Whether the input says that the value is missing.
    means, scales : ndarray of shape (n_inputs,), float64
        Mean of the feature's values that are not missing, and 1 / their standard deviation.

    """

    features: Ints
    of_missing: NDArray[np.bool_]
    means: Floats
    scales: Annotated[Floats, Array(low=0.0, high=1e100)]

    @classmethod
    def learn(cls, X: NDArray[np.float32], rows: Ints) -> Standardizer:
        """Learn from X[rows], float32, in canonical order, NaN where missing.

        Raises InvalidInputError where no feature has two different values.
        """
        present, total, _ = _sums(X, rows, np.zeros(X.shape[1]))
        means = total / np.maximum(present, 1)
        deviations = np.sqrt(_sums(X, rows, means)[2] / np.maximum(present, 1))
        values = np.flatnonzero(deviations > DEVIATION_ROUNDING * np.abs(means))
        features = np.concatenate([values, np.flatnonzero((present < len(rows)) & (present > 0))])
        if not len(features):
            raise InvalidInputError(
                "training data: expected a feature with different values, got only constant ones. Check X."
            )
        of_missing = np.arange(len(features)) >= len(values)
        all_inputs = cls(features, of_missing, means[features], 1.0 / np.where(of_missing, 1.0, deviations[features]))
        digests = np.zeros(len(features), np.uint64)
        for part in slices(len(rows), FLOAT64_ROWS):
            _add_words(all_inputs.inputs(X, rows[part], np.float32).view(np.uint32), np.uint64(part.start), digests)
        of_values = np.zeros(X.shape[1], np.uint64)
        of_values[values] = digests[: len(values)]
        order = np.lexsort([of_values[features], digests])  # features may miss values in the same rows
        kept = order[np.append(True, np.diff(digests[order]) != 0)]
        return cls(*(getattr(all_inputs, field.name)[kept] for field in fields(cls)))

    @property
    def n_inputs(self) -> int:
        """Number of inputs of a row."""
        return len(self.features)

    def inputs(self, X: NDArray[np.float32], rows: Ints | None = None, dtype: Any = np.float64) -> NDArray[Any]:
        """Return the inputs of X[rows], by default of all rows, (n_rows, n_inputs), as float64 or float32."""
        rows = np.arange(len(X)) if rows is None else rows
        out = np.empty((len(rows), self.n_inputs), dtype=dtype)
        X = read_only_view(X)
        of_inputs = self.features, self.of_missing, self.means, self.scales
        in_threads(
            lambda part: _fill_inputs(X, rows[part], *of_inputs, out[part]),
            slices(len(rows), FLOAT64_ROWS),
            numba.get_num_threads(),
        )
        return out

    def check_sizes(self, n_features: int, n_weights: int) -> None:
        """Raise SchemaError unless each input reads one of `n_features` features and has one of `n_weights` weights."""
        for field in fields(self):
            check_length(getattr(self, field.name), self.n_inputs, f"standardizer.{field.name}")
        inputs = self.features + n_features * self.of_missing
        if ((self.features < 0) | (self.features >= n_features)).any() or len(np.unique(inputs)) < len(inputs):
            raise SchemaError("features of the data, each once", "others", path="standardizer.features")
        if n_weights != self.n_inputs:
            raise SchemaError(f"{self.n_inputs} values", str(n_weights), path="weights")


def _sums(X: NDArray[np.float32], rows: Ints, means: Floats) -> Floats:
    """Return for each feature the number, the sum, and the sum of squared distances from `means` of its present values.

    Shapes: means float64 (n_features,); the result float64 (3, n_features).
    """
    blocks = slices(len(rows), FLOAT64_ROWS)
    X = read_only_view(X)
    parts = np.zeros((len(blocks), 3, X.shape[1]))  # added in one order, whichever thread is first
    in_threads(
        lambda number: _add_values(X, rows[blocks[number]], means, parts[number]),
        range(len(blocks)),
        numba.get_num_threads(),
    )
    return parts.sum(axis=0)  # type: ignore[no-any-return]


@kernel()
def _add_values(X, rows, means, out):
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
def _fill_inputs(X, rows, features, of_missing, means, scales, out):
    """Fill out (n_rows, n_inputs) float32 or float64 with the inputs of X[rows]."""
    values = np.empty(features.shape[0])  # gathered first, so that the rest is done for several inputs at a time
    for i in range(rows.shape[0]):
        row = rows[i]
        for j in range(features.shape[0]):
            values[j] = X[row, features[j]]
        for j in range(features.shape[0]):
            value = (values[j] - means[j]) * scales[j]
            is_missing = value != value
            value = 0.0 if is_missing else min(max(value, -FURTHEST), FURTHEST)
            mark = 1.0 if is_missing else 0.0
            out[i, j] = mark if of_missing[j] else value


@kernel()
def _add_words(words, first, out):
    """Add to out (n_inputs,) uint64 random bits of the words (n_rows, n_inputs) uint32 of each input and their rows.

    first  number of the first row, uint64
    """
    for i in range(words.shape[0]):
        row = random_bits(np.uint64(1), first + np.uint64(i))
        for j in range(words.shape[1]):
            if words[i, j] != 0:
                out[j] += random_bits(row, np.uint64(words[i, j]))

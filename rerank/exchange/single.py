"""What formats of float32 share: leaf values as float32, thresholds for tests with `<`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.exchange.registry import TreeModel, cannot_say
from rerank.exchange.thresholds import Floats32, next_above
from rerank.types import Floats


def single(values: Floats) -> NDArray[np.float64]:
    """Return the nearest float32 of each value, as float64."""
    return np.asarray(values).astype(np.float32).astype(np.float64)


def refuse_zero_missing(model: TreeModel, format: str) -> None:
    """Refuse a model that reads 0 as missing."""
    if len(model.zero_missing):
        raise cannot_say(
            format,
            "a model that reads 0 as a value",
            "one that reads 0 as missing (zero_as_missing)",
            "Export it as lightgbm, or train it without.",
        )


def summed(model: TreeModel, format: str) -> TreeModel:
    """Return the model if its score is a sum with a constant; a mean and 0 as missing are refused."""
    refuse_zero_missing(model, format)
    if model.divisor != 1.0:
        raise cannot_say(
            format,
            "a sum of trees",
            "a mean of trees (average_output, a random forest)",
            "Export it as lightgbm, or train boosted trees.",
        )
    return model


def thresholds_below(thresholds: Floats32, format: str) -> Floats32:
    """Return thresholds for tests `x < threshold`, (n,) float32."""
    above = next_above(thresholds)
    if np.isinf(above).any():
        raise cannot_say(format, "thresholds below 3.4e38", "one of 3.4e38", "Divide the feature by a constant.")
    return above


def refuse_missing_direction(model: TreeModel, format: str) -> None:
    """Refuse a model that sends a missing value elsewhere than 0, for a system that reads a missing value as 0."""
    forest = model.forest
    other = np.flatnonzero(forest.missing_left != (forest.threshold >= 0.0))
    if len(other):
        names = model.feature_names
        feature = int(forest.feature[other[0]])
        raise cannot_say(
            format,
            "missing values that go where 0 goes",
            f"{len(other)} splits that send them elsewhere, e.g. of feature {names[feature] if names else feature + 1}",
            "If no value is ever missing, give --missing-as-zero (missing_as_zero=True).",
        )

"""Features that are categories: their values are codes without an order, whole numbers from 0, or missing.

A node splits a category by a set of codes (`leafwise.py` chooses it, `Forest.category_bits` holds it). A code outside
it, such as one that training did not see, goes where missing values go.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown
from rerank.runtime.fields import Field, Items, SchemaError
from rerank.runtime.mapped_rows import row_blocks
from rerank.trees.feature_keys import FeatureKey, as_list, feature_number
from rerank.trees.forest import MOST_CATEGORIES
from rerank.types import Ints

AUTO = "auto"


class CategoryFeatures(Field):
    """Names or numbers of the features that are categories, or "auto"."""

    def accepts(self) -> str:
        """Return what is accepted."""
        return f"{AUTO!r}, or a list of names or numbers"

    def read(self, value: object) -> str | list[str | int]:
        """Return the features."""
        if isinstance(value, str):
            if value == AUTO:
                return AUTO
            raise SchemaError(self.accepts(), shown(value))
        keys: list[str | int] = Items(FeatureKey(), may_be_empty=True).read(as_list(value))
        return keys


class CategoryValues(Field):
    """List of the values of a category, each once: text, numbers or booleans; the code of a value is its position."""

    def read(self, value: object) -> list[str | int | float | bool]:
        """Return the values."""
        if not isinstance(value, list) or not all(isinstance(entry, str | int | float) for entry in value):
            raise SchemaError("a list of texts and numbers", shown(value))
        if len(set(value)) < len(value) or len(value) > MOST_CATEGORIES:
            raise SchemaError(
                f"up to {MOST_CATEGORIES} values, each once", f"{len(value)}, {len(set(value))} of them distinct"
            )
        return value


def category_mask(
    names: Sequence[str], n_features: int, chosen: str | Iterable[str | int], automatic: Mapping[str, object]
) -> NDArray[np.bool_]:
    """Return which features are categories, (n_features,): those chosen, or with "auto" those of `automatic`."""
    mask = np.zeros(n_features, dtype=np.bool_)
    for feature in automatic if isinstance(chosen, str) else chosen:
        mask[feature_number(names, feature, "categorical_feature")] = True
    return mask


def check_codes(
    X: NDArray[np.float32], features: Ints, names: Sequence[str], most: float = np.inf, what: str = "X"
) -> None:
    """Refuse values of categories that are no codes below `most`; NaN is missing."""
    for first, block in row_blocks(X) if len(features) else ():
        codes = block[:, features]
        wrong = (codes < 0.0) | (codes >= most) | (codes != np.floor(codes)) & ~np.isnan(codes)
        if wrong.any():
            row, column = (int(places[0]) for places in np.nonzero(wrong))
            raise InvalidInputError(
                f"{what}: expected whole numbers from 0{'' if most == np.inf else f' to {most - 1:.0f}'} or NaN as "
                f"categories, got "
                f"{codes[row, column]:.9g} at row {first + row} of feature {shown(names[features[column]])}. Number "
                "categories from 0, and put NaN where one is missing."
            )

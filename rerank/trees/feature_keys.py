"""Features as users give them to a ranker: by name, or by number from 0."""

from collections.abc import Sequence

import numpy as np

from rerank.errors import InvalidInputError, shown, suggestion
from rerank.runtime.fields import Field, Text, Whole
from rerank.types.data_frames import is_whole


class FeatureKey(Field):
    """The name or the number of a feature."""

    def read(self, value: object) -> str | int:
        """Return it."""
        key: str | int = (Text() if isinstance(value, str) else Whole(0, 2**31)).read(value)
        return key


def as_list(value: object) -> object:
    """Return a tuple or an array as a list, and anything else as it is."""
    return value.tolist() if isinstance(value, np.ndarray) else list(value) if isinstance(value, tuple) else value


def feature_number(names: Sequence[str], feature: str | int, place: str) -> int:
    """Return the number of a feature that is named, or given by its number."""
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if is_whole(feature) and feature < len(names):
        return int(feature)
    if is_whole(feature):
        raise InvalidInputError(
            f"{place}: expected the number of one of {len(names)} features, from 0, got {feature}. Name the feature."
        )
    raise InvalidInputError(
        f"{place}: expected a feature of the training data, got {shown(feature)}. {suggestion(feature, list(names))}"
    )

"""What the splits of all trees of a forest must keep to: monotone and interaction constraints.

Monotone constraints, by the method "basic" of LightGBM. A split on a constrained feature whose children's Newton steps
contradict the direction is no candidate. The steps of all leaves below its left child end, and those below its right
child begin, at the middle of the two steps, so that no later split undoes the order. Missing values take either side.

Interaction constraints. The features of a path from the root to a leaf are all in one of the groups: a split may take
the features of the groups that hold all features of the path. A feature in no group is never taken, as in LightGBM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown, suggestion
from rerank.runtime.schema import Field, Items, SchemaError, Sizes, Table, Text, Whole
from rerank.trees.structures import ALL_GROUPS
from rerank.types import Ints

FEATURES = "features"  # the directions that the features' families declare
MOST_GROUPS = 64  # a bit each

_Directions = Mapping[str, int] | Sequence[int]
_Groups = Sequence[Sequence[str | int]]
_DIRECTION = Whole(-1, 1)


class Directions(Field):
    """Monotone constraints: a direction for each named feature, or a list of one for each; FEATURES; or None."""

    def accepts(self) -> str:
        """Return what is accepted."""
        return f"a mapping of names to -1, 0 or 1, a list of these, {FEATURES!r}, or None"

    def read(self, value: object, sizes: Sizes) -> dict[str, int] | list[int] | str | None:
        """Return the directions."""
        if value is None or (isinstance(value, str) and value == FEATURES):
            return value
        if isinstance(value, Mapping):
            return Table(_DIRECTION).read(value, sizes)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        return Items(_DIRECTION).read(list(value) if isinstance(value, tuple) else value, sizes)


class FeatureGroups(Field):
    """Interaction constraints: lists of names or numbers of features; or None."""

    def accepts(self) -> str:
        """Return what is accepted."""
        return f"up to {MOST_GROUPS} lists of names or numbers, or None"

    def read(self, value: object, sizes: Sizes) -> list[list[str | int]] | None:
        """Return the groups."""
        if value is None:
            return None
        groups = [list(each) if isinstance(each, tuple) else each for each in value] if _is_list(value) else value
        read: list[list[str | int]] = Items(Items(FeatureKey())).read(groups, sizes)
        if len(read) > MOST_GROUPS:
            raise SchemaError(f"at most {MOST_GROUPS} groups", str(len(read)))
        return read


class FeatureKey(Field):
    """The name or the number of a feature."""

    def read(self, value: object, sizes: Sizes) -> str | int:
        """Return it."""
        key: str | int = (Text() if isinstance(value, str) else Whole(0, 2**31)).read(value, sizes)
        return key


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)


@dataclass(frozen=True, eq=False)
class SplitConstraints:
    """Constraints of the features of a data set.

    Parameters
    ----------
    direction : int64 array of shape (n_features,)
        1 where the score may not fall with the feature, -1 where it may not rise, else 0.
    groups : uint64 array of shape (n_features,)
        Interaction groups that hold each feature, a bit each; all bits without such constraints.

    """

    direction: Ints
    groups: NDArray[np.uint64]

    @classmethod
    def of(
        cls, names: Sequence[str], directions: _Directions | None = None, groups: _Groups | None = None
    ) -> SplitConstraints:
        """Return the constraints of features by their names; raise InvalidInputError for unknown ones."""
        return cls(_direction(names, directions), _groups(names, groups))


def _direction(names: Sequence[str], directions: _Directions | None) -> Ints:
    """Return the direction of each feature, (n_features,) int64."""
    out = np.zeros(len(names), dtype=np.int64)
    if directions is None:
        return out
    if isinstance(directions, Mapping):
        for name, direction in directions.items():
            out[feature_number(names, name, "monotone_constraints")] = direction
    elif len(directions) == len(names):
        out[:] = directions
    else:
        raise InvalidInputError(
            f"monotone_constraints: expected a direction for each of {len(names)} features, got {len(directions)}. "
            "Give a mapping of names to directions."
        )
    return out


def _groups(names: Sequence[str], groups: _Groups | None) -> NDArray[np.uint64]:
    """Return the groups of each feature as bits, (n_features,) uint64."""
    if groups is None:
        return np.full(len(names), ALL_GROUPS)
    out = np.zeros(len(names), dtype=np.uint64)
    for bit, group in enumerate(groups):
        for feature in group:
            out[feature_number(names, feature, "interaction_constraints")] |= np.uint64(1 << bit)
    return out


def feature_number(names: Sequence[str], feature: str | int, place: str) -> int:
    """Return the number of a feature that is named, or given by its number."""
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int) and feature < len(names):
        return feature
    if isinstance(feature, int):
        raise InvalidInputError(
            f"{place}: expected the number of one of {len(names)} features, from 0, got {feature}. Name the feature."
        )
    raise InvalidInputError(
        f"{place}: expected a feature of the training data, got {shown(feature)}. {suggestion(feature, list(names))}"
    )

"""Monotone and interaction constraints, which the splits of all trees of a forest keep to.

Monotone constraints, by the method "basic" of LightGBM. A split on a constrained feature whose children's Newton steps
contradict the direction is no candidate. The middle of the two steps is the upper bound of all leaves below the child
with the smaller step, and the lower bound of all leaves below the other, so that no later split undoes the order.
Missing values take either side.

Interaction constraints. The features of a path from the root to a leaf are all in one of the groups: a split may take
the features of the groups that hold all features of the path. A feature in no group is never taken, as in LightGBM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.runtime.fields import Field, Items, SchemaError, Table, Whole
from rerank.trees.feature_keys import FeatureKey, as_list, feature_number
from rerank.types import Ints

ALL_GROUPS = np.uint64(2**64 - 1)
FEATURES = "features"  # the directions that the features' families declare
MOST_GROUPS = 64  # a bit each
_DIRECTION = Whole(-1, 1)


class Directions(Field):
    """Monotone constraints: a direction for each named feature, or a list of one for each; FEATURES; or None."""

    def accepts(self) -> str:
        """Return what is accepted."""
        return f"a mapping of names to -1, 0 or 1, a list of these, {FEATURES!r}, or None"

    def read(self, value: object) -> dict[str, int] | list[int] | str | None:
        """Return the directions."""
        if value is None or (isinstance(value, str) and value == FEATURES):
            return value
        if isinstance(value, Mapping):
            return Table(_DIRECTION).read(value)
        return Items(_DIRECTION).read(as_list(value))


class FeatureGroups(Field):
    """Interaction constraints: lists of names or numbers of features; or None."""

    def accepts(self) -> str:
        """Return what is accepted."""
        return f"up to {MOST_GROUPS} lists of names or numbers, or None"

    def read(self, value: object) -> list[list[str | int]] | None:
        """Return the groups."""
        if value is None:
            return None
        given = as_list(value)
        groups = [as_list(group) for group in given] if isinstance(given, list) else given
        read: list[list[str | int]] = Items(Items(FeatureKey())).read(groups)
        if len(read) > MOST_GROUPS:
            raise SchemaError(f"at most {MOST_GROUPS} groups", str(len(read)))
        return read


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

    @property
    def kinds(self) -> NDArray[np.uint64]:
        """A number for each feature, (n_features,): equal for those of the same constraints."""
        columns = np.column_stack([self.direction.astype(np.uint64), self.groups])
        return np.unique(columns, axis=0, return_inverse=True)[1].ravel().astype(np.uint64)

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        directions: Mapping[str, int] | Sequence[int] | None = None,
        groups: Sequence[Sequence[str | int]] | None = None,
    ) -> SplitConstraints:
        """Return the constraints of features by their names; raise InvalidInputError for unknown ones."""
        direction = np.zeros(len(names), dtype=np.int64)
        if isinstance(directions, Mapping):
            for name, value in directions.items():
                direction[feature_number(names, name, "monotone_constraints")] = value
        elif directions is not None and len(directions) != len(names):
            raise InvalidInputError(
                f"monotone_constraints: expected a direction for each of {len(names)} features, got {len(directions)}. "
                "Give a mapping of names to directions."
            )
        elif directions is not None:
            direction[:] = directions
        allowed = np.full(len(names), ALL_GROUPS if groups is None else 0, dtype=np.uint64)
        for bit, group in enumerate(groups or ()):
            for feature in group:
                allowed[feature_number(names, feature, "interaction_constraints")] |= np.uint64(1 << bit)
        return cls(direction, allowed)

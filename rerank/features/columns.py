"""The columns that a recipe asks for, in groups that one family fills."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.base import Feature, FieldFamily, RunFamily
from rerank.features.candidates import MOST_MATCHES
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import Family, family


@dataclass(frozen=True)
class ColumnGroup:
    """Adjacent columns that one family fills, for one field or for none.

    Parameters
    ----------
    name : str
        Name of the family.
    family : Family
        The family.
    field : str or None
        Name of the field; None for a `RunFamily`.
    features : tuple of Feature
        The features in the order of their columns.

    """

    name: str
    family: Family
    field: str | None
    features: tuple[Feature, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        suffix = "" if self.field is None else f".{self.field}"
        return tuple(feature.name + suffix for feature in self.features)


def column_groups(recipe: Recipe) -> tuple[ColumnGroup, ...]:
    """Return the columns of a recipe: first field by field, then those that depend on no field."""
    families = {name: family(name) for name in recipe.families or ()}
    of_fields = [
        ColumnGroup(name, member, field, tuple(member.features(recipe)))
        for field in recipe.fields or ()
        for name, member in families.items()
        if isinstance(member, FieldFamily)
    ]
    of_runs = [
        ColumnGroup(name, member, None, tuple(member.features(recipe)))
        for name, member in families.items()
        if isinstance(member, RunFamily)
    ]
    return (*of_fields, *of_runs)


def directions(recipe: Mapping[str, Any] | None, names: Collection[str]) -> dict[str, int]:
    """Return the direction of each feature that has one, 1 where more is better and -1 where less is.

    recipe  of the data, as plain JSON values
    names   of the features
    """
    if recipe is None:
        raise InvalidInputError(
            "monotone_constraints: expected features of `rerank features` beside 'features', got others, whose "
            "directions nobody has declared. Name them, e.g. {'bm25': 1}."
        )
    found = {}
    for group in column_groups(Recipe.from_dict(recipe)):
        for feature, name in zip(group.features, group.names, strict=True):
            falls, rises = (
                any(fnmatchcase(feature.name, pattern) for pattern in patterns)
                for patterns in (group.family.falling, group.family.rising)
            )
            if name in names and (falls or rises):
                found[name] = -1 if falls else 1
    return found


def default_features(name: str) -> tuple[Feature, ...]:
    """Return the features of a family for the default recipe, without a field's name."""
    (group,) = column_groups(Recipe(fields=("contents",), families=(name,)))
    return group.features


def field_columns(name: str, block: FieldBlock, recipe: Recipe) -> NDArray[np.float32]:
    """Return the columns of a field family, (n_rows, n_features) float32; the block keeps them for the next call.

    A family that computes each row by itself is given the rows in blocks, so that the matches of a query of many
    candidates and many terms need not be in memory at once.
    """
    if name not in block.columns:
        member = family(name)
        if not isinstance(member, FieldFamily):
            raise TypeError(f"{name} is no family of a field")
        out = np.empty((block.candidates.n_rows, len(member.features(recipe))), dtype=np.float32)
        blocks = block.row_blocks(MOST_MATCHES) if member.independent_rows else [(slice(0, len(out)), block)]
        for rows, part in blocks:
            member.fill(part, recipe, out[rows])
        block.columns[name] = out
    return block.columns[name]

"""The columns that a recipe asks for, in groups that one family fills."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.family import Family, Feature, FieldFamily, family
from rerank.features.recipe import Recipe
from rerank.types import CONTENTS


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

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        suffix = "" if self.field is None else f".{self.field}"
        return tuple(feature.name + suffix for feature in self.features)


def column_groups(recipe: Recipe) -> tuple[ColumnGroup, ...]:
    """Return the columns of a recipe: first field by field, then those that depend on no field."""
    families = {name: family(name) for name in recipe.families or ()}
    return tuple(
        ColumnGroup(name, member, field, tuple(member.features(recipe)))
        for field in (*(recipe.fields or ()), None)
        for name, member in families.items()
        if isinstance(member, FieldFamily) == (field is not None) and not (member.of_whole and field != CONTENTS)
    )


def columns_of(name: str, rows: Any, recipe: Recipe) -> NDArray[np.float32]:
    """Return the columns of a family, (n_rows, n_features) float32; they are computed once for the given rows.

    rows  a `FieldBlock` for a family of a field, a `CandidateBatch` for other families
    """
    if name not in rows.columns:
        member = family(name)
        rows.columns[name] = np.empty((rows.n_rows, len(member.features(recipe))), dtype=np.float32)
        member.fill(rows, recipe, rows.columns[name])
    return rows.columns[name]  # type: ignore[no-any-return]


def directions(recipe: Mapping[str, Any] | None, names: Collection[str]) -> dict[str, int]:
    """Return the direction of each feature that has one: 1 where a greater value is better, -1 where a smaller one is.

    recipe  the recipe of the data, as plain JSON values
    names   the names of the features
    """
    if recipe is None:
        raise InvalidInputError(
            "monotone_constraints: expected features of `rerank features` with the value 'features', got others, "
            "whose directions are unknown. Give each direction, e.g. {'bm25': 1}."
        )
    return {
        name: sign
        for group in column_groups(Recipe.from_dict(recipe))
        for feature, name in zip(group.features, group.names, strict=True)
        for sign, patterns in ((1, group.family.rising), (-1, group.family.falling))
        if name in names and any(fnmatchcase(feature.name, pattern) for pattern in patterns)
    }


def default_features(name: str) -> tuple[Feature, ...]:
    """Return the features of a family for the default recipe, without a field's name."""
    return tuple(family(name).features(Recipe()))

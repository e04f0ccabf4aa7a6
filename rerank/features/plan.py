"""Which columns a recipe computes, keeps and normalises."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rerank.features.base import FieldFamily
from rerank.features.columns import ColumnGroup, column_groups
from rerank.features.normalise import chosen_columns, normalised_columns
from rerank.features.recipe import Recipe
from rerank.types import Ints
from rerank.types.forward import ForwardIndex

_log = logging.getLogger("rerank")


@dataclass(frozen=True)
class ColumnPlan:
    """The columns that are computed, and those of them that are returned.

    Parameters
    ----------
    groups : tuple of (int, ColumnGroup)
        Groups of computed columns, each with the number of its first column.
    n_computed : int
        Number of computed columns.
    returned : ndarray of shape (n_features,) and dtype int64
        Numbers of the computed columns that are returned.
    names : tuple of str
        Names of the returned columns.
    normalised : mapping from str to ndarray of dtype int64
        Numbers of the returned columns that each normalisation changes.

    """

    groups: tuple[tuple[int, ColumnGroup], ...]
    n_computed: int
    returned: Ints
    names: tuple[str, ...]
    normalised: Mapping[str, Ints]

    @classmethod
    def of(cls, forward: ForwardIndex, recipe: Recipe) -> ColumnPlan:
        """Return the plan of a recipe with explicit names; groups without a wanted column are not computed."""
        groups = column_groups(recipe)
        all_names = [name for group in groups for name in group.names]
        wanted = set(all_names)
        if recipe.features is not None:
            wanted = {all_names[column] for column in chosen_columns("features", recipe.features, all_names)}
        normalised = normalised_columns(recipe.normalisation, all_names)
        groups = _without_missing_positions(forward, tuple(group for group in groups if wanted & set(group.names)))
        computed = [name for group in groups for name in group.names]
        returned = np.array([column for column, name in enumerate(computed) if name in wanted], dtype=np.int64)
        names = tuple(computed[column] for column in returned.tolist())
        column_of = {name: column for column, name in enumerate(names)}
        returned_names = {form: [all_names[column] for column in columns] for form, columns in normalised.items()}
        ends = np.cumsum([len(group.features) for group in groups]).tolist()
        return cls(
            groups=tuple(zip([0, *ends], groups, strict=False)),
            n_computed=len(computed),
            returned=returned,
            names=names,
            normalised={
                form: np.array([column_of[name] for name in chosen if name in column_of], dtype=np.int64)
                for form, chosen in returned_names.items()
            },
        )


def _without_missing_positions(forward: ForwardIndex, groups: tuple[ColumnGroup, ...]) -> tuple[ColumnGroup, ...]:
    """Leave out, and log, the families that need positions for fields that were indexed without them."""
    without = [name for name, field in forward.fields.items() if field.positions is None]
    left_out = [
        group
        for group in groups
        if group.field in without and isinstance(group.family, FieldFamily) and group.family.needs_positions
    ]
    for name in dict.fromkeys(group.name for group in left_out):
        fields = ", ".join(str(group.field) for group in left_out if group.name == name)
        _log.info("features of the family %s are left out for %s: indexed without positions.", name, fields)
    return tuple(group for group in groups if group not in left_out)

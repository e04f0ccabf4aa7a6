"""Which columns a recipe computes, keeps and normalises."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from rerank.features.base import FieldFamily
from rerank.features.columns import ColumnGroup, column_groups
from rerank.features.normalise import chosen_columns, normalised_columns
from rerank.features.recipe import Recipe
from rerank.types import Ints
from rerank.types.forward import ForwardIndex

_log = logging.getLogger("rerank")


@dataclass(frozen=True, eq=False)
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
        without = tuple(name for name, field in forward.fields.items() if field.positions is None)
        if recipe.functions:  # may be redefined under the same name
            plan, left_out = cls._made(recipe, without)
        else:
            plan, left_out = _remembered_plan(_PlanKey(recipe, without))
        for line in left_out:
            _log.info(*line)
        return plan

    @property
    def n_filled(self) -> int:
        """Number of computed columns that a group fills."""
        return sum(len(group.features) for _, group in self.groups)

    def of_names(self, needed: frozenset[str]) -> ColumnPlan:
        """Return the plan without the groups that have no feature of these names; their columns are NaN."""
        return _remembered_part(self, needed)

    @classmethod
    def _made(cls, recipe: Recipe, without: tuple[str, ...]) -> tuple[ColumnPlan, tuple[tuple[str, str, str], ...]]:
        """Return the plan, and log lines about what is left out for the fields `without` positions."""
        groups = column_groups(recipe)
        all_names = [name for group in groups for name in group.names]
        wanted = set(all_names)
        if recipe.features is not None:
            wanted = {all_names[column] for column in chosen_columns("features", recipe.features, all_names)}
        normalised = normalised_columns(recipe.normalisation, all_names)
        groups = tuple(group for group in groups if wanted & set(group.names))
        left_out = tuple(group for group in groups if group.field in without and _needs_positions(group))
        groups = tuple(group for group in groups if group not in left_out)
        computed = [name for group in groups for name in group.names]
        returned = np.array([column for column, name in enumerate(computed) if name in wanted], dtype=np.int64)
        names = tuple(computed[column] for column in returned.tolist())
        column_of = {name: column for column, name in enumerate(names)}
        returned_names = {form: [all_names[column] for column in columns] for form, columns in normalised.items()}
        ends = np.cumsum([len(group.features) for group in groups]).tolist()
        plan = cls(
            groups=tuple(zip([0, *ends], groups, strict=False)),
            n_computed=len(computed),
            returned=returned,
            names=names,
            normalised={
                form: np.array([column_of[name] for name in chosen if name in column_of], dtype=np.int64)
                for form, chosen in returned_names.items()
            },
        )
        return plan, _log_lines(left_out)


class _PlanKey:
    """A recipe and the fields without positions, hashable; a recipe's mapping of normalisations is not."""

    def __init__(self, recipe: Recipe, without: tuple[str, ...]) -> None:
        self.recipe, self.without = recipe, without
        self._values = (*(_hashable(getattr(recipe, part.name)) for part in fields(recipe)), without)

    def __hash__(self) -> int:
        return hash(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PlanKey) and self._values == other._values


def _hashable(value: Any) -> Any:
    return tuple(value.items()) if isinstance(value, Mapping) else value


@lru_cache(maxsize=32)
def _remembered_plan(key: _PlanKey) -> tuple[ColumnPlan, tuple[tuple[str, str, str], ...]]:
    return ColumnPlan._made(key.recipe, key.without)


@lru_cache(maxsize=32)
def _remembered_part(plan: ColumnPlan, needed: frozenset[str]) -> ColumnPlan:
    groups = tuple((first, group) for first, group in plan.groups if not needed.isdisjoint(group.names))
    is_needed = np.array([name in needed for name in plan.names], dtype=np.bool_)
    normalised = {form: columns[is_needed[columns]] for form, columns in plan.normalised.items()}
    return replace(plan, groups=groups, normalised=normalised)


def _needs_positions(group: ColumnGroup) -> bool:
    return isinstance(group.family, FieldFamily) and group.family.needs_positions


def _log_lines(left_out: Sequence[ColumnGroup]) -> tuple[tuple[str, str, str], ...]:
    """Return log lines about families that need positions for fields that were indexed without them."""
    line = "features of the family %s are left out for %s: indexed without positions."
    names = dict.fromkeys(group.name for group in left_out)
    fields_of = {name: [str(group.field) for group in left_out if group.name == name] for name in names}
    return tuple((line, name, ", ".join(of_name)) for name, of_name in fields_of.items())

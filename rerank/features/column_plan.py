"""The columns that a recipe computes, keeps and normalises."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rerank.errors import log
from rerank.features.columns import ColumnGroup, column_groups
from rerank.features.normalise import normalisations
from rerank.features.recipe import Recipe, names_matching
from rerank.types import ForwardIndex, Ints


class Planned(NamedTuple):
    """A group of columns of which some are returned.

    first   number of the first returned column among all that are returned
    chosen  indices of the group's columns that are returned, ascending
    """

    group: ColumnGroup
    first: int
    chosen: list[int]


@dataclass(frozen=True, eq=False)
class ColumnPlan:
    """The columns that are returned: their names, and the groups that compute them.

    normalised  numbers of the columns of each normalisation
    left_out    fields whose columns a family cannot compute, since they were indexed without positions, by family
    """

    names: tuple[str, ...]
    groups: tuple[Planned, ...]
    normalised: Mapping[str, Ints]
    left_out: Mapping[str, list[str]]


def column_plan(forward: ForwardIndex, recipe: Recipe) -> ColumnPlan:
    """Return the plan of a recipe with explicit names."""
    without = frozenset(name for name, of_field in forward.fields.items() if of_field.positions is None)
    make = _column_plan.__wrapped__ if recipe.functions else _column_plan  # functions may be defined anew
    plan = make(recipe, without)
    for name, of_fields in plan.left_out.items():
        log.info(
            "features of the family %s are left out for %s: indexed without positions.", name, ", ".join(of_fields)
        )
    return plan


@lru_cache(maxsize=32)
def _column_plan(recipe: Recipe, without: frozenset[str]) -> ColumnPlan:
    """Return the plan of a recipe for an index in which these fields are `without` positions."""
    groups = column_groups(recipe)
    all_names = [name for group in groups for name in group.names]
    forms = normalisations(recipe.normalisation, all_names)
    chosen_names = set(all_names if recipe.features is None else names_matching("features", recipe.features, all_names))
    names: list[str] = []
    planned = []
    left_out: dict[str, list[str]] = {}
    for group in groups:
        chosen = [number for number, name in enumerate(group.names) if name in chosen_names]
        if chosen and group.family.needs_positions and group.field in without:
            left_out.setdefault(group.name, []).append(str(group.field))
        elif chosen:
            planned.append(Planned(group, len(names), chosen))
            names += [group.names[number] for number in chosen]
    of_columns = np.array([forms.get(name, "none") for name in names])
    return ColumnPlan(
        names=tuple(names),
        groups=tuple(planned),
        normalised={form: np.flatnonzero(of_columns == form) for form in set(forms.values())},
        left_out=left_out,
    )

"""What a family of features is, and which there are: a file in `families/` is all that a new one needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import unknown_name
from rerank.features.families import family_names
from rerank.features.match import Candidates, FieldBlock
from rerank.features.recipe import Recipe


class Missing(StrEnum):
    """Why a feature is undefined for a row, and hence NaN."""

    NO_QUERY_TERMS = "the query has no terms"
    NO_KNOWN_TERM = "no term of the query occurs in the field of any document"
    EMPTY_FIELD = "the field of the document is empty"
    NO_MATCH = "the field of the document holds no term of the query"
    ONE_MATCH = "the field of the document holds fewer than two terms of the query"
    NO_FEEDBACK = "the field is empty in all of the query's first documents"
    NOT_IN_RUN = "the other run does not hold the document for the query"
    NO_NUMBER = "the document has no such number"
    FUNCTION = "the function says so"


class Cost(StrEnum):
    """What the work for one value grows with."""

    QUERY = "once a query"
    PAIR = "once a pair"
    TERMS = "terms of the query"
    POSITIONS = "positions of the query's terms in the field"
    DOCUMENT = "terms of the field"


@dataclass(frozen=True)
class Feature:
    """One feature, documented.

    name       of the column; a family of a field writes the field's name behind it (`bm25` -> `bm25.title`)
    meaning    what it says, in a sentence
    formula    in the terms of the family's vocabulary
    source     where the definition comes from
    unit       of the values
    low, high  bounds of the values
    missing    when it is NaN; never NaN where none is given
    cost       what its computation grows with
    """

    name: str
    meaning: str
    formula: str
    source: str
    unit: str
    low: float = 0.0
    high: float = inf
    missing: tuple[Missing, ...] = ()
    cost: Cost = Cost.TERMS


class Family(ABC):
    """Features that are computed together.

    alone  filled on the caller's thread, since a user wrote it; other families are filled on several threads at once,
           each for other queries
    limit  how much of a query it reads, where it does not read all
    """

    alone: ClassVar[bool] = False
    limit: ClassVar[str] = ""

    @abstractmethod
    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""


class FieldFamily(Family):
    """Features of a query and one field of a document, computed for each field of the recipe."""

    needs_positions: ClassVar[bool] = False

    @abstractmethod
    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, n_features) float32, C-contiguous; NaN for missing."""


class RunFamily(Family):
    """Features that depend on no field: of the query, the run, the document as a whole."""

    @abstractmethod
    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, n_features) float32, C-contiguous; NaN for missing."""


def field_columns(name: str, block: FieldBlock, recipe: Recipe) -> NDArray[np.float32]:
    """Return what a family of a field makes of a block, (n_rows, n_features); computed once, whoever asks."""
    if name not in block.columns:
        member = family(name)
        if not isinstance(member, FieldFamily):
            raise TypeError(f"{name} is no family of a field")
        out = np.empty((block.candidates.n_rows, len(member.features(recipe))), dtype=np.float32)
        member.fill(block, recipe, out)
        block.columns[name] = out
    return block.columns[name]


@dataclass(frozen=True)
class ColumnGroup:
    """Neighbouring columns that one family fills, for one field or for none."""

    name: str
    family: Family
    field: str | None
    features: tuple[Feature, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        behind = "" if self.field is None else f".{self.field}"
        return tuple(feature.name + behind for feature in self.features)


def family(name: str) -> Family:
    """Return a family by name; an unknown name is refused with the nearest known one."""
    if name not in family_names():
        raise unknown_name("family of features", name, family_names())
    found: Family = import_module(f"rerank.features.families.{name}").FAMILY
    return found


def column_groups(recipe: Recipe) -> tuple[ColumnGroup, ...]:
    """Return the columns of a resolved recipe: field by field, then what depends on no field.

    The features, with their documentation, stand in each group.
    """
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

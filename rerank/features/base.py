"""Base classes of feature families, and the documentation that each feature carries.

The columns that a recipe asks for, in groups that one family fills.

The documentation of all features, and the default recipe as a commented TOML file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from math import inf, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.match import Candidates, FieldBlock
from rerank.features.recipe import (
    NORMALISATIONS,
    Family,
    Recipe,
    default_family_names,
    family,
    history_family_names,
    known_families,
)
from rerank.types.passages import Passages


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
    FUNCTION = "the user's function returned NaN"
    NO_TEXT = "the query or the document has no text"
    NO_VECTOR = "no term of the query, or none of the field of the document, has a vector"
    NO_HISTORY = "the history holds nothing for the query and the document"


class Cost(StrEnum):
    """What the computing time of one value grows with."""

    QUERY = "once a query"
    PAIR = "once a pair"
    TERMS = "terms of the query"
    POSITIONS = "positions of the query's terms in the field"
    DOCUMENT = "terms of the field"
    DIMENSIONS = "dimensions of the vectors"
    HISTORY = "once a query: judgements of similar queries; 20 nearest documents of a document for a smoothed value"


@dataclass(frozen=True)
class Feature:
    """One feature and its documentation.

    Parameters
    ----------
    name : str
        Name of the column. Features of a field append the field's name: `bm25` becomes `bm25.title`.
    meaning : str
        What the feature measures, in a sentence.
    formula : str
        The formula as implemented, in the notation of the family's module docstring.
    source : str
        Where the definition comes from.
    unit : str
        Unit of the values.
    low, high : float, default=0.0, inf
        Bounds of the values, both inclusive.
    missing : tuple of Missing, default=()
        When the value is NaN; never if empty.
    cost : Cost, default=Cost.TERMS
        What the computing time grows with.

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


class FieldFamily(Family):
    """Features of a query and one field of a document, computed for each field of the recipe from a `FieldBlock`."""


class RunFamily(Family):
    """Features that depend on no field, but on the query, the run or the whole document: on `Candidates`."""


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
        if isinstance(member, FieldFamily) == (field is not None)
    )


def columns_of(name: str, rows: FieldBlock | Candidates, recipe: Recipe) -> NDArray[np.float32]:
    """Return the columns of a family, (n_rows, n_features) float32, which are computed once for these rows."""
    if name not in rows.columns:
        member = family(name)
        rows.columns[name] = np.empty((rows.n_rows, len(member.features(recipe))), dtype=np.float32)
        member.fill(rows, recipe, rows.columns[name])
    return rows.columns[name]


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
            for sign, patterns in ((1, group.family.rising), (-1, group.family.falling)):
                if name in names and any(fnmatchcase(feature.name, pattern) for pattern in patterns):
                    found[name] = sign
    return found


def default_features(name: str) -> tuple[Feature, ...]:
    """Return the features of a family for the default recipe, without a field's name."""
    return tuple(family(name).features(Recipe()))


def template() -> str:
    """Return the default recipe as TOML; a line in comments shows an option and its default or an example."""
    on_request = [name for name, member in known_families().items() if member.on_request]
    learned = ", ".join(history_family_names())
    parameters = {key: value for key, value in Recipe().to_dict().items() if isinstance(value, float)}
    return "\n".join(
        [
            "# A recipe: what is computed for each query-document pair. What is left out keeps its default.",
            "# `rerank features --list` says what every family computes.",
            "",
            "# Fields of the index; all of them, and contents, the whole document, by default.",
            '# fields = ["contents", "title", "body"]',
            "",
            f"# Families; on request also {', '.join(on_request)}; with a history also {learned}.",
            f"families = {json.dumps(default_family_names())}",
            "",
            "# Columns to keep, by name or pattern; all by default.",
            '# features = ["bm25.*", "rm3_10.contents", "run.score"]',
            "",
            "# Numbers of the documents, functions of your own, and other runs: all that are there by default.",
            '# numbers = ["year"]',
            '# functions = ["my_feature"]',
            '# runs = ["dense"]',
            "",
            "# Words of a passage, and from one to the next, for the family passages; by default those of the index.",
            f'# passages = "{Passages()}"',
            "",
            "# Parameters of the models.",
            *(f"{key} = {value:g}" for key, value in parameters.items()),
            "",
            f"# Values within the query: {', '.join(NORMALISATIONS)}; by column or pattern, the last that fits holds.",
            "[normalisation]",
            '"*" = "none"',
            '# "bm25.*" = "minmax"',
            "",
        ]
    )


def catalogue() -> str:
    """Return every feature of every family: name, meaning, formula, source, unit, range, cost, when it is missing."""
    return "\n\n".join(_family(name, member) for name, member in known_families().items())


def _family(name: str, member: Family) -> str:
    features = default_features(name)
    about = [f"{len(features)} features of {'every field' if isinstance(member, FieldFamily) else 'no field'}"]
    if not features:
        about = [str(member.__doc__).rstrip(".")]
    when = "with a history, which is learned from judgements" if member.needs_history else "by default"
    about.append("where a recipe names it" if member.on_request else when)
    if member.needs_positions:
        about.append("needs positions")
    return "\n".join([f"{name} ({', '.join(about)})", *(_feature(feature) for feature in features)])


def _feature(feature: Feature) -> str:
    low, high = (
        ("-" if value < 0 else "") + "infinity" if isinf(value) else f"{value:g}"
        for value in (feature.low, feature.high)
    )
    return "\n".join(
        [
            f"  {feature.name}",
            f"    {feature.meaning}",
            f"    formula  {feature.formula}",
            f"    source   {feature.source}",
            f"    unit     {feature.unit}, {low} to {high}",
            f"    cost     {feature.cost}",
            f"    missing  {' or '.join(feature.missing) or 'never'}",
        ]
    )

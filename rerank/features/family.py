"""Families of features, registered by the name that recipes use, and the documentation of each feature.

A new family is a module of `rerank/features/families`, or of another package's entry point, whose class is decorated by
`register`; families of judgements are modules of `rerank/history`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.registry import Registry, import_installed

_REGISTRY: Registry[Family] = Registry("family of features", "rerank.features.families", of_instances=True)
known_families = _REGISTRY.known
family = _REGISTRY.get
register = _REGISTRY.register


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

    """

    name: str
    meaning: str
    formula: str
    source: str
    unit: str
    low: float = 0.0
    high: float = inf
    missing: tuple[Missing, ...] = ()


class Family:
    """Features that are computed together.

    Attributes
    ----------
    listed : sequence of Feature
        The features, in the order of their columns, where they do not depend on the recipe.
    needs_positions : bool
        Whether a field has to be indexed with positions.
    of_whole : bool
        Whether the family is computed for the field of the whole document only.
    on_request : bool
        Whether the family is computed only where a recipe names it, because it costs much and gains little.
    calling_thread : bool
        Whether `fill` runs on the thread that called `extract`, because it runs a user's code. Other families are
        filled on several threads at once, each thread with other queries or fields.
    needs_space : str
        The vector space that the family needs, "" for none. The family is computed if vectors of this space are given.
    needs_history : bool
        Whether the family is learned from judgements. The family is then computed only if a history is given.
    evidence : str
        What the features measure, as words for explanations. The name of the field, if any, is put in front: `match`
        becomes "title match".
    rising, falling : tuple of str
        Patterns of feature names, without the name of the field. Rising features are larger for better documents,
        falling ones smaller; a name that matches both is falling.

    """

    listed: ClassVar[Sequence[Feature]] = ()
    needs_positions: ClassVar[bool] = False
    of_whole: ClassVar[bool] = False
    on_request: ClassVar[bool] = False
    calling_thread: ClassVar[bool] = False
    needs_space: ClassVar[str] = ""
    needs_history: ClassVar[bool] = False
    evidence: ClassVar[str] = "other features"
    rising: ClassVar[tuple[str, ...]] = ()
    falling: ClassVar[tuple[str, ...]] = ()

    def features(self, recipe: Any) -> Sequence[Feature]:
        """Return the features in the order of their columns.

        recipe  a `Recipe`, whose module imports this one
        """
        return self.listed

    def fill(self, rows: Any, recipe: Any, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, n_features) float32, C-contiguous; NaN for missing.

        rows  a `FieldBlock` for a family of a field, `CandidateBatch` for another
        """
        raise NotImplementedError


class FieldFamily(Family):
    """Features of a query and one field of a document, for each field of the recipe, from a `match.FieldBlock`."""


class RunFamily(Family):
    """Features of the query, the run or the whole document, from a `match.CandidateBatch`; they depend on no field."""


def index_family_names() -> tuple[str, ...]:
    """Return the names of the families that need no vectors and no history, in alphabetical order."""
    return _names(lambda member: not (member.needs_space or member.needs_history))


def default_family_names() -> tuple[str, ...]:
    """Return the names of the families that a recipe without `families` computes without vectors and history."""
    return _names(lambda member: not (member.needs_space or member.needs_history or member.on_request))


def space_family_names(spaces: Container[str]) -> tuple[str, ...]:
    """Return the names of the families that need one of the given vector spaces, and no history."""
    return _names(lambda member: bool(member.needs_space) and member.needs_space in spaces and not member.needs_history)


def history_family_names(spaces: Container[str] = ()) -> tuple[str, ...]:
    """Return the names of the families that need a history, and no vector space other than the given ones."""
    return _names(lambda member: member.needs_history and (not member.needs_space or member.needs_space in spaces))


def _names(chosen: Callable[[Family], bool]) -> tuple[str, ...]:
    """Return the names of the chosen families of this package.

    Families of other packages are computed on request only, so that installing a package changes no result.
    """
    known, others = known_families(), import_installed()
    return tuple(
        name
        for name, member in known.items()
        if type(member).__module__.partition(".")[0] not in others and chosen(member)
    )

"""Base classes of feature families, and the documentation that each feature carries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.features.registry import Family

if TYPE_CHECKING:
    from rerank.features.candidates import Candidates
    from rerank.features.match import FieldBlock
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
    SOFT = "distinct terms of the candidates' fields, times terms of the query, times dimensions of the vectors"
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


class _Listed(Family):
    """Features with their documentation.

    Attributes
    ----------
    listed : sequence of Feature
        The features, in the order of their columns, where they do not depend on the recipe.

    """

    listed: ClassVar[Sequence[Feature]] = ()

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return self.listed


class FieldFamily(_Listed, ABC):
    """Features of a query and one field of a document, computed for each field of the recipe.

    Attributes
    ----------
    needs_positions : bool
        Whether the field has to be indexed with positions.
    independent_rows : bool
        Whether a row's values depend on the row and its query only. The rows of a query may then be filled in several
        calls of `fill`; otherwise all rows of a query are in the same block.

    """

    needs_positions: ClassVar[bool] = False
    independent_rows: ClassVar[bool] = False

    @abstractmethod
    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, n_features) float32, C-contiguous; NaN for missing."""


class RunFamily(_Listed, ABC):
    """Features that depend on no field, but on the query, the run or the whole document."""

    @abstractmethod
    def fill(self, candidates: Candidates, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, n_features) float32, C-contiguous; NaN for missing."""

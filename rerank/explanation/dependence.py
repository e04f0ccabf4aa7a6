"""Partial dependence: the mean score of documents if a feature had one value for all of them, for several values.

J. Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29 (2001), section 8.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rerank.errors import InvalidInputError, shown, suggestion
from rerank.evaluation.page import Account, Axis, Section, Series, line_chart, ticks
from rerank.explanation.explain import feature_meanings
from rerank.features.recipe import Recipe
from rerank.files.lists import data_of
from rerank.rankers.ranker import Ranker, fitted_model
from rerank.types import RankingData

MOST_ROWS = 20_000  # whose scores are computed for each value
N_VALUES = 20  # at most, of quantiles of those in the data
SHARES = 0.1, 0.9  # of the rows, between which the middle ones are


@dataclass(frozen=True)
class DependencePoint:
    """Scores where a feature has one value in all rows.

    Parameters
    ----------
    value : float
        The value; NaN is missing.
    n_rows : int
        Rows of the data whose own value is nearest to it.
    score : float
        Mean score of all rows, less the mean over the values, each counted once.
    low, high : float
        The same of a row by itself, for the 10 and 90 % of the rows with the least scores.

    """

    value: float
    n_rows: int
    score: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Dependence(Account):
    """How the score depends on a feature, the other features as they are.

    Parameters
    ----------
    feature, meaning, model : str
        The feature, its documentation (empty where the data do not say what it is), and the kind of the ranker.
    n_rows : int
        Rows that the means are over.
    points : tuple of DependencePoint
        By ascending value, a missing one last.

    """

    feature: str
    meaning: str
    model: str
    n_rows: int
    points: tuple[DependencePoint, ...]

    @property
    def title(self) -> str:  # type: ignore[override]
        """What is shown, as a heading."""
        return f"Score of {self.model} by {self.feature}"

    @property
    def subtitle(self) -> str:  # type: ignore[override]
        """The meaning of the feature."""
        return f"{self.meaning or 'a feature of the model'}; mean of {self.n_rows:,} documents"

    def parts(self, page: bool = False) -> Sequence[Section]:
        """Return the values, with their chart."""
        rows = [
            [
                "missing" if np.isnan(point.value) else f"{point.value:.4g}",
                f"{point.n_rows}",
                *(f"{score:+.4f}" for score in (point.score, point.low, point.high)),
            ]
            for point in self.points
        ]
        known = [point for point in self.points if not np.isnan(point.value)]
        header = [self.feature, "documents", "score", "10 %", "90 %"]
        if len(known) < 2:
            return [Section("Values", (), rows, header, 0)]
        names = {"mean": "score", "10 % of the documents": "low", "90 % of the documents": "high"}
        series = [
            Series(name, [(point.value, getattr(point, part)) for point in known], number)
            for number, (name, part) in enumerate(names.items())
        ]
        heights = [height for one in series for _, height in one.points]
        x = Axis(self.feature, ticks(known[0].value, known[-1].value))
        y = Axis("score, less its mean", ticks(min(heights), max(heights)))
        described = ", ".join(f"{point.value:.4g}: {point.score:+.4f}" for point in known)
        chart = line_chart("dependence", self.title, described, series, x, y)
        return [Section("Values", (), rows, header, 0, [chart])]


def dependence(model: Ranker | str | Path, data: RankingData | str | Path, feature: str) -> Dependence:
    """Return how the scores of a model depend on a feature.

    For up to 20 values of the feature, quantiles of those in the data, the score of each document is computed as if
    the feature had this value in all documents, and averaged. Features that change together are not moved together:
    some of these documents may be unlike any. A base that standardises within the query sees no difference between
    documents of equal value: its part does not change.

    Parameters
    ----------
    model : Ranker or path
        The model, or its file.
    data : RankingData or path
        Documents with their features; of more than 20,000 rows, so many are taken at equal distances.
    feature : str
        Name of a feature of the model.

    Returns
    -------
    Dependence
        A table, a chart and a page.

    Raises
    ------
    InvalidInputError
        For a feature that the model does not have, or that is missing in all documents.
    ModelMismatchError
        If the data lack features of the model.

    """
    model = fitted_model(model)
    data = data_of(data)
    if feature not in model.feature_names_:
        raise InvalidInputError(
            f"feature: expected one of the model's {len(model.feature_names_)} features, got {shown(feature)}. "
            f"{suggestion(feature, model.feature_names_)}"
        )
    if not isinstance(data, RankingData) or not data.n_rows:
        raise InvalidInputError("data: expected documents with features, got none. Pass ranking data or their file.")
    data = data.of_rows(np.unique(np.linspace(0, data.n_rows - 1, min(data.n_rows, MOST_ROWS)).astype(np.int64)))
    values = np.asarray(data.column(feature), dtype=np.float32)
    present = values[~np.isnan(values)]
    if not len(present):
        raise InvalidInputError("feature: expected values in the data, got only missing ones. Give other data.")
    grid = np.unique(np.quantile(present, np.linspace(0, 1, N_VALUES), method="nearest"))
    counts = np.bincount(np.searchsorted((grid[1:] + grid[:-1]) / 2, present), minlength=len(grid)).tolist()
    if len(present) < len(values):
        grid = np.append(grid, np.nan)
        counts.append(len(values) - len(present))
    X = np.array(data.X)
    scores = []
    for value in grid:
        X[:, data.feature_names.index(feature)] = value
        scores.append(model.predict(replace(data, X=X)))
    own = np.array(scores) - np.mean(scores, axis=0)  # (n_values, n_rows)
    low, high = np.quantile(own, SHARES, axis=1)
    points = zip(grid.tolist(), counts, own.mean(axis=1).tolist(), low.tolist(), high.tolist(), strict=True)
    meaning, _, _ = feature_meanings(Recipe.from_dict(data.recipe or {})).get(feature, ("", "", ""))
    return Dependence(feature, meaning, model.kind, data.n_rows, tuple(DependencePoint(*point) for point in points))

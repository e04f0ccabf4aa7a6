"""Partial dependence: the mean score of documents if a feature had one value for all of them, for several values.

J. Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29 (2001), section 8.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from rerank.errors import InvalidInputError, shown, suggestion
from rerank.evaluation.page.charts import Axis, Series, line_chart, svg_file, ticks
from rerank.evaluation.page.markup import Element, element, page_text, scrolling, section, table
from rerank.features.recipe import Recipe
from rerank.files.records import data_of
from rerank.rankers.ranker import Ranker
from rerank.rankers.store import fitted_model
from rerank.types import RankingData
from rerank.workflows.explain import feature_meanings

MOST_ROWS = 20_000  # whose scores are computed for each value
N_VALUES = 20
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


@dataclass(frozen=True)
class Dependence:
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
    def title(self) -> str:
        """What is shown, as a heading."""
        return f"Score of {self.model} by {self.feature}"

    def __str__(self) -> str:
        """Return a table."""
        rows = [[*cells, bar] for cells, bar in zip(self._rows(), self._bars(), strict=True)]
        header = [*self._header(), ""]
        about = f"{self.title}{f' ({self.meaning})' if self.meaning else ''}, mean of {self.n_rows:,} documents"
        return f"{about}\n\n{tabulate(rows, header, disable_numparse=True, stralign='right')}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; a missing value is None.

        Returns
        -------
        dict
            The fields.

        """
        points = [{**vars(each), "value": None if np.isnan(each.value) else each.value} for each in self.points]
        return {**vars(self), "points": points}

    def to_svg(self) -> str:
        """Return a chart as an SVG file.

        Returns
        -------
        str
            The file.

        """
        return svg_file(self._chart(), self._series())

    def to_html(self) -> str:
        """Return a self-contained page with a chart and a table.

        Returns
        -------
        str
            The page.

        """
        parts = [section("values", "Values", scrolling(table(self._header(), self._rows(), 0), self.title))]
        if len(self._known()) > 1:
            parts.insert(0, section("chart", "Chart", element("figure", self._chart())))
        return page_text(self.title, self.meaning or "a feature of the model", parts)

    def _known(self) -> list[DependencePoint]:
        return [each for each in self.points if not np.isnan(each.value)]

    def _header(self) -> list[str]:
        return [self.feature, "documents", "score", "10 %", "90 %"]

    def _rows(self) -> list[list[str]]:
        """Return value, documents, mean and limits of each point as text."""
        return [
            [
                "missing" if np.isnan(each.value) else f"{each.value:.4g}",
                f"{each.n_rows}",
                *(f"{score:+.4f}" for score in (each.score, each.low, each.high)),
            ]
            for each in self.points
        ]

    def _bars(self) -> list[str]:
        """Return bars of text, as long as the mean scores are above the least."""
        scores = [each.score for each in self.points]
        span = max(scores) - min(scores) or 1.0
        return ["#" * round(20 * (score - min(scores)) / span) for score in scores]

    def _series(self) -> list[Series]:
        known = self._known()
        names = {"mean": "score", "10 % of the documents": "low", "90 % of the documents": "high"}
        return [
            Series(name, [(each.value, getattr(each, part)) for each in known], number)
            for number, (name, part) in enumerate(names.items())
        ]

    def _chart(self) -> Element:
        series, known = self._series(), self._known()
        heights = [height for one in series for _, height in one.points]
        x = Axis(self.feature, ticks(known[0].value, known[-1].value))
        y = Axis("score, less its mean", ticks(min(heights), max(heights)))
        described = ", ".join(f"{each.value:.4g}: {each.score:+.4f}" for each in known)
        return line_chart("dependence", self.title, described, series, x, y)


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
    model, data = fitted_model(model), data_of(data)
    if feature not in model.feature_names_:
        raise InvalidInputError(
            f"feature: expected one of the model's {len(model.feature_names_)} features, got {shown(feature)}. "
            f"{suggestion(feature, model.feature_names_)}"
        )
    if not isinstance(data, RankingData) or not data.n_rows:
        raise InvalidInputError("data: expected documents with features, got none. Pass ranking data or their file.")
    data = data.of_rows(np.unique(np.linspace(0, data.n_rows - 1, min(data.n_rows, MOST_ROWS)).astype(np.int64)))
    values = np.asarray(data.column(feature), dtype=np.float32)
    grid = _grid(values)
    scores = np.array([model.predict(_with_value(data, feature, value)) for value in grid])  # (n_values, n_rows)
    own = scores - scores.mean(axis=0)
    low, high = np.quantile(own, SHARES, axis=1)
    counts = _nearest(values, grid)
    points = zip(grid.tolist(), counts, own.mean(axis=1).tolist(), low.tolist(), high.tolist(), strict=True)
    meaning, _, _ = feature_meanings(Recipe.from_dict(data.recipe or {})).get(feature, ("", "", ""))
    return Dependence(feature, meaning, model.kind, data.n_rows, tuple(DependencePoint(*point) for point in points))


def _grid(values: Any) -> Any:
    """Return up to 20 different values of those in the data, ascending, and NaN where some are missing."""
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        raise InvalidInputError("feature: expected values in the data, got only missing ones. Give other data.")
    quantiles = np.unique(np.quantile(known, np.linspace(0, 1, N_VALUES), method="nearest"))
    return np.append(quantiles, np.nan) if len(known) < len(values) else quantiles


def _nearest(values: Any, grid: Any) -> Sequence[int]:
    """Return how many values are nearest to each of the grid; missing ones count for themselves."""
    known = grid[~np.isnan(grid)]
    found = np.searchsorted((known[1:] + known[:-1]) / 2, values[~np.isnan(values)])
    counts: list[int] = np.bincount(found, minlength=len(known)).tolist()
    return counts + [int(np.isnan(values).sum())] * (len(grid) - len(known))


def _with_value(data: RankingData, feature: str, value: float) -> RankingData:
    X = np.array(data.X)
    X[:, data.feature_names.index(feature)] = value
    return replace(data, X=X)

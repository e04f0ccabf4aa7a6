"""Importance and cost of features, and a smaller recipe under a cost budget.

A small model with fixed hyper-parameters is trained on two thirds of the queries. Gains are those of that model.
Permutation importance and losses are measured on the held-out third, which no choice uses.

Partial dependence: the mean score of documents if a feature had one value for all of them, for several values.

J. Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29 (2001), section 8.2.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown, suggestion
from rerank.evaluation.page.figures import (
    Axis,
    Element,
    Series,
    element,
    line_chart,
    page_text,
    scrolling,
    section,
    svg_file,
    table,
    ticks,
)
from rerank.evaluation.significance import bootstrap_intervals
from rerank.explanation.explain import feature_meanings
from rerank.features.base import column_groups
from rerank.features.recipe import Recipe
from rerank.files.lists import data_of
from rerank.index.index import Index
from rerank.metrics.base import Measure
from rerank.metrics.registry import parse_measure
from rerank.rankers.boosted import LambdaMART
from rerank.rankers.ranker import Ranker
from rerank.rankers.store import fitted_model
from rerank.runtime.progress import track
from rerank.training.folds import assign_folds, groups_by_id, query_values
from rerank.types import Floats, Ints, RankingData, Run, Topics
from rerank.types.query_table import text_table

MODEL: dict[str, Any] = {"num_leaves": 15, "learning_rate": 0.1, "min_child_samples": 50, "random_state": 0}


@dataclass(frozen=True)
class Loss:
    """Loss of the measure on held-out queries without some features: mean and 95 % bootstrap interval."""

    without: str
    features: int
    loss: float
    low: float
    high: float


class HeldOutSplit:
    """The split of the queries, and the small model on all features."""

    def __init__(self, data: RankingData, measure: Measure, trees: int, threads: int | None) -> None:
        fold_of = assign_folds(data, 3, 0, groups=groups_by_id(data))
        fold = np.array([fold_of[query_id] for query_id in data])
        self.train = data.select(np.flatnonzero(fold))
        self.held_out = data.select(np.flatnonzero(fold == 0))
        self.measure = measure
        self._threads = threads
        self._settings = {**MODEL, "n_estimators": trees, "n_jobs": threads, "metric": measure.name}
        self.model = LambdaMART(**self._settings).fit(self.train)
        self.values = query_values(self.held_out, self.model.predict(self.held_out), measure)

    def loss(self, name: str, columns: Sequence[str]) -> Loss:
        """Return the loss if the model is trained on these columns only."""
        indices = np.array([self.train.feature_names.index(column) for column in columns], dtype=np.int64)
        train, held_out = (
            replace(part, X=np.ascontiguousarray(part.X[:, indices]), feature_names=tuple(columns), recipe=None)
            for part in (self.train, self.held_out)
        )
        scores = LambdaMART(**self._settings).fit(train).predict(held_out)
        losses = self.values - query_values(held_out, scores, self.measure)
        low, high = bootstrap_intervals(losses[:, None])
        return Loss(name, self.train.n_features - len(columns), float(losses.mean()), float(low[0]), float(high[0]))

    def permutation(self, model: Ranker) -> dict[str, float]:
        """Return the loss of the measure if the values of a feature are shuffled over the held-out rows.

        L. Breiman, Random Forests, Machine Learning 45, 2001, section 10.
        """
        random = np.random.default_rng(0)
        held_out = replace(self.held_out, X=self.held_out.X.copy())
        before = query_values(held_out, model.predict(held_out), self.measure).mean()
        losses = {}
        for column, name in track(list(enumerate(held_out.feature_names)), "permutation"):
            values = held_out.X[:, column].copy()
            held_out.X[:, column] = random.permutation(values)
            losses[name] = float(before - query_values(held_out, model.predict(held_out), self.measure).mean())
            held_out.X[:, column] = values
        return losses


TREES = 100
QUICK_TREES = 30
TOP, QUICK_TOP = 10, 3  # features that are left out one by one
TIMED_ROWS = 20_000


@dataclass(frozen=True)
class Group:
    """Columns that a family computes together for a field, or for no field; the unit of cost.

    microseconds  for each query-document pair if the group is computed alone, including the matching of the query's
                  terms; NaN if not measured
    """

    name: str
    features: tuple[str, ...]
    microseconds: float


@dataclass(frozen=True)
class FeatureWorth:
    """Importance and cost of a feature.

    microseconds  share of the cost of its group
    gain          share of the gain of all splits of the model
    permutation   loss of the measure if its held-out values are shuffled
    coverage      share of the queries in which it is not constant
    missing       share of the rows in which it is missing
    """

    name: str
    group: str
    microseconds: float
    gain: float
    permutation: float
    coverage: float
    missing: float


@dataclass(frozen=True)
class Suggestion:
    """Groups that are chosen greedily by gain per cost, their columns with a gain, their cost and held-out loss."""

    budget: float
    groups: tuple[str, ...]
    features: tuple[str, ...]
    microseconds: float
    check: Loss


@dataclass(frozen=True)
class FeatureReport:
    """Importance and cost of the features of some data."""

    measure: str
    value: float
    n_queries: int
    n_held_out: int
    features: tuple[FeatureWorth, ...]
    groups: tuple[Group, ...]
    losses: tuple[Loss, ...]
    suggestion: Suggestion


def feature_groups(data: RankingData, microseconds: Mapping[str, float] | None = None) -> tuple[Group, ...]:
    """Return the groups of the columns of data with a recipe; `microseconds` is the cost of groups by name."""
    if data.recipe is None:
        raise InvalidInputError("data: expected the recipe of the features, got none. Make it with `rerank features`.")
    groups = [
        (_group_name(group.name, group.field), group.names) for group in column_groups(Recipe.from_dict(data.recipe))
    ]
    present = [(name, tuple(column for column in columns if column in data.feature_names)) for name, columns in groups]
    costs = microseconds or {}
    return tuple(Group(name, columns, costs.get(name, float("nan"))) for name, columns in present if columns)


def _group_name(family: str, field: str | None) -> str:
    return family if field is None else f"{family}.{field}"


def measure_costs(
    index: Index,
    run: Run,
    topics: Topics | Mapping[str, str],
    recipe: Mapping[str, Any],
    repeats: int = 2,
) -> dict[str, float]:
    """Return the cost of each group of a resolved recipe, in microseconds for each query-document pair.

    Each group is computed alone for the first queries of the run. The cost is the minimum of `repeats` times, after one
    that compiles, minus the time of an extraction without features. Scores of other runs are not timed.
    """
    chosen = replace(Recipe.from_dict(recipe), features=None, normalisation={}, runs=())
    first_queries = _first_queries(run, TIMED_ROWS)

    def seconds(recipe: Recipe) -> float:
        times = []
        for _ in range(repeats + 1):
            start = time.perf_counter()
            index.features(first_queries, topics, recipe=recipe)
            times.append(time.perf_counter() - start)
        return min(times[1:])

    group_seconds = {
        _group_name(group.name, group.field): seconds(
            replace(chosen, families=(group.name,), fields=(group.field,) if group.field else chosen.fields)
        )
        for group in track(column_groups(chosen), "costs")
        if group.features
    }
    # Measured last, as Java gets faster with the number of calls.
    baseline_seconds = seconds(replace(chosen, families=("static",), numbers=()))
    return {
        name: 1e6 * max(duration - baseline_seconds, 0.0) / max(first_queries.n_rows, 1)
        for name, duration in group_seconds.items()
    }


def feature_report(
    data: RankingData,
    model: Ranker | None = None,
    *,
    microseconds: Mapping[str, float] | None = None,
    budget: float | None = None,
    metric: str = "nDCG@10",
    quick: bool = False,
    threads: int | None = None,
) -> FeatureReport:
    """Return importance and cost of each feature of labelled data."""
    if data.labels is None or len(data) < 6:
        raise InvalidInputError(
            f"data: expected labels and at least 6 queries, got {'no labels' if data.labels is None else len(data)}. "
            "Give judgements (--qrels) of more queries."
        )
    groups = feature_groups(data, microseconds)
    split = HeldOutSplit(data, parse_measure(metric), QUICK_TREES if quick else TREES, threads)
    explained = model or split.model
    gains = _gains(explained, data.feature_names)
    features = _worths(data, groups, gains, split.permutation(explained))
    top = sorted(features, key=lambda feature: -feature.gain)[: QUICK_TOP if quick else TOP]
    left_out = {**_families(groups), **{feature.name: (feature.name,) for feature in top}}
    losses = [
        split.loss(name, [column for column in data.feature_names if column not in columns])
        for name, columns in track(left_out.items(), "left out", len(left_out))
        if len(columns) < data.n_features
    ]
    suggestion = _suggestion(split, groups, _gains(split.model, data.feature_names), budget)
    value = float(split.values.mean())
    return FeatureReport(
        split.measure.name, value, len(data), len(split.held_out), features, groups, tuple(losses), suggestion
    )


def _gains(model: Ranker, names: Sequence[str]) -> dict[str, float]:
    """Return the share of the gain of each feature; 0 if the model does not use it or has no gains."""
    gains = np.asarray(getattr(model, "feature_importances_", np.zeros(model.n_features_in_)), dtype=np.float64)
    shares = gains / (gains.sum() or 1.0)
    known = dict(zip(model.feature_names_, shares.tolist(), strict=True))
    return {name: known.get(name, 0.0) for name in names}


def _worths(
    data: RankingData, groups: tuple[Group, ...], gains: Mapping[str, float], permutation: Mapping[str, float]
) -> tuple[FeatureWorth, ...]:
    missing = np.isnan(data.X).mean(axis=0)
    coverage = _coverage(data)
    column_of = {name: number for number, name in enumerate(data.feature_names)}
    return tuple(
        FeatureWorth(
            name,
            group.name,
            group.microseconds / len(group.features),
            gains[name],
            permutation[name],
            float(coverage[column_of[name]]),
            float(missing[column_of[name]]),
        )
        for group in groups
        for name in group.features
    )


def _coverage(data: RankingData) -> Floats:
    n_distinguished = np.zeros(data.n_features)
    for first, last in _spans(data.query_ptr):
        block = data.X[first:last]
        n_distinguished += np.fmax.reduce(block) > np.fmin.reduce(block)
    return n_distinguished / len(data)


def _first_queries(run: Run, n_rows: int) -> Run:
    """Return the first queries of a run, about `n_rows` rows."""
    last = max(1, int(np.searchsorted(run.query_ptr, n_rows, side="right")) - 1)
    rows = int(run.query_ptr[last])
    return Run(run.query_ids[:last], run.query_ptr[: last + 1], run.doc_ids[:rows], run.scores[:rows], run.name)


def _spans(query_ptr: Ints) -> list[tuple[int, int]]:
    bounds = zip(query_ptr[:-1].tolist(), query_ptr[1:].tolist(), strict=True)
    return [(first, last) for first, last in bounds if last > first]


def _families(groups: tuple[Group, ...]) -> dict[str, tuple[str, ...]]:
    """Return the columns of each family, over all fields."""
    columns: dict[str, tuple[str, ...]] = {}
    for group in groups:
        name = f"family {group.name.partition('.')[0]}"
        columns[name] = columns.get(name, ()) + group.features
    return columns


def _suggestion(
    split: HeldOutSplit, groups: tuple[Group, ...], gains: Mapping[str, float], budget: float | None
) -> Suggestion:
    """Return groups by gain per cost that fit the budget; the held-out queries are used once, for the final loss."""

    def cost(group: Group) -> float:
        return len(group.features) if np.isnan(group.microseconds) else max(group.microseconds, 1e-9)

    def worth(group: Group) -> float:
        return sum(gains[name] for name in group.features)

    limit = sum(map(cost, groups)) / 2 if budget is None else budget
    chosen: list[Group] = []
    for group in sorted(groups, key=lambda group: -worth(group) / cost(group)):
        if worth(group) > 0 and sum(map(cost, chosen)) + cost(group) <= limit:
            chosen.append(group)
    columns = tuple(name for group in groups if group in chosen for name in group.features if gains[name] > 0)
    if not columns:
        cheapest = min(map(cost, groups))
        raise InvalidInputError(
            f"budget: expected at least the {cheapest:.3g} microseconds of the cheapest features, got {limit:g}. "
            "Raise it."
        )
    check = split.loss("the suggested recipe", columns)
    return Suggestion(limit, tuple(group.name for group in chosen), columns, sum(map(cost, chosen)), check)


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
        return f"{about}\n\n{text_table(rows, header, 0)}"

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
        series = self._series()
        known = self._known()
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

"""Importance and cost of features, and a smaller recipe under a cost budget.

A small model with fixed hyper-parameters is trained on two thirds of the queries. Gains are those of that model.
Losses are measured on the held-out third, which no choice uses.

Partial dependence: the mean score of documents if a feature had one value for all of them, for several values.

J. Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29 (2001), section 8.2.
"""

from __future__ import annotations

import timeit
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown, suggestion
from rerank.evaluation.page.account import Account, Section, write_account
from rerank.evaluation.page.figures import Axis, Series, element, line_chart, ticks
from rerank.evaluation.significance import bootstrap_intervals
from rerank.explanation.explain import feature_meanings
from rerank.features.recipe import ColumnGroup, Recipe, column_groups
from rerank.files.lists import data_of
from rerank.index.index import Index
from rerank.metrics.base import Measure
from rerank.metrics.registry import parse_measure
from rerank.rankers.boosted import LambdaMART
from rerank.rankers.ranker import Ranker, fitted_model
from rerank.runtime.output import whole_file
from rerank.runtime.progress import track
from rerank.training.folds import assign_folds, groups_by_id, query_values
from rerank.types import RankingData, Run, Topics

MODEL: dict[str, Any] = {"num_leaves": 15, "learning_rate": 0.1, "min_child_samples": 50, "random_state": 0}


@dataclass(frozen=True)
class Loss:
    """Loss of the measure on held-out queries without some features: mean and 95 % bootstrap interval."""

    without: str
    features: int
    loss: float
    low: float
    high: float

    @property
    def words(self) -> tuple[str, str]:
        """The loss and its interval in figures."""
        return f"{self.loss:+.4f}", f"[{self.low:+.4f}, {self.high:+.4f}]"


class HeldOutSplit:
    """The split of the queries, and the small model on all features."""

    def __init__(self, data: RankingData, measure: Measure, trees: int, threads: int | None) -> None:
        fold_of = assign_folds(data, 3, 0, groups=groups_by_id(data))
        fold = np.array([fold_of[query_id] for query_id in data])
        self.train = data.select(np.flatnonzero(fold))
        self.held_out = data.select(np.flatnonzero(fold == 0))
        self.measure = measure
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


TREES = 100
QUICK_TREES = 30
TOP, QUICK_TOP = 10, 3  # features that are left out one by one
TIMED_ROWS = 20_000


@dataclass(frozen=True)
class FeatureWorth:
    """Importance and cost of a feature.

    group         columns that a family computes together for a field, or for no field; the unit of cost
    microseconds  share of the cost of its group for each query-document pair if the group is computed alone, including
                  the matching of the query's terms; NaN if not measured
    gain          share of the gain of all splits of the model
    """

    name: str
    group: str
    microseconds: float
    gain: float


@dataclass(frozen=True)
class Suggestion:
    """Groups that are chosen greedily by gain per cost, their columns with a gain, their cost and held-out loss."""

    budget: float
    groups: tuple[str, ...]
    features: tuple[str, ...]
    microseconds: float
    check: Loss


@dataclass(frozen=True, repr=False)
class FeatureReport(Account):
    """Importance and cost of the features of some data."""

    measure: str
    value: float
    n_queries: int
    n_held_out: int
    features: tuple[FeatureWorth, ...]
    losses: tuple[Loss, ...]
    suggestion: Suggestion

    @property
    def title(self) -> str:  # type: ignore[override]
        """The features, and the measure of the model that has all of them."""
        return f"{len(self.features)} features: {self.measure} {self.value:.4f}"

    @property
    def subtitle(self) -> str:  # type: ignore[override]
        """What was measured."""
        return f"Measured on {self.n_held_out} held-out of {self.n_queries} queries"

    def parts(self, page: bool = False) -> Sequence[Section]:
        """Return the features by their gain, what is lost without some, and the suggested ones."""
        features = [
            [worth.name, worth.group, f"{worth.microseconds:.3f}", f"{worth.gain:.4f}"]
            for worth in sorted(self.features, key=lambda worth: -worth.gain)
        ]
        losses = [[loss.without, f"{loss.features}", *loss.words] for loss in self.losses]
        lost, chosen = f"loss of {self.measure}", self.suggestion
        text = (
            f"Under {chosen.budget:.3g} us a pair: {len(chosen.features)} features of {', '.join(chosen.groups)}; "
            f"{chosen.microseconds:.3g} us, {lost} {' '.join(chosen.check.words)}."
        )
        return [
            Section("Features", (), features, ("feature", "group", "us/pair", "gain")),
            Section("Without some", (), losses, ("left out", "features", lost, "95 %"), 1),
            Section("Suggested", [text]),
        ]


def check_report_path(path: str | Path) -> Path:
    """Return the path of a report; refuse an unknown file name extension before the computation."""
    endings = (".txt", ".html", ".json", ".toml")
    if str(path) != "-" and Path(path).suffix not in endings:
        raise InvalidInputError(
            f"{path}: expected a name that ends in {', '.join(endings)}, or - for stdout, got another. Rename it."
        )
    return Path(path)


def write_report(report: FeatureReport, recipe: Mapping[str, Any], path: Path) -> None:
    """Write a report in the form of the file name, or the suggested recipe (.toml).

    recipe  recipe of the data of the report; the suggested recipe has fewer columns
    """
    if path.suffix != ".toml":
        write_account(report, path)
        return
    about = " ".join(report.parts()[-1].text)
    with whole_file(path) as file:
        file.write(f"# {about}\n{suggested_recipe(report, recipe).to_toml()}")


def suggested_recipe(report: FeatureReport, recipe: Mapping[str, Any]) -> Recipe:
    """Return the recipe of the suggested columns; features outside it are not computed."""
    return replace(Recipe.from_dict(recipe), features=report.suggestion.features)


def feature_groups(data: RankingData) -> dict[str, tuple[str, ...]]:
    """Return the columns of each group of data with a recipe."""
    if data.recipe is None:
        raise InvalidInputError("data: expected the recipe of the features, got none. Make it with `rerank features`.")
    groups = {
        _group_name(group): tuple(column for column in group.names if column in data.feature_names)
        for group in column_groups(Recipe.from_dict(data.recipe))
    }
    return {name: columns for name, columns in groups.items() if columns}


def _group_name(group: ColumnGroup) -> str:
    return group.name if group.field is None else f"{group.name}.{group.field}"


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
    first_queries = run.select(np.arange(max(1, int(np.searchsorted(run.query_ptr, TIMED_ROWS, side="right")) - 1)))

    def seconds(recipe: Recipe) -> float:
        return min(
            timeit.repeat(lambda: index.features(first_queries, topics, recipe=recipe), repeat=repeats + 1, number=1)[
                1:
            ]
        )

    group_seconds = {
        _group_name(group): seconds(
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
    *,
    microseconds: Mapping[str, float] | None = None,
    budget: float | None = None,
    quick: bool = False,
    threads: int | None = None,
) -> FeatureReport:
    """Return importance and cost of each feature of labelled data; `microseconds` is the cost of groups by name."""
    if data.labels is None or len(data) < 6:
        raise InvalidInputError(
            f"data: expected labels and at least 6 queries, got {'no labels' if data.labels is None else len(data)}. "
            "Give judgements (--qrels) of more queries."
        )
    groups = feature_groups(data)
    costs = dict.fromkeys(groups, float("nan")) | dict(microseconds or {})
    split = HeldOutSplit(data, parse_measure("nDCG@10"), QUICK_TREES if quick else TREES, threads)
    gains = importances(split.model)
    features = tuple(
        FeatureWorth(name, group, costs[group] / len(columns), gains.get(name, 0.0))
        for group, columns in groups.items()
        for name in columns
    )
    left_out: dict[str, tuple[str, ...]] = {}
    for group, columns in groups.items():
        family = f"family {group.partition('.')[0]}"
        left_out[family] = left_out.get(family, ()) + columns
    top = sorted(features, key=lambda feature: -feature.gain)[: QUICK_TOP if quick else TOP]
    left_out |= {feature.name: (feature.name,) for feature in top}
    losses = tuple(
        split.loss(name, [column for column in data.feature_names if column not in columns])
        for name, columns in track(left_out.items(), "left out", len(left_out))
        if len(columns) < data.n_features
    )
    suggested = _suggestion(split, groups, costs, gains, budget)
    value = float(split.values.mean())
    return FeatureReport(split.measure.name, value, len(data), len(split.held_out), features, losses, suggested)


def importances(model: Ranker, most: int | None = None) -> dict[str, float]:
    """Return the shares above 0 of features in all importances, the greatest first, at most so many."""
    values = np.abs(getattr(model, "feature_importances_", np.zeros(len(model.feature_names_))))
    pairs = zip((values / (values.sum() or 1.0)).tolist(), model.feature_names_, strict=True)
    order = sorted((-share, name) for share, name in pairs if share > 0)
    return {name: -share for share, name in order[:most]}


def _suggestion(
    split: HeldOutSplit,
    groups: Mapping[str, tuple[str, ...]],
    costs: Mapping[str, float],
    gains: Mapping[str, float],
    budget: float | None,
) -> Suggestion:
    """Return groups by gain per cost that fit the budget; the held-out queries are used once, for the final loss."""
    worth = {name: sum(gains.get(column, 0.0) for column in columns) for name, columns in groups.items()}
    cost = {name: len(columns) if np.isnan(costs[name]) else max(costs[name], 1e-9) for name, columns in groups.items()}
    limit = sum(cost.values()) / 2 if budget is None else budget
    chosen: dict[str, float] = {}
    for name in sorted(groups, key=lambda name: -worth[name] / cost[name]):
        if worth[name] > 0 and sum(chosen.values()) + cost[name] <= limit:
            chosen[name] = cost[name]
    columns = tuple(
        column for name in groups if name in chosen for column in groups[name] if gains.get(column, 0.0) > 0
    )
    if not columns:
        raise InvalidInputError(
            f"budget: expected at least the {min(cost.values()):.3g} microseconds of the cheapest features, got "
            f"{limit:g}. Raise it."
        )
    check = split.loss("the suggested recipe", columns)
    return Suggestion(limit, tuple(chosen), columns, sum(chosen.values()), check)


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
        """Return the values, and the chart of a page."""
        rows = [
            [
                "missing" if np.isnan(point.value) else f"{point.value:.4g}",
                f"{point.n_rows}",
                *(f"{score:+.4f}" for score in (point.score, point.low, point.high)),
            ]
            for point in self.points
        ]
        known = [point for point in self.points if not np.isnan(point.value)]
        values = Section("Values", (), rows, [self.feature, "documents", "score", "10 %", "90 %"], 0)
        if not page or len(known) < 2:
            return [values]
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
        return [Section("Chart", figures=[element("figure", chart)]), values]


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

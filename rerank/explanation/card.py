"""The card of a model, and how its scores depend on a feature.

A card says what a model is, what it was made from, and what it is for.

M. Mitchell and others, Model cards for model reporting, FAT* 2019.

Partial dependence is the mean score of the documents if a feature had the same value in all of them, as a function of
this value.

J. Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29 (2001), section 8.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown, suggestion
from rerank.evaluation.page import Account, Axis, Chart, DotChart, Section, ticks
from rerank.experiments.study import versions
from rerank.explanation.explain import feature_meanings
from rerank.features.columns import directions
from rerank.features.recipe import Recipe
from rerank.files.inputs import data_of
from rerank.metrics.registry import parse_measures
from rerank.metrics.reliability import Reliability
from rerank.rankers.bases import NoBase
from rerank.rankers.estimator import plain_parameters
from rerank.rankers.learned_fusion import Fusion
from rerank.rankers.model_file import FORMAT, VERSION
from rerank.rankers.parameters import declared_parameters
from rerank.rankers.ranker import Ranker, fitted_model
from rerank.runtime.sums import mean
from rerank.training.cross_validation import query_values
from rerank.trees.constraints import FEATURES, SplitConstraints
from rerank.types import RankingData, counted

LISTED = 20  # features, of all that the model has
GENERAL = (
    "It reorders the candidates of a query. Scores compare documents of one query, not documents of different queries"
)
MOST_ROWS = 20_000  # rows whose scores partial dependence computes for each value
N_VALUES = 20  # most values of the feature: quantiles of the data
SHARES = 0.1, 0.9  # quantiles of the rows, which a dependence shows beside the mean
Row = tuple[str, str]


@dataclass(frozen=True, repr=False)
class ModelCard(Account):
    """What a model is, what it was made from, and what it is for.

    Parameters
    ----------
    title : str
        The heading.
    sections : tuple of Section
        The parts.

    """

    title: str
    sections: tuple[Section, ...]

    def parts(self, page: bool = False) -> Sequence[Section]:
        """Return the sections."""
        return self.sections

    def to_dict(self) -> dict[str, Any]:
        """Return the title, and each section with its paragraphs and rows, as plain JSON values.

        Returns
        -------
        dict
            Title and sections.

        """
        return {
            "title": self.title,
            "sections": [{"title": part.title, "text": part.text, "rows": part.rows} for part in self.sections],
        }


def model_card(
    model: Ranker | str | Path,
    data: RankingData | str | Path | None = None,
    *,
    measures: Iterable[Any] = (),
) -> ModelCard:
    """Return the card of a model.

    Parameters
    ----------
    model : Ranker or path
        The model, or its file.
    data : RankingData, path or None
        Data to describe, and to measure the model on where they have labels. Whether the model learned from them is
        not known: give queries that it has not seen.
    measures : iterable of str
        What is measured; the model's own measure by default.

    Returns
    -------
    ModelCard
        The card.

    Raises
    ------
    ModelMismatchError
        If the data lack features of the model.

    """
    name = Path(model).name if isinstance(model, str | Path) else type(model).__name__
    model = fitted_model(model)
    data = None if data is None else data_of(data)
    wrote = [(f"{name}, which wrote this card", number) for name, number in versions().items() if number]
    sections = (
        Section("Model", rows=[*model.about().items(), ("checksum", model.checksum())]),
        Section("Intended use", [_use(model)]),
        Section("Data", rows=_data(model, data)),
        _features(model),
        Section("Measures", rows=_measures(model, data, measures)),
        Section("Constraints", rows=_constraints(model)),
        _calibration(model),
        Section("Parameters", rows=_parameters(model)),
        Section("Versions", rows=[("model file", f"{FORMAT} {VERSION}"), *wrote]),
    )
    return ModelCard(f"Model card: {name}", tuple(part for part in sections if part.text or part.rows))


def _use(model: Ranker) -> str:
    """Return what the model is for, as far as the model tells it."""
    comparable = "; probabilities of relevance, which it has, do" if model.calibration_ is not None else ""
    sentences = [f"{GENERAL}{comparable}"]
    if model.retriever_ is not None:
        sentences.append(
            f"Its candidates are those of {model.retriever_}; other candidates are not what it learned from"
        )
    if model.fingerprint_:
        sentences.append("It is for the collection that it was trained on; on others, measure it first")
    if model.recipe_ and (model.recipe_.get("runs") or (model.recipe_.get("history") and model.history_ is None)):
        sentences.append("It needs a history of judgements or runs of other systems at each use")
    return ". ".join(sentences) + "."


def _data(model: Ranker, data: RankingData | None) -> list[Row]:
    """Return what the model was made from, as far as the model file tells it, and what the given data are."""
    made = model.fingerprint_ or {}
    rows = [
        ("language", str(made.get("language") or "")),
        ("checksum of the index", str(made.get("checksum", ""))),
        ("other runs", ", ".join(model.run_retrievers_)),
    ]
    if model.calibration_ is not None:
        judged = f"{model.calibration_.n_queries}, {model.calibration_.n_relevant} relevant documents"
        rows.append(("judged queries", judged))
    if isinstance(model, Fusion) and model.judged_ is not None:
        rows.append(("judged queries", f"{len(model.judged_.query_ids):,}; the model file holds their labels"))
    if model.history_ is not None:
        rows.append(("history", f"{len(model.history_.query_ids):,} judged queries; the model file holds their labels"))
    if model.statistics_ is not None:
        n_terms = model.statistics_.fingerprint["terms"]
        rows.append(("statistics", f"of {n_terms:,} terms, which the model file holds: texts need no index"))
    if data is not None:
        rows.append(("given data", f"{counted(len(data), 'query', 'queries')}, {counted(data.n_rows, 'document')}"))
    if data is not None and data.labels is not None:
        shares = zip(*np.unique(data.labels, return_counts=True), strict=True)
        rows.append(("labels", ", ".join(f"{label:g}: {count:,}" for label, count in shares)))
    return [row for row in rows if row[1]]


def _features(model: Ranker) -> Section:
    recipe = model.recipe_ or {}
    parts = ("fields", "families", "functions", "numbers", "runs")
    rows = [(part, ", ".join(map(str, recipe[part]))) for part in parts if recipe.get(part)]
    shares = _importances(model)
    rows += [(name, f"{share:.1%} of the importance") for name, share in shares.items()]
    values = {name: (share,) for name, share in shares.items()}
    chart = DotChart("importance", "Features of the greatest importance", values, "share of all importances")
    return Section("Features", rows=rows, figures=[chart] if shares else [])


def _importances(model: Ranker) -> dict[str, float]:
    """Return the greatest shares of features in all importances, by name."""
    values = np.abs(getattr(model, "feature_importances_", np.zeros(len(model.feature_names_))))
    pairs = zip((values / (values.sum() or 1.0)).tolist(), model.feature_names_, strict=True)
    order = sorted((-share, name) for share, name in pairs if share > 0)
    return {name: -share for share, name in order[:LISTED]}


def _measures(model: Ranker, data: RankingData | None, measures: Iterable[Any]) -> list[Row]:
    """Return the values of the model in its training, and those on given data with labels."""
    rows = []
    for name, history in model.evals_result_.get("valid", {}).items():
        best = f"{history[model.best_iteration_]:.4f} after {counted(model.best_iteration_, 'iteration')}"
        rows.append((f"{name} on the queries that ended the training", f"{best}, {history[0]:.4f} before"))
    value = getattr(model, "cross_validated_", None)
    if value is not None:
        rows.append(("by cross-validation of the training queries", f"{value:.4f}"))
    if data is None or data.labels is None:
        return rows
    scores = model.predict(data)
    for measure in parse_measures(measures or [model.metric]):
        value = f"{mean(query_values(data, scores, measure), data.weights):.4f}"
        if data.base_scores is not None:
            before = mean(query_values(data, data.base_scores, measure), data.weights)
            value += f", {before:.4f} in the order of the candidates"
        rows.append((f"{measure.name} on the given data", value))
    return rows


def _constraints(model: Ranker) -> list[Row]:
    monotone, groups = (getattr(model, f"{name}_constraints", None) for name in ("monotone", "interaction"))
    rows = []
    if isinstance(monotone, str) and monotone == FEATURES:
        monotone = directions(model.recipe_, model.feature_names_)
    if monotone is not None:
        signs = SplitConstraints.of(model.feature_names_, monotone).direction.tolist()
        words = {1: "may not fall", -1: "may not rise"}
        what = "the score" if isinstance(model.base_, NoBase) else "what the model adds to its base"
        rows += [
            (str(name), f"{what} {words[sign]} with it")
            for name, sign in zip(model.feature_names_, signs, strict=True)
            if sign
        ]
    rows += [("features that split together", ", ".join(map(str, group))) for group in groups or ()]
    return rows or [("constraints", "none")]


def _calibration(model: Ranker) -> Section:
    calibration = model.calibration_
    if calibration is None:
        return Section("Calibration", rows=[("probabilities", "none: scores are not calibrated")])
    rows = [
        ("relevant", f"label of at least {calibration.target:g}"),
        ("learned from", f"{calibration.n_queries} queries in {calibration.folds} folds"),
        ("Brier score", f"{calibration.reliability.brier:.4f}"),
        ("expected calibration error", f"{calibration.reliability.error:.4f}"),
    ]
    return Section("Calibration", rows=rows, figures=[reliability_figure(calibration.reliability)])


def _parameters(model: Ranker) -> list[Row]:
    """Return what differs from the defaults, then the other parameters."""
    defaults = {name: declared.default for name, declared in declared_parameters(type(model)).items()}
    values = plain_parameters(model)  # as its file holds them: arrays as lists
    changed = [(name, repr(value)) for name, value in values.items() if value != defaults[name]]
    return changed + [(name, f"{value!r} (default)") for name, value in values.items() if value == defaults[name]]


def reliability_figure(reliability: Reliability) -> Chart:
    """Return the share of relevant documents by promised probability."""
    points = list(zip(reliability.predicted.tolist(), reliability.observed.tolist(), strict=True))
    scale = ticks(0.0, max(map(max, points)))
    lines = {"observed": points, "as promised": [(0.0, 0.0), (scale[-1], scale[-1])]}
    figures = f"Brier score {reliability.brier:.4f}, expected calibration error {reliability.error:.4f}"
    caption = f"Observed share of relevant documents by promised probability, of queries not learned from. {figures}"
    return Chart("reliability", caption, lines, Axis("promised probability", scale), "relevant")


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
        Mean over the rows of the score with this value, less the row's mean over all values, each counted once.
    low, high : float
        The 10 % and 90 % quantiles over the rows of the same difference.

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
        lines = {name: [(point.value, getattr(point, part)) for point in known] for name, part in names.items()}
        x = Axis(self.feature, ticks(known[0].value, known[-1].value))
        chart = Chart("dependence", self.title, lines, x, "score, less its mean")
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
        Documents with their features; of more rows than 20,000, this many are taken at equal distances.
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
    values = np.asarray(data.column(feature), dtype=np.float64)  # sums of two may exceed float32
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

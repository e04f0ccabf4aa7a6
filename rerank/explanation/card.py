"""Model cards: what a model is, what it was made from, and what it is for, as Markdown and as a page.

M. Mitchell and others, Model cards for model reporting, FAT* 2019.

Feature reports as files: a table, TSV, JSON, and the suggested recipe as TOML.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.evaluation.page.figures import (
    Element,
    TrainedModel,
    element,
    page_text,
    scrolling,
    section,
    table,
    training_figures,
)
from rerank.experiments.settings import versions
from rerank.explanation.importance import FeatureReport
from rerank.features.base import directions
from rerank.features.recipe import Recipe
from rerank.files.lists import data_of
from rerank.metrics.registry import parse_measures
from rerank.rankers.fusion import Fusion
from rerank.rankers.parameters import declared_parameters
from rerank.rankers.ranker import FORMAT, VERSION, Ranker
from rerank.rankers.store import fitted_model
from rerank.rankers.warm_start import FeatureBase, ModelBase, NoBase, OtherRunBase
from rerank.runtime.output import whole_file
from rerank.training.folds import query_values
from rerank.trees.structures import FEATURES
from rerank.types import RankingData
from rerank.types.query_table import counted, text_table

LISTED = 20  # features, of all that the model has
NOT_KEPT = "not kept in the model file"
GENERAL = (
    "It reorders the candidates of a query. Scores compare documents of one query, not documents of different queries"
)
Row = tuple[str, str]


@dataclass(frozen=True)
class CardSection:
    """A part of a card.

    Parameters
    ----------
    title : str
        The heading.
    text : str
        A paragraph; empty for none.
    rows : tuple of pairs of str
        Names and values.

    """

    title: str
    text: str = ""
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class ModelCard:
    """What a model is, what it was made from, and what it is for.

    Parameters
    ----------
    title : str
        The heading.
    sections : tuple of CardSection
        The parts.
    training : TrainedModel
        Curve, importances and reliability, which the page draws.

    """

    title: str
    sections: tuple[CardSection, ...]
    training: TrainedModel

    def __str__(self) -> str:
        """Return the card in Markdown."""
        return self.to_markdown()

    def to_markdown(self) -> str:
        """Return the card in Markdown.

        Returns
        -------
        str
            The text.

        """
        lines = [f"# {_escaped(self.title)}"]
        for each in self.sections:
            lines += ["", f"## {each.title}"]
            lines += ["", _escaped(each.text)] if each.text else []
            if each.rows:
                lines += ["", "| | |", "|---|---|"]
                lines += [f"| {_escaped(name)} | {_escaped(value)} |" for name, value in each.rows]
        return "\n".join(lines) + "\n"

    def to_html(self) -> str:
        """Return the card as a self-contained page, with charts of the training.

        Returns
        -------
        str
            The page.

        """
        parts = [section(_id(each.title), each.title, *_content(each)) for each in self.sections]
        figures = training_figures([self.training], ())
        if figures:
            parts.append(section("charts", "Charts", element("div", figures, class_="figures")))
        return page_text(self.title, "Model card", parts)


def model_card(
    model: Ranker | str | Path,
    data: RankingData | str | Path | None = None,
    *,
    measures: Iterable[Any] = (),
    use: str = "",
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
    use : str
        What the model is for, and what it is not for.

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
    given = None if data is None else data_of(data)
    sections = [
        CardSection("Model", rows=tuple(_about(model))),
        CardSection("Intended use", text=_use(model, use)),
        CardSection("Data", rows=tuple([*_training_data(model), *_given_data(given)])),
        CardSection("Features", rows=tuple(_features(model))),
        CardSection("Measures", rows=tuple([*_measures(model), *_measured(model, given, measures)])),
        CardSection("Constraints", rows=tuple(_constraints(model))),
        CardSection("Calibration", rows=tuple(_calibration(model))),
        CardSection("Parameters", rows=tuple(_parameters(model))),
        CardSection("Versions", rows=tuple([("model file", f"{FORMAT} {VERSION}"), *_versions()])),
    ]
    return ModelCard(f"Model card: {name}", tuple(sections), trained_model(name, model))


def trained_model(name: str, model: Ranker) -> TrainedModel:
    """Return the training of a model for charts: its curve, its importances, its reliability."""
    measure, history = next(iter(model.evals_result_.get("valid", {}).items()), ("", []))
    reliability = None if model.calibration_ is None else model.calibration_.reliability
    return TrainedModel(name, measure, history, model.best_iteration_, importances(model), reliability)


def importances(model: Ranker) -> dict[str, float]:
    """Return the share of each feature in all importances, the greatest first; empty where there are none."""
    values = getattr(model, "feature_importances_", None)
    if values is None or not np.abs(values).sum():
        return {}
    shares = np.abs(values) / np.abs(values).sum()
    pairs = zip(model.feature_names_, shares.tolist(), strict=True)
    return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))


def _about(model: Ranker) -> list[Row]:
    rows = [("ranker", f"{type(model).__name__} ({model.kind})"), ("iterations", f"{model.best_iteration_:,}")]
    forest = getattr(model, "forest_", None)
    if forest is not None:
        rows.append(
            ("trees", f"{counted(forest.n_trees, 'tree')}, {counted(len(forest.leaf_value), 'leaf', 'leaves')}")
        )
    return [*rows, ("starts from", _base(model)), ("checksum", model.checksum())]


def _base(model: Ranker) -> str:
    base = model.base_
    if isinstance(base, NoBase):
        return "nothing"
    text = base.kind
    if isinstance(base, FeatureBase | OtherRunBase):
        text = f"{base.kind} {base.name}"
    elif isinstance(base, ModelBase):
        text = f"another model ({base.model.kind})"
    weight = getattr(model, "base_weight_", None)
    return text if weight is None else f"{text}; {weight}"


def _use(model: Ranker, use: str) -> str:
    """Return what the model is for: the user's words, then what follows from the model."""
    sentences = [use.rstrip(". ")] if use.strip() else []
    comparable = "; probabilities of relevance, which it has, do" if model.calibration_ is not None else ""
    sentences.append(f"{GENERAL}{comparable}")
    if model.retriever_ is not None:
        sentences.append(
            f"Its candidates are those of {model.retriever_}; other candidates are not what it learned from"
        )
    if model.fingerprint_:
        sentences.append("It is for the collection that it was trained on; on others, measure it first")
    if model.recipe_ and (model.recipe_.get("history") or model.recipe_.get("runs")):
        sentences.append("It needs a history of judgements or runs of other systems at each use")
    return ". ".join(sentences) + "."


def _training_data(model: Ranker) -> list[Row]:
    made = model.fingerprint_ or {}
    calibration = model.calibration_
    counts = getattr(getattr(model, "forest_", None), "leaf_count", None)
    n_rows = "" if counts is None else f"{int(counts[: model.forest_.leaf_ptr[1]].sum()):,}"  # type: ignore[attr-defined]
    counts_of = ", ".join(f"{made[name]:,} {name}" for name in ("documents", "terms") if made.get(name) is not None)
    rows = [
        ("collection", counts_of or NOT_KEPT),
        ("language", str(made.get("language") or "")),
        ("checksum of the index", str(made.get("checksum", ""))),
        ("candidates", str(model.retriever_ or NOT_KEPT)),
        ("other runs", ", ".join(model.run_retrievers_)),
        ("documents that the first tree was grown on", n_rows),
    ]
    if calibration is not None:
        rows.append(("judged queries", f"{calibration.n_queries}, {calibration.n_relevant} relevant documents"))
    if isinstance(model, Fusion) and model.judged_ is not None:
        rows.append(("judged queries", f"{len(model.judged_.query_ids):,}; the model file holds their labels"))
    return [row for row in rows if row[1]]


def _given_data(data: RankingData | None) -> list[Row]:
    if data is None:
        return []
    rows = [("given data", f"{counted(len(data), 'query', 'queries')}, {counted(data.n_rows, 'document')}")]
    if data.labels is not None:
        labels, counts = np.unique(data.labels, return_counts=True)
        shares = zip(labels.tolist(), counts.tolist(), strict=True)
        rows.append(("labels", ", ".join(f"{label:g}: {count:,}" for label, count in shares)))
    return rows


def _features(model: Ranker) -> list[Row]:
    recipe = model.recipe_ or {}
    read = model.features_read()
    rows = [("number", f"{model.n_features_in_:,}, of which {len(read):,} have an effect")]
    for part in ("fields", "families", "functions", "numbers", "runs"):
        if recipe.get(part):
            rows.append((part, ", ".join(str(each) for each in recipe[part])))
    shares = [(name, share) for name, share in importances(model).items() if share > 0][:LISTED]
    return [*rows, *((name, f"{share:.1%} of the importance") for name, share in shares)]


def _measures(model: Ranker) -> list[Row]:
    rows = [("trained for", str(model.metric))]
    for measure, history in model.evals_result_.get("valid", {}).items():
        best = f"{history[model.best_iteration_]:.4f} after {counted(model.best_iteration_, 'iteration')}"
        rows.append((f"{measure} on the queries that ended the training", f"{best}, {history[0]:.4f} before"))
    found = getattr(model, "cross_validated_", None)
    return rows if found is None else [*rows, ("by cross-validation of the training queries", f"{found:.4f}")]


def _measured(model: Ranker, data: RankingData | None, measures: Iterable[Any]) -> list[Row]:
    if data is None or data.labels is None:
        return []
    scores = model.predict(data)
    rows = []
    for measure in parse_measures(measures or [model.metric]):
        value = f"{query_values(data, scores, measure).mean():.4f}"
        start = "" if data.base_scores is None else query_values(data, data.base_scores, measure).mean()
        before = "" if start == "" else f", {start:.4f} in the order of the candidates"
        rows.append((f"{measure.name} on the given data", f"{value}{before}"))
    return rows


def _constraints(model: Ranker) -> list[Row]:
    monotone, groups = (getattr(model, f"{name}_constraints", None) for name in ("monotone", "interaction"))
    if monotone is None and groups is None:
        return [("constraints", "none")]
    rows = []
    if isinstance(monotone, str) and monotone == FEATURES:
        monotone = directions(model.recipe_, model.feature_names_)
    if monotone is not None:
        pairs = monotone.items() if isinstance(monotone, Mapping) else zip(model.feature_names_, monotone, strict=True)
        words = {1: "may not fall", -1: "may not rise"}
        what = "the score" if isinstance(model.base_, NoBase) else "what the model adds to its base"
        rows += [(str(name), f"{what} {words[sign]} with it") for name, sign in pairs if sign]
    return rows + [("features that split together", ", ".join(map(str, group))) for group in groups or ()]


def _calibration(model: Ranker) -> list[Row]:
    calibration = model.calibration_
    if calibration is None:
        return [("probabilities", "none: scores are not calibrated")]
    return [
        ("relevant", f"label of at least {calibration.target:g}"),
        ("learned from", f"{calibration.n_queries} queries in {calibration.folds} folds"),
        ("Brier score", f"{calibration.reliability.brier:.4f}"),
        ("expected calibration error", f"{calibration.reliability.error:.4f}"),
    ]


def _parameters(model: Ranker) -> list[Row]:
    """Return what differs from the defaults, then the other parameters."""
    defaults = {name: each.default for name, each in declared_parameters(type(model)).items()}
    values = {
        name: value for name, value in model.get_params(deep=False).items() if name in defaults and name != "base"
    }
    changed = [(name, repr(value)) for name, value in values.items() if value != defaults[name]]
    return changed + [(name, f"{value!r} (default)") for name, value in values.items() if value == defaults[name]]


def _versions() -> list[Row]:
    return [(f"{name}, which wrote this card", number) for name, number in versions().items() if number]


def _content(part: CardSection) -> Sequence[Element]:
    text = [element("p", part.text)] if part.text else []
    return [*text, scrolling(table(("", ""), part.rows, 2), part.title)] if part.rows else text


def _id(title: str) -> str:
    return title.lower().replace(" ", "-")


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is: in one line, without markup."""
    plain = " ".join(text.split())
    for mark in "\\`*_|<>[]":
        plain = plain.replace(mark, f"\\{mark}")
    return plain


_HEADERS = ("feature", "group", "us/pair", "gain", "permutation", "coverage", "missing")


def check_report_path(path: str | Path) -> Path:
    """Return the path of a report; refuse an unknown file name extension before the computation."""
    if str(path) != "-" and Path(path).suffix not in _TEXTS:
        raise InvalidInputError(
            f"{path}: expected a name that ends in {', '.join(_TEXTS)}, or - for stdout, got another. Rename it."
        )
    return Path(path)


def write_report(report: FeatureReport, recipe: Mapping[str, Any], path: str | Path) -> None:
    """Write a report in the format of the file name: .txt, .tsv, .json, .toml (the suggested recipe).

    recipe  recipe of the data of the report; the suggested recipe has fewer columns
    """
    ending = check_report_path(path).suffix
    with whole_file(path) as file:
        file.write(_TEXTS.get(ending, _table)(report, recipe))


def suggested_recipe(report: FeatureReport, recipe: Mapping[str, Any]) -> Recipe:
    """Return the recipe of the suggested columns; features outside it are not computed."""
    return replace(Recipe.from_dict(recipe), features=report.suggestion.features)


def _table(report: FeatureReport, recipe: Mapping[str, Any]) -> str:
    rows = [
        (
            each.name,
            each.group,
            f"{each.microseconds:.3f}",
            f"{each.gain:.4f}",
            f"{each.permutation:+.4f}",
            f"{each.coverage:.3f}",
            f"{each.missing:.3f}",
        )
        for each in sorted(report.features, key=lambda feature: -feature.gain)
    ]
    losses = [
        (loss.without, loss.features, f"{loss.loss:+.4f}", f"[{loss.low:+.4f}, {loss.high:+.4f}]")
        for loss in report.losses
    ]
    chosen = report.suggestion
    parts = [
        f"{report.measure} {report.value:.4f} on {report.n_held_out} held-out of {report.n_queries} queries, "
        f"{len(report.features)} features",
        text_table(rows, _HEADERS, 2),
        text_table(losses, ("left out", "features", f"loss of {report.measure}", "95 %")),
        f"Suggested under {chosen.budget:.3g} us a pair: {len(chosen.features)} features of "
        f"{', '.join(chosen.groups)}; {chosen.microseconds:.3g} us, loss {chosen.check.loss:+.4f} "
        f"[{chosen.check.low:+.4f}, {chosen.check.high:+.4f}].",
    ]
    return "\n\n".join(parts) + "\n"


def _tsv(report: FeatureReport, recipe: Mapping[str, Any]) -> str:
    lines = ["\t".join(_HEADERS)]
    lines += ["\t".join(map(str, asdict(feature).values())) for feature in report.features]
    return "\n".join(lines) + "\n"


def _json(report: FeatureReport, recipe: Mapping[str, Any]) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [plain(inner) for inner in value]
        return None if value != value else value  # JSON has no NaN

    return json.dumps(plain(asdict(report)), ensure_ascii=False, indent=1) + "\n"


def _toml(report: FeatureReport, recipe: Mapping[str, Any]) -> str:
    chosen = report.suggestion
    about = (
        f"# {len(chosen.features)} of {len(report.features)} features: {chosen.microseconds:.3g} us a pair, "
        f"{report.measure} {-chosen.check.loss:+.4f} [{-chosen.check.high:+.4f}, {-chosen.check.low:+.4f}] "
        f"on {report.n_held_out} held-out queries\n"
    )
    return about + suggested_recipe(report, recipe).to_toml()


_TEXTS: dict[str, Callable[[FeatureReport, Mapping[str, Any]], str]] = {
    ".txt": _table,
    ".tsv": _tsv,
    ".json": _json,
    ".toml": _toml,
}

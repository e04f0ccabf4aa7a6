"""Feature reports as files: a table, TSV, JSON, and the suggested recipe as TOML."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tabulate import tabulate

from rerank.errors import InvalidInputError
from rerank.features.recipe import Recipe
from rerank.runtime.output import whole_file
from rerank.workflows.importance import FeatureReport

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
    rows = [list(asdict(feature).values()) for feature in sorted(report.features, key=lambda feature: -feature.gain)]
    losses = [
        (loss.without, loss.features, loss.loss, f"[{loss.low:+.4f}, {loss.high:+.4f}]") for loss in report.losses
    ]
    chosen = report.suggestion
    parts = [
        f"{report.measure} {report.value:.4f} on {report.n_held_out} held-out of {report.n_queries} queries, "
        f"{len(report.features)} features",
        tabulate(rows, headers=_HEADERS, floatfmt=("", "", ".3f", ".4f", "+.4f", ".3f", ".3f")),
        tabulate(losses, headers=("left out", "features", f"loss of {report.measure}", "95 %"), floatfmt="+.4f"),
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

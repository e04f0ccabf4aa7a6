"""`rerank import`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.options import file_option, format_names, option, output_option, path_argument, takes
from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.features.recipe import Recipe

log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Options:
    """What `rerank import` takes."""

    file: Path = path_argument()
    output: Path = output_option("the model")
    format: str | None = option(
        "--from",
        metavar="FORMAT",
        help=f"Format: {', '.join(format_names())}. Some of them can only be exported.  [default: detected]",
    )
    names: Path | None = file_option(
        "--names", "File with the names of the features, one per line, in the order of training."
    )
    recipe: Path | None = file_option(
        "--recipe",
        "How to compute the features, for `rerank rerank`: data of `rerank features` that the model was trained on, or "
        "a TOML file. Names the features if FILE does not.",
    )


@click.command("import", short_help="read another system's model")
@takes(Options)
def command(options: Options) -> None:
    """Convert FILE, a model of another library, to a model of this package.

    The converted model returns the same scores as the original, and can be used like any other model: in `rerank rank`,
    `rerank rerank`, or as `--base model:FILE`.
    """
    from rerank.exchange.models import import_model
    from rerank.files.lists import read_names

    model = import_model(
        options.file,
        format=options.format,
        feature_names=None if options.names is None else read_names(options.names),
        recipe=None if options.recipe is None else _recipe(options.recipe),
    )
    model.save(options.output)
    content = f"{model.forest_.n_trees} trees" if hasattr(model, "forest_") else "a linear model"
    log.info("%s: %s, %d features, from %s", options.output, content, model.n_features_in_, model.source_)


def _recipe(path: Path) -> Recipe:
    """Return the recipe of a TOML file, or of data."""
    from rerank.features.recipe import Recipe
    from rerank.files.data import read_data

    if path.suffix not in (".npz", ".parquet", ".svm"):
        return Recipe.from_toml(path)
    data = read_data(path)
    if data.recipe is None:
        raise InvalidInputError(
            f"{path}: expected data of `rerank features`, which know their recipe, got others. Give a recipe "
            "(`rerank features --recipe-template`)."
        )
    return Recipe.from_dict(data.recipe)

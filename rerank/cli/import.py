"""`rerank import`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import rerank
from rerank.cli.options import output_option, path_argument, path_option, read_if, registered_names
from rerank.errors import InvalidInputError, first_names, log

if TYPE_CHECKING:
    from rerank.types.retriever import Retriever


@click.command("import")
@path_argument("file")
@output_option("the model")
@click.option(
    "--from",
    "form",
    metavar="FORMAT",
    help=f"Format: {registered_names('rerank.exchange')}. Some of them can only be exported.  [default: detected]",
)
@path_option("--names", text="File with the names of the features, one per line, in the order of training.")
@path_option(
    "--recipe",
    text="How to compute the features, for `rerank rerank`: data of `rerank features` that the model was trained on, "
    "or a TOML file. Names the features if FILE does not.",
)
def command(file: Path, output: Path, form: str | None, names: Path | None, recipe: Path | None) -> None:
    """Convert FILE, a model of another library, to a model of this package.

    The converted model returns the same scores as the original, and can be used like any other model: in `rerank rank`,
    `rerank rerank`, or as `--base model:FILE`.
    """
    from rerank.files.lists import read_names

    values, retriever = (None, None) if recipe is None else _recipe(recipe)
    model = rerank.import_model(file, format=form, feature_names=read_if(read_names, names), recipe=values)
    if retriever is not None:
        model.retriever_ = retriever
    model.save(output)
    content = f"{model.forest_.n_trees} trees" if hasattr(model, "forest_") else "a linear model"
    log.info("%s: %s, %d features, from %s", output, content, model.n_features_in_, model.source_)
    if recipe is None:
        log.info(
            "%s: features %s; `rerank rank` applies it to data with these columns, for an index give --recipe",
            output,
            first_names(model.feature_names_, 5),
        )


def _recipe(path: Path) -> tuple[rerank.Recipe, Retriever | None]:
    """Return the recipe of a TOML file, or of data, and what retrieved the candidates of these."""
    from rerank.files.data import DATA_ENDINGS

    if not path.name.endswith(DATA_ENDINGS):
        return rerank.Recipe.from_toml(path), None
    data = rerank.read_data(path)
    if data.recipe is None:
        raise InvalidInputError(
            f"{path}: expected data of `rerank features`, which know their recipe, got others. Give a recipe "
            "(`rerank features --recipe-template`)."
        )
    return rerank.Recipe.from_dict(data.recipe), data.retriever

"""`rerank import`."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from rerank.cli.formats import format_names
from rerank.cli.options import file_option, output_option, path_type

log = logging.getLogger("rerank")


@click.command("import", short_help="read another system's model")
@click.argument("file", type=path_type)
@output_option("the model")
@click.option(
    "--from",
    "format",
    metavar="FORMAT",
    help=f"Format: {', '.join(format_names())}; some are only written. By default told by the content.",
)
@file_option("--names", "Names of the features, one a line, in the order of the model's training.")
@file_option(
    "--recipe",
    "TOML of how the features are made, for `rerank rerank`; its features are the names where FILE has none.",
)
def command(file: Path, output: Path, format: str | None, names: Path | None, recipe: Path | None) -> None:
    """Write another system's model FILE as a model of this package.

    It scores with its owner's result, and serves as any model: `rerank rank`, `rerank rerank`, `--base model:FILE`.
    """
    from rerank.exchange.models import import_model
    from rerank.features.recipe import Recipe
    from rerank.files.lists import read_names

    model = import_model(
        file,
        format=format,
        feature_names=None if names is None else read_names(names),
        recipe=None if recipe is None else Recipe.from_toml(recipe),
    )
    model.save(output)
    content = f"{model.forest_.n_trees} trees" if hasattr(model, "forest_") else "a linear model"
    log.info("%s: %s, %d features, from %s", output, content, model.n_features_in_, model.source_)

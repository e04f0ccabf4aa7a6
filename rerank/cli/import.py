"""`rerank import`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import file_option, format_names, option, output_option, path_argument, takes

log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Options:
    """What `rerank import` takes."""

    file: Path = path_argument()
    output: Path = output_option("the model")
    format: str | None = option(
        "--from",
        metavar="FORMAT",
        help=f"Format: {', '.join(format_names())}; some are only written. By default told by the content.",
    )
    names: Path | None = file_option(
        "--names", "Names of the features, one a line, in the order of the model's training."
    )
    recipe: Path | None = file_option(
        "--recipe",
        "TOML of how the features are made, for `rerank rerank`; its features are the names where FILE has none.",
    )


@click.command("import", short_help="read another system's model")
@takes(Options)
def command(given: Options) -> None:
    """Write another system's model FILE as a model of this package.

    It scores with its owner's result, and serves as any model: `rerank rank`, `rerank rerank`, `--base model:FILE`.
    """
    from rerank.exchange.models import import_model
    from rerank.features.recipe import Recipe
    from rerank.files.lists import read_names

    model = import_model(
        given.file,
        format=given.format,
        feature_names=None if given.names is None else read_names(given.names),
        recipe=None if given.recipe is None else Recipe.from_toml(given.recipe),
    )
    model.save(given.output)
    content = f"{model.forest_.n_trees} trees" if hasattr(model, "forest_") else "a linear model"
    log.info("%s: %s, %d features, from %s", given.output, content, model.n_features_in_, model.source_)

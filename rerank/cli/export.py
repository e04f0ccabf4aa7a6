"""`rerank export`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

from rerank.cli.formats import format_names
from rerank.cli.options import Whole, file_option, output_option, path_type

log = logging.getLogger("rerank")


@click.command("export", short_help="write a model in another system's format")
@click.argument("model", type=path_type)
@click.option(
    "--to",
    "format",
    metavar="FORMAT",
    required=True,
    help=f"Format: {', '.join(format_names())}; some are only read.",
)
@output_option("the model")
@click.option("--name", metavar="NAME", default="rerank", show_default=True, help="Name in an engine's model store.")
@click.option("--missing-as-zero", is_flag=True, help="Have a missing value go where 0 goes.")
@click.option(
    "--split-leaves",
    is_flag=True,
    help="Where FORMAT sums in float32: write each tree twice, the coarse and the fine part of its leaf values.",
)
@click.option(
    "--vectors",
    type=Whole(0),
    metavar="N",
    default=0,
    help="Write N feature rows with their scores beside the model, as FILE.vectors.jsonl.",
)
@file_option(
    "--feature-set",
    "For a format of a search engine: write the queries with which it computes MODEL's features.",
)
def command(model: Path, format: str, output: Path, name: str, **options: Any) -> None:
    """Write MODEL, a ranker of trees or a linear one, in another system's format.

    A model that starts from BM25's score is exported for engines that add it: FILE.query.json holds the request.
    Engines compute few features as they are computed here: train with the recipe that
    `rerank features --recipe-template --portable ENGINE` prints.
    """
    from rerank.cli.file_names import errors_with_files
    from rerank.exchange.models import export_model
    from rerank.rankers.store import read_model

    loaded = read_model(model)
    with errors_with_files(
        {"model": model, "missing_as_zero": "--missing-as-zero", "feature set": "--feature-set", "vectors": "--vectors"}
    ):
        written = export_model(loaded, output, format, name=name, **options)
    for path in written[1:]:
        log.info("%s: written beside the model", path)

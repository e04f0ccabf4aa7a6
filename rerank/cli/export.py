"""`rerank export`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import Whole, file_option, format_names, option, output_option, path_argument, takes

log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Options:
    """What `rerank export` takes."""

    model: Path = path_argument()
    format: str = option(
        "--to", metavar="FORMAT", required=True, help=f"Format: {', '.join(format_names())}; some are only read."
    )
    output: Path = output_option("the model")
    name: str = option(
        "--name", metavar="NAME", default="rerank", show_default=True, help="Name in an engine's model store."
    )
    missing_as_zero: bool = option("--missing-as-zero", is_flag=True, help="Have a missing value go where 0 goes.")
    split_leaves: bool = option(
        "--split-leaves",
        is_flag=True,
        help="Where FORMAT sums in float32: write each tree twice, the coarse and the fine part of its leaf values.",
    )
    vectors: int = option(
        "--vectors",
        type=Whole(0),
        metavar="N",
        default=0,
        help="Write N feature rows with their scores beside the model, as FILE.vectors.jsonl.",
    )
    feature_set: Path | None = file_option(
        "--feature-set",
        "For a format of a search engine: write the queries with which it computes MODEL's features.",
    )


@click.command("export", short_help="write a model in another system's format")
@takes(Options)
def command(given: Options) -> None:
    """Write MODEL, a ranker of trees or a linear one, in another system's format.

    A model that starts from BM25's score is exported for engines that add it: FILE.query.json holds the request.
    Engines compute few features as they are computed here: train with the recipe that
    `rerank features --recipe-template ENGINE` prints.
    """
    from rerank.cli.file_names import errors_with_files
    from rerank.exchange.models import export_model
    from rerank.rankers.store import read_model

    loaded = read_model(given.model)
    files: dict[str, str | Path | None] = {"model": given.model, "missing_as_zero": "--missing-as-zero"}
    with errors_with_files({**files, "feature set": "--feature-set", "vectors": "--vectors"}):
        written = export_model(
            loaded,
            given.output,
            given.format,
            name=given.name,
            missing_as_zero=given.missing_as_zero,
            split_leaves=given.split_leaves,
            vectors=given.vectors,
            feature_set=given.feature_set,
        )
    for path in written[1:]:
        log.info("%s: written beside the model", path)

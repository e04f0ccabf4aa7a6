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
        "--to",
        metavar="FORMAT",
        required=True,
        help=f"Format: {', '.join(format_names())}. Some of them can only be imported.",
    )
    output: Path = output_option("the model")
    name: str = option(
        "--name",
        metavar="NAME",
        default="rerank",
        show_default=True,
        help="Name of the model in a search engine's model store.",
    )
    missing_as_zero: bool = option("--missing-as-zero", is_flag=True, help="Treat missing values as 0.")
    split_leaves: bool = option(
        "--split-leaves",
        is_flag=True,
        help="For formats that sum in float32: write each leaf value as the sum of two, in two trees, so that no "
        "precision is lost.",
    )
    vectors: int = option(
        "--vectors",
        type=Whole(0),
        metavar="N",
        default=0,
        help="Also write N test rows of features with their scores, as FILE.vectors.jsonl.",
    )
    feature_set: Path | None = file_option(
        "--feature-set",
        "For search engines: also write the definitions of MODEL's features to this file.",
    )


@click.command("export", short_help="write a model in another system's format")
@takes(Options)
def command(options: Options) -> None:
    """Convert MODEL, which must be a tree or linear model, to the format of another library or search engine.

    Search engines can compute only some of the features: for Elasticsearch, OpenSearch or Solr, train with the recipe
    that `rerank features --recipe-template ENGINE` prints. A model that starts from BM25's score can only be exported
    for engines that can add this score; FILE.query.json then holds the request.
    """
    from rerank.cli.options import errors_with_files
    from rerank.exchange.models import export_model
    from rerank.rankers.store import read_model

    loaded = read_model(options.model)
    files: dict[str, str | Path | None] = {"model": options.model, "missing_as_zero": "--missing-as-zero"}
    with errors_with_files({**files, "feature set": "--feature-set", "vectors": "--vectors"}):
        written = export_model(
            loaded,
            options.output,
            options.format,
            name=options.name,
            missing_as_zero=options.missing_as_zero,
            split_leaves=options.split_leaves,
            vectors=options.vectors,
            feature_set=options.feature_set,
        )
    for path in written[1:]:
        log.info("%s: also written", path)

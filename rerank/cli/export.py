"""`rerank export`."""

from pathlib import Path

import click

import rerank
from rerank.cli.options import errors_with_files, output_option, path_argument, path_option, registered_names
from rerank.errors import log


@click.command("export")
@path_argument("model")
@click.option(
    "--to",
    "form",
    metavar="FORMAT",
    required=True,
    help=f"Format: {registered_names('rerank.exchange')}. Some of them can only be imported.",
)
@output_option("the model")
@click.option(
    "--name",
    metavar="NAME",
    default="rerank",
    show_default=True,
    help="Name of the model in a search engine's model store.",
)
@click.option("--missing-as-zero", is_flag=True, help="Treat missing values as 0.")
@click.option(
    "--split-leaves",
    is_flag=True,
    help="For formats that sum in float32: write each leaf value as the sum of two, in two trees, so that no precision "
    "is lost.",
)
@path_option("--feature-set", text="For search engines: also write the definitions of MODEL's features to this file.")
def command(
    model: Path,
    form: str,
    output: Path,
    name: str,
    missing_as_zero: bool,
    split_leaves: bool,
    feature_set: Path | None,
) -> None:
    """Convert MODEL, which must be a tree or linear model, to the format of another library or search engine.

    Search engines can compute only some of the features: for Elasticsearch, OpenSearch or Solr, train with the recipe
    that `rerank features --recipe-template ENGINE` prints. A model that starts from BM25's score can only be exported
    for engines that can add this score; FILE.query.json then holds the request.
    """
    loaded = rerank.read_model(model)
    files: dict[str, str | Path | None] = {"model": model, "missing_as_zero": "--missing-as-zero"}
    with errors_with_files({**files, "feature set": "--feature-set"}):
        written = rerank.export_model(
            loaded,
            output,
            form,
            name=name,
            missing_as_zero=missing_as_zero,
            split_leaves=split_leaves,
            feature_set=feature_set,
        )
    for path in written[1:]:
        log.info("%s: also written", path)

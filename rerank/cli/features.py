"""`rerank features`: the features of the query-document pairs of a run, as a file."""

from pathlib import Path

import click

import rerank
from rerank.cli.options import (
    ENGINE,
    check_option_pairs,
    cluster_option,
    errors_with_files,
    functions_option,
    opened_index,
    path_argument,
    path_option,
    read_if,
    read_named_runs,
    registered_names,
    run_option,
)


def _list(context: click.Context, parameter: click.Parameter, requested: bool) -> None:
    """Print the catalogue and exit, whatever the other arguments."""
    if requested and not context.resilient_parsing:
        from rerank.features.catalogue import catalogue

        click.echo(catalogue())
        context.exit()


def _template(context: click.Context, parameter: click.Parameter, engine: str | None) -> None:
    """Print the default recipe, or that of an engine, and exit, whatever the other arguments."""
    if engine is None or context.resilient_parsing:
        return
    if engine:
        from rerank.exchange.registry import portable_template

        click.echo(portable_template(engine), nl=False)
    else:
        from rerank.features.catalogue import template

        click.echo(template(), nl=False)
    context.exit()


@click.command("features")
@path_argument("index")
@path_argument("topics")
@path_argument("run")
@path_option(
    "-o",
    "--output",
    text="Output file (.npz, .parquet, .svm or .txt, the last two also with .gz); - for stdout.",
    required=True,
)
@path_option("--qrels", text="Judgements, which become the labels; without them, the data have no labels.")
@path_option("--recipe", text="TOML file that selects fields, families of features, parameters and normalisation.")
@functions_option
@run_option("Run of another system, whose scores and ranks become features.")
@click.option(
    "--recipe-template",
    metavar="[ENGINE]",
    is_flag=False,
    flag_value="",
    is_eager=True,
    expose_value=False,
    callback=_template,
    help="Print the default recipe with comments, or the recipe of the features that a search engine can also "
    f"compute: {registered_names('rerank.exchange', ENGINE)}.",
)
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="List all available features."
)
@cluster_option
def command(
    index: Path,
    topics: Path,
    run: Path,
    output: Path,
    qrels: Path | None,
    recipe: Path | None,
    functions: tuple[Path, ...],
    run_files: tuple[str, ...],
    cluster: str | None,
) -> None:
    """Compute the features of the query-document pairs of RUN and write them to a file.

    If `rerank vectors` or `rerank history` has been run on INDEX, their features are included.
    """
    queries = rerank.read_topics(topics)
    pairs = rerank.read_run(run)
    judgements = read_if(rerank.read_qrels, qrels)
    chosen = read_if(rerank.Recipe.from_toml, recipe)
    others = read_named_runs(run_files)
    with opened_index(index, cluster, topics, runs=others) as opened, errors_with_files({"recipe": recipe}):
        check_option_pairs(pairs, run, opened, queries, topics)
        opened.write_features(output, opened.candidates_of(pairs), queries, judgements, recipe=chosen)

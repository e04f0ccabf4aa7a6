"""`rerank features`."""

from __future__ import annotations

from pathlib import Path

import click

from rerank.cli.options import (
    file_option,
    output_option,
    path_type,
    read_named_runs,
    runs_option,
    threads_option,
)


def _list(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Print the catalogue and leave, whatever else is given."""
    if wanted and not context.resilient_parsing:
        from rerank.features.catalogue import catalogue

        click.echo(catalogue())
        context.exit()


@click.command("features", short_help="features of a run")
@click.argument("index", type=path_type)
@click.argument("topics", type=path_type)
@click.argument("run", type=path_type)
@output_option("the data (.npz; .svm or .txt, also with .gz)")
@file_option("--qrels", "Judgements; without them the data have no labels.")
@file_option("--recipe", "TOML that names fields, families and parameters.")
@runs_option()
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="Print all features there are."
)
@threads_option()
def command(
    index: Path,
    topics: Path,
    run: Path,
    output: Path,
    qrels: Path | None,
    recipe: Path | None,
    runs: tuple[str, ...],
    threads: int | None,
) -> None:
    """Write the features of RUN's query-document pairs."""
    from rerank.cli.places import check_documents, check_queries, places
    from rerank.features.recipe import Recipe
    from rerank.files.data import write_data
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels, read_run
    from rerank.workflows.index import Index

    queries, pairs = read_topics(topics), read_run(run)
    judgements = None if qrels is None else read_qrels(qrels)
    chosen, others = None if recipe is None else Recipe.from_toml(recipe), read_named_runs(runs)
    with Index.open(index) as opened, places({"recipe": recipe}):
        check_queries(pairs, run, queries, topics)
        check_documents(pairs, run, opened)
        data = opened.features(pairs, queries, judgements, recipe=chosen, runs=others, threads=threads)
    write_data(data, output)

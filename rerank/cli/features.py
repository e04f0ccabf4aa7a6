"""`rerank features`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import (
    file_option,
    functions_option,
    language_option,
    path_type,
    read_named_runs,
    runs_option,
    threads_option,
)

if TYPE_CHECKING:
    from rerank.types import RankingData, Run, Topics
    from rerank.workflows.index import Index


def _list(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Print the catalogue and leave, whatever else is given."""
    if wanted and not context.resilient_parsing:
        from rerank.features.catalogue import catalogue

        click.echo(catalogue())
        context.exit()


def _template(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Print the default recipe and leave, whatever else is given."""
    if wanted and not context.resilient_parsing:
        from rerank.features.template import template

        click.echo(template(), nl=False)
        context.exit()


@click.command("features", short_help="features of a run")
@click.argument("index", type=path_type)
@click.argument("topics", type=path_type)
@click.argument("run", type=path_type)
@click.option(
    "-o",
    "--output",
    type=path_type,
    metavar="FILE",
    help="Where the data (.npz; .svm or .txt, also with .gz) are written; - for stdout. Needed but with --report.",
)
@file_option("--qrels", "Judgements; without them the data have no labels.")
@file_option("--recipe", "TOML that says what is made: fields, families, parameters, normalisation.")
@functions_option()
@runs_option()
@click.option(
    "--recipe-template",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_template,
    help="Print the default recipe, with comments.",
)
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="Print all features there are."
)
@click.option(
    "--report",
    "reports",
    type=path_type,
    metavar="FILE",
    multiple=True,
    help="Cost and worth of each feature (.txt, .tsv, .json, .png, .svg; .toml: a smaller recipe); needs --qrels.",
)
@click.option("--budget", type=click.FloatRange(min=0), metavar="MICROSECONDS", help="Cost of a pair, for --report.")
@click.option("--quick", is_flag=True, help="A coarser --report.")
@language_option()
@threads_option()
def command(
    index: Path,
    topics: Path,
    run: Path,
    output: Path | None,
    qrels: Path | None,
    recipe: Path | None,
    runs: tuple[str, ...],
    reports: tuple[Path, ...],
    budget: float | None,
    quick: bool,
    language: str | None,
    threads: int | None,
) -> None:
    """Write the features of RUN's query-document pairs."""
    from rerank.cli.places import check_documents, check_queries, places
    from rerank.features.recipe import Recipe
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels, read_run
    from rerank.workflows.feature_report import check_report_path
    from rerank.workflows.index import Index

    if output is None and not reports:
        raise click.UsageError("Missing option '-o' / '--output' or '--report'.")
    if reports and qrels is None:
        raise click.UsageError("--report: expected judgements, got none. Give --qrels.")
    files = [check_report_path(path) for path in reports]
    queries, pairs = read_topics(topics), read_run(run)
    judgements = None if qrels is None else read_qrels(qrels)
    chosen, others = None if recipe is None else Recipe.from_toml(recipe), read_named_runs(runs)
    with Index.open(index, language) as opened, places({"recipe": recipe}):
        check_queries(pairs, run, queries, topics)
        check_documents(pairs, run, opened)
        if output is not None:
            opened.write_features(output, pairs, queries, judgements, recipe=chosen, runs=others, threads=threads)
        if files:
            data = opened.features(pairs, queries, judgements, recipe=chosen, runs=others, threads=threads)
            _write_reports(files, opened, pairs, queries, data, budget=budget, quick=quick, threads=threads)


def _write_reports(
    files: Sequence[Path], index: Index, run: Run, topics: Topics, data: RankingData, **options: Any
) -> None:
    from rerank.workflows.feature_report import write_report
    from rerank.workflows.importance import feature_report, measure_costs

    recipe = data.recipe or {}
    found = feature_report(data, microseconds=measure_costs(index, run, topics, recipe), **options)
    for path in files:
        write_report(found, recipe, path)

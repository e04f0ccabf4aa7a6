"""`rerank features`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rerank.cli.cluster import cluster_option, opened_cluster, opened_index
from rerank.cli.formats import engine_names
from rerank.cli.options import (
    Number,
    file_option,
    functions_option,
    language_option,
    path_type,
    read_named_runs,
    runs_option,
    threads_option,
)


def _list(context: click.Context, option: click.Parameter, requested: bool) -> None:
    """Print the catalogue and exit, whatever the other arguments."""
    if requested and not context.resilient_parsing:
        from rerank.features.catalogue import catalogue

        click.echo(catalogue())
        context.exit()


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    context.meta[f"rerank.{option.name}"] = value


def _template(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Print a recipe and exit, whatever the other arguments: it is processed after the options of the recipe."""
    requested, engine = (context.meta.get(f"rerank.{name}") for name in ("recipe_template", "portable"))
    if context.resilient_parsing or not (requested or engine):
        return
    if not requested:
        raise click.UsageError("--portable: expected --recipe-template with it, got none. Add it.")
    if engine:
        from rerank.workflows.portable import portable_template

        click.echo(portable_template(engine), nl=False)
    else:
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
    help="Output file (.npz, .parquet; .svm or .txt, also with .gz); - for stdout. Required without --report.",
)
@file_option("--qrels", "Judgements; without them the data have no labels.")
@file_option("--recipe", "TOML file of the features: fields, families, parameters, normalisation.")
@functions_option()
@runs_option()
@click.option(
    "--recipe-template",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_remember,
    help="Print the default recipe, with comments.",
)
@click.option(
    "--portable",
    metavar="ENGINE",
    is_eager=True,
    expose_value=False,
    callback=_remember,
    help=f"With --recipe-template: a recipe of features that ENGINE computes, too: {', '.join(engine_names())}.",
)
@click.option(
    "--print-template",
    hidden=True,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_template,
    help="Never given: processed after the options of the recipe, whose order is free.",
)
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="Print all available features."
)
@click.option(
    "--report",
    "reports",
    type=path_type,
    metavar="FILE",
    multiple=True,
    help="Report of cost and importance of each feature (.txt, .tsv, .json, .png, .svg; .toml: a smaller recipe); "
    "requires --qrels.",
)
@click.option(
    "--budget",
    type=Number(0.0),
    metavar="MICROSECONDS",
    help="Maximum cost of a pair, for --report.",
)
@click.option("--quick", is_flag=True, help="A faster, less precise --report.")
@language_option()
@threads_option()
@cluster_option()
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
    cluster: str | None,
) -> None:
    """Write the features of RUN's query-document pairs.

    What `rerank vectors` and `rerank history` keep with INDEX gives features, too.
    """
    from rerank.cli.file_names import check_documents, check_queries, errors_with_files
    from rerank.features.recipe import Recipe
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels, read_run
    from rerank.runtime.output import check_outputs
    from rerank.workflows.feature_report import check_report_path, write_report
    from rerank.workflows.importance import feature_report, measure_costs

    if output is None and not reports:
        raise click.UsageError("Missing option '-o' / '--output' or '--report'.")
    if reports and qrels is None:
        raise click.UsageError("--report: expected judgements, got none. Give --qrels.")
    if reports and cluster is not None:
        raise click.UsageError("--report: expected no --cluster beside it: it measures this machine. Leave one out.")
    files = [check_report_path(path) for path in reports]
    check_outputs({"--output": output, **{f"--report {path}": path for path in files}})
    queries, pairs = read_topics(topics), read_run(run)
    judgements = None if qrels is None else read_qrels(qrels)
    parsed, others = None if recipe is None else Recipe.from_toml(recipe), read_named_runs(runs)
    with (
        opened_cluster(cluster) as workers,
        opened_index(index, language, workers, runs=others, threads=threads) as opened,
        errors_with_files({"recipe": recipe}),
    ):
        check_queries(pairs, run, queries, topics)
        check_documents(pairs, run, opened)
        if output is not None:
            opened.write_features(output, pairs, queries, judgements, recipe=parsed)
        if files:
            data = opened.features(pairs, queries, judgements, recipe=parsed)
            microseconds = measure_costs(opened, pairs, queries, data.recipe or {})
            report = feature_report(data, microseconds=microseconds, budget=budget, quick=quick, threads=threads)
            for path in files:
                write_report(report, data.recipe or {}, path)

"""`rerank features`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import rerank
from rerank.cli.options import (
    Number,
    check_documents,
    check_queries,
    cluster_option,
    engine_names,
    errors_with_files,
    functions_option,
    opened_index,
    path_argument,
    path_option,
    read_if,
    read_named_runs,
    refuse_beside,
    require,
    run_option,
)


def _list(context: click.Context, parameter: click.Parameter, requested: bool) -> None:
    """Print the catalogue and exit, whatever the other arguments."""
    if requested and not context.resilient_parsing:
        from rerank.features.recipe import catalogue

        click.echo(catalogue())
        context.exit()


def _template(context: click.Context, parameter: click.Parameter, engine: str | None) -> None:
    """Print the default recipe, or that of an engine, and exit, whatever the other arguments."""
    if engine is None or context.resilient_parsing:
        return
    if engine:
        from rerank.exchange.engines import portable_template

        click.echo(portable_template(engine), nl=False)
    else:
        from rerank.features.recipe import template

        click.echo(template(), nl=False)
    context.exit()


@click.command("features", short_help="compute the features of a run")
@path_argument("index")
@path_argument("topics")
@path_argument("run")
@path_option(
    "-o",
    "--output",
    text="Output file (.npz, .parquet, .svm or .txt, the last two also with .gz); - for stdout. Required unless "
    "--report is given.",
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
    f"compute: {', '.join(engine_names())}.",
)
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=_list, help="List all available features."
)
@path_option(
    "--report",
    "reports",
    text="Write a report of the cost and importance of each feature (.txt, .html, .json), or a smaller recipe (.toml); "
    "requires --qrels. Repeatable.",
    multiple=True,
)
@click.option(
    "--budget",
    type=Number(0.0),
    metavar="MICROSECONDS",
    help="Maximum cost per pair of the features that --report selects.",
)
@click.option("--quick", is_flag=True, help="Make --report faster and less precise.")
@cluster_option
def command(
    index: Path,
    topics: Path,
    run: Path,
    output: Path | None,
    qrels: Path | None,
    recipe: Path | None,
    reports: tuple[Path, ...],
    **options: Any,
) -> None:
    """Compute the features of the query-document pairs of RUN and write them to a file.

    If `rerank vectors` or `rerank history` has been run on INDEX, their features are included.
    """
    from rerank.explanation.importance import check_report_path, feature_report, measure_costs, write_report
    from rerank.runtime.output import check_outputs

    if output is None and not reports:
        raise click.UsageError("Missing option '-o' / '--output' or '--report'.")
    require({"reports": "qrels"})
    if reports:
        refuse_beside("--report", ("cluster",))
    check_outputs({"--output": output, **{f"--report {path}": check_report_path(path) for path in reports}})
    queries = rerank.read_topics(topics)
    pairs = rerank.read_run(run)
    judgements = read_if(rerank.read_qrels, qrels)
    chosen = read_if(rerank.Recipe.from_toml, recipe)
    others = read_named_runs(options["run_files"])
    with (
        opened_index(index, options["cluster"], runs=others) as opened,
        errors_with_files({"recipe": recipe}),
    ):
        check_queries(pairs, run, queries, topics)
        check_documents(pairs, run, opened)
        if output is not None:
            opened.write_features(output, pairs, queries, judgements, recipe=chosen)
        if reports:
            data = opened.features(pairs, queries, judgements, recipe=chosen)
            costs = measure_costs(opened, pairs, queries, data.recipe or {})
            settings = {name: options[name] for name in ("budget", "quick")}
            report = feature_report(data, microseconds=costs, **settings)
            for path in reports:
                write_report(report, data.recipe or {}, path)

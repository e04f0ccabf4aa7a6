"""`rerank features`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.options import (
    Number,
    cluster_option,
    engine_names,
    file_option,
    functions_option,
    opened_cluster,
    opened_index,
    option,
    path_argument,
    path_type,
    read_named_runs,
    refuse_beside,
    require,
    takes,
    threads_option,
)

if TYPE_CHECKING:
    from rerank.index.index import Index
    from rerank.types import RankingData, Run, Topics


def _list(context: click.Context, parameter: click.Parameter, requested: bool) -> None:
    """Print the catalogue and exit, whatever the other arguments."""
    if requested and not context.resilient_parsing:
        from rerank.features.base import catalogue

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
        from rerank.features.base import template

        click.echo(template(), nl=False)
    context.exit()


@dataclass(frozen=True)
class Options:
    """What `rerank features` takes."""

    index: Path = path_argument()
    topics: Path = path_argument()
    run: Path = path_argument()
    output: Path | None = option(
        "-o",
        "--output",
        type=path_type,
        metavar="FILE",
        help="Output file (.npz, .parquet, .svm or .txt, the last two also with .gz); - for stdout. Required unless "
        "--report is given.",
    )
    qrels: Path | None = file_option(
        "--qrels", "Judgements, which become the labels; without them, the data have no labels."
    )
    recipe: Path | None = file_option(
        "--recipe", "TOML file that selects fields, families of features, parameters and normalisation."
    )
    functions: tuple[Path, ...] = functions_option()
    runs: tuple[str, ...] = option(
        "--run",
        metavar="NAME=FILE",
        multiple=True,
        help="Run of another system, whose scores and ranks become features. Repeatable.",
    )
    recipe_template: None = option(
        "--recipe-template",
        metavar="[ENGINE]",
        is_flag=False,
        flag_value="",
        is_eager=True,
        callback=_template,
        help="Print the default recipe with comments, or the recipe of the features that a search engine can also "
        f"compute: {', '.join(engine_names())}.",
    )
    catalogue: None = option("--list", is_flag=True, is_eager=True, callback=_list, help="List all available features.")
    reports: tuple[Path, ...] = file_option(
        "--report",
        "Write a report of the cost and importance of each feature (.txt, .tsv, .json), or a smaller "
        "recipe (.toml); requires --qrels. Repeatable.",
        multiple=True,
    )
    budget: float | None = option(
        "--budget",
        type=Number(0.0),
        metavar="MICROSECONDS",
        help="Maximum cost per pair of the features that --report selects.",
    )
    quick: bool = option("--quick", is_flag=True, help="Make --report faster and less precise.")
    threads: int | None = threads_option()
    cluster: str | None = cluster_option()


@click.command("features", short_help="compute the features of a run")
@takes(Options)
def command(options: Options) -> None:
    """Compute the features of the query-document pairs of RUN and write them to a file.

    If `rerank vectors` or `rerank history` has been run on INDEX, their features are included.
    """
    from rerank.cli.options import check_documents, check_queries, errors_with_files
    from rerank.explanation.card import check_report_path
    from rerank.features.recipe import Recipe
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels, read_run
    from rerank.runtime.output import check_outputs

    _check_options(options)
    reports = [check_report_path(path) for path in options.reports]
    check_outputs({"--output": options.output, **{f"--report {path}": path for path in reports}})
    queries = read_topics(options.topics)
    pairs = read_run(options.run)
    judgements = None if options.qrels is None else read_qrels(options.qrels)
    recipe = None if options.recipe is None else Recipe.from_toml(options.recipe)
    others = read_named_runs(options.runs)
    with (
        opened_cluster(options.cluster) as workers,
        opened_index(options.index, workers, runs=others, threads=options.threads) as index,
        errors_with_files({"recipe": options.recipe}),
    ):
        check_queries(pairs, options.run, queries, options.topics)
        check_documents(pairs, options.run, index)
        if options.output is not None:
            index.write_features(options.output, pairs, queries, judgements, recipe=recipe)
        if reports:
            data = index.features(pairs, queries, judgements, recipe=recipe)
            _write_reports(options, reports, index, data, (pairs, queries))


def _check_options(options: Options) -> None:
    """Refuse options that lack another one, or have no effect together."""
    if options.output is None and not options.reports:
        raise click.UsageError("Missing option '-o' / '--output' or '--report'.")
    require({"reports": "qrels"})
    if options.reports:
        refuse_beside("--report", ("cluster",))


def _write_reports(
    options: Options, files: Sequence[Path], index: Index, data: RankingData, measured: tuple[Run, Topics]
) -> None:
    """Write what each feature costs on the pairs of a run, and gains on the data."""
    from rerank.explanation.card import write_report
    from rerank.explanation.importance import feature_report, measure_costs

    recipe = data.recipe or {}
    costs = measure_costs(index, *measured, recipe)
    report = feature_report(
        data, microseconds=costs, budget=options.budget, quick=options.quick, threads=options.threads
    )
    for path in files:
        write_report(report, recipe, path)

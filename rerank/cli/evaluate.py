"""`rerank evaluate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.cluster import cluster_option, opened_cluster
from rerank.cli.comparison import ComparisonOptions, check_no_measure_among, compared, measured
from rerank.cli.options import option, path_type, takes


@dataclass(frozen=True)
class Options(ComparisonOptions):
    """What `rerank evaluate` takes."""

    baseline: Path | None = option(
        "--baseline", type=path_type, metavar="RUN", help="Run that the others are compared with.  [default: the first]"
    )
    per_query: bool = option("--per-query", is_flag=True, help="Also write the values of each query.")
    form: str = option(
        "--format",
        type=click.Choice(["table", "tsv", "json", "latex"]),
        default="table",
        show_default=True,
        help="Output format.",
    )
    output: Path = option(
        "-o", "--output", type=path_type, metavar="FILE", default=Path("-"), help="Output file.  [default: stdout]"
    )
    cluster: str | None = cluster_option()


@click.command("evaluate", short_help="measure runs")
@takes(Options)
def command(given: Options) -> None:
    """Evaluate each RUN against QRELS as trec_eval does, and compare several runs with a baseline.

    Measures of diversity (alpha_nDCG@10, ERR_IA@10, StRecall@10) read QRELS with the columns query, subtopic, document
    and label. `rerank report` writes the comparison as an HTML page, or lists the queries that changed most.
    """
    from rerank.evaluation.evaluate import judgements_of
    from rerank.evaluation.report import render, text_lines
    from rerank.files.provenance import warn_of_functions
    from rerank.files.trec import read_run
    from rerank.runtime.output import whole_file

    measures = given.parsed_measures()  # refuses an unknown one before the runs are read
    check_no_measure_among(given.runs)
    missing = () if given.baseline is None or given.baseline in given.runs else (given.baseline,)
    paths = list(dict.fromkeys((*missing, *given.runs)))
    judgements = judgements_of(given.qrels, measures)
    warn_of_functions(given.qrels)
    with opened_cluster(given.cluster) as workers:
        results = measured(given, ((str(path), read_run(path)) for path in paths), judgements, workers)
    comparison = compared(given, results, given.baseline or paths[0])
    with whole_file(given.output) as file:
        file.write(render(comparison, given.form, per_query=given.per_query) + "\n")
        if given.per_query and given.form != "json":
            file.writelines(text_lines(results, given.form))

"""`rerank evaluate`."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from rerank.cli.options import path_type
from rerank.files.output import whole_file

log = logging.getLogger("rerank")
MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@1000")


@click.command("evaluate", short_help="measure runs")
@click.argument("qrels", type=path_type)
@click.argument("runs", nargs=-1, required=True, type=path_type)
@click.option("-m", "--measure", "measures", multiple=True, help=f"Measures; {' '.join(MEASURES)} by default.")
@click.option("--per-query", is_flag=True, help="A line for each query too.")
@click.option("-c", "--complete", is_flag=True, help="Mean over all judged queries; a missing one counts 0.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "tsv", "json", "latex"]),
    default="table",
    show_default=True,
)
@click.option(
    "-o",
    "--output",
    type=path_type,
    default=Path("-"),
    help="Where the figures are written; stdout by default.",
)
def command(
    qrels: Path,
    runs: tuple[Path, ...],
    measures: tuple[str, ...],
    per_query: bool,
    complete: bool,
    form: str,
    output: Path,
) -> None:
    """Measure each RUN against QRELS as trec_eval does; several runs are compared with the first."""
    from rerank.evaluation.evaluate import evaluate
    from rerank.evaluation.report import render
    from rerank.files.trec import read_qrels, read_run

    judgements = read_qrels(qrels)
    results = {}
    for path in runs:
        found = evaluate(judgements, read_run(path), measures or MEASURES, complete=complete)
        if len(found.query_ids) < len(judgements):
            log.info(
                "%s: %d of %d judged queries are not in it and do not count; -c counts them 0",
                path,
                len(judgements) - len(found.query_ids),
                len(judgements),
            )
        results[str(path)] = found
    with whole_file(output) as file:
        file.write(render(results, form, per_query=per_query) + "\n")

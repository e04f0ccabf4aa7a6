"""`rerank evaluate`."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from rerank.cli.options import measures_option, path_type, rules_options
from rerank.errors import InvalidInputError
from rerank.output import whole_file

log = logging.getLogger("rerank")
MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@1000")


@click.command("evaluate", short_help="measure runs")
@click.argument("qrels", type=path_type)
@click.argument("runs", nargs=-1, required=True, type=path_type, metavar="RUN [RUN ...]")
@measures_option(MEASURES)
@click.option("--per-query", is_flag=True, help="A line for each query too.")
@rules_options()
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "tsv", "json", "latex"]),
    default="table",
    show_default=True,
    help="How the figures are written.",
)
@click.option(
    "-o",
    "--output",
    type=path_type,
    metavar="FILE",
    default=Path("-"),
    help="Where the figures are written; stdout by default.",
)
def command(
    qrels: Path,
    runs: tuple[Path, ...],
    measures: tuple[str, ...],
    per_query: bool,
    complete: bool,
    level: int,
    depth: int | None,
    judged_only: bool,
    form: str,
    output: Path,
) -> None:
    """Measure each RUN against QRELS as trec_eval does; several runs are compared with the first."""
    from rerank.cli.places import places
    from rerank.evaluation.evaluate import evaluate
    from rerank.evaluation.report import render
    from rerank.evaluation.texts import text_lines
    from rerank.files.trec import read_qrels, read_run
    from rerank.metrics.registry import parse_measures

    wanted = parse_measures(measures or MEASURES, level)
    _check_no_measure_among(runs)
    judgements = read_qrels(qrels)
    results = {}
    for path in dict.fromkeys(runs):
        run = read_run(path)
        with places({f"run {run.name}": path}):
            results[str(path)] = evaluate(
                judgements, run, wanted, complete=complete, depth=depth, judged_only=judged_only, level=level
            )
        absent = len(judgements) - sum(query_id in run for query_id in judgements)
        if absent and not complete:
            log.info(
                "%s: %d of %d judged queries are not in it and do not count; -c counts them 0",
                path,
                absent,
                len(judgements),
            )
    with whole_file(output) as file:
        file.write(render(results, form, per_query=per_query) + "\n")
        if per_query and form != "json":
            file.writelines(text_lines(results, form))


def _check_no_measure_among(runs: tuple[Path, ...]) -> None:
    """Refuse `-m nDCG@10 AP`, which reads as a run called AP."""
    from rerank.metrics.registry import parse_measures

    for path in runs:
        if path.exists():
            continue
        try:
            parse_measures([str(path)])
        except InvalidInputError:
            continue
        raise InvalidInputError(f"{path}: expected a run file, found nothing there but a measure; write -m {path}.")

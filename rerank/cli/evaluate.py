"""`rerank evaluate`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.comparison import (
    ComparisonOptions,
    changed_queries,
    check_options,
    comparison_options,
    document_texts,
    write_page,
)
from rerank.cli.options import measures_option, path_type, rules_options
from rerank.errors import InvalidInputError
from rerank.runtime.output import whole_file

if TYPE_CHECKING:
    from rerank.evaluation.comparison import Comparison
    from rerank.evaluation.evaluate import EvaluationResult
    from rerank.metrics.base import Measure
    from rerank.types import Qrels, Run

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
@comparison_options
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
    **comparing: Any,
) -> None:
    """Measure each RUN against QRELS as trec_eval does; several runs are compared with a baseline."""
    from rerank.evaluation.report import render
    from rerank.evaluation.texts import text_lines
    from rerank.files.trec import read_qrels, read_topics
    from rerank.metrics.registry import parse_measures

    wanted = parse_measures(measures or MEASURES, level)
    _check_no_measure_among(runs)
    options = ComparisonOptions(**comparing)
    paths = _with_baseline(runs, options.baseline)
    check_options(options, len(paths), form)
    judgements, topics = read_qrels(qrels), None if options.topics is None else read_topics(options.topics)
    rules = {"complete": complete, "depth": depth, "judged_only": judged_only, "level": level}
    results, kept = _measured(paths, judgements, wanted, rules, options.needs_runs)
    comparison = _compared(results, options, str(options.baseline or paths[0]))
    details = changed_queries(comparison, options, judgements, kept, topics)
    documents = document_texts(options.corpus, details)
    if options.html is not None:
        write_page(comparison, options, (qrels, judgements), kept, details, documents, topics)
    told = details if options.changes else []
    with whole_file(output) as file:
        file.write(render(comparison, form, per_query=per_query, details=told, documents=documents) + "\n")
        if per_query and form != "json":
            file.writelines(text_lines(results, form))


def _measured(
    paths: list[Path], judgements: Qrels, wanted: Sequence[Measure], rules: dict[str, Any], keep: bool
) -> tuple[dict[str, EvaluationResult], dict[str, Run]]:
    """Return the figures of each run file and, where they are to be kept, the runs."""
    from rerank.cli.places import places
    from rerank.evaluation.evaluate import evaluate
    from rerank.files.trec import read_run

    results, kept = {}, {}
    for path in paths:
        run = read_run(path)
        with places({f"run {run.name}": path}):
            results[str(path)] = evaluate(judgements, run, wanted, **rules)
        if keep:
            kept[str(path)] = run
        absent = len(judgements) - sum(query_id in run for query_id in judgements)
        if absent and not rules["complete"]:
            text = "%s: %d of %d judged queries are not in it and do not count; -c counts them 0"
            log.info(text, path, absent, len(judgements))
    return results, kept


def _compared(results: dict[str, EvaluationResult], options: ComparisonOptions, baseline: str) -> Comparison:
    """Return the runs' figures beside the baseline's, tested and corrected as the options say."""
    from rerank.evaluation.comparison import compare_results

    return compare_results(
        results,
        baseline,
        test=options.test,
        correction=options.correction,
        samples=options.samples,
        seed=options.seed,
    )


def _with_baseline(runs: tuple[Path, ...], baseline: Path | None) -> list[Path]:
    """Return each run once; a baseline that is not among them stands first."""
    return list(dict.fromkeys(runs if baseline is None or baseline in runs else (baseline, *runs)))


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
        raise InvalidInputError(f"{path}: expected a run file, got nothing there but a measure. Write -m {path}.")

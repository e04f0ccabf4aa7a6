"""`rerank evaluate`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.cluster import cluster_option, opened_cluster
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
from rerank.runtime.output import check_outputs, whole_file

if TYPE_CHECKING:
    from rerank.cluster.cluster import Cluster
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
@click.option("--per-query", is_flag=True, help="Write a line for each query, too.")
@rules_options()
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "tsv", "json", "latex"]),
    default="table",
    show_default=True,
    help="Output format.",
)
@click.option(
    "-o",
    "--output",
    type=path_type,
    metavar="FILE",
    default=Path("-"),
    help="Output file; stdout by default.",
)
@comparison_options
@cluster_option()
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
    cluster: str | None,
    **comparing: Any,
) -> None:
    """Measure each RUN against QRELS as trec_eval does; several runs are compared with a baseline."""
    from rerank.evaluation.report import render, text_lines
    from rerank.files.trec import read_qrels, read_topics
    from rerank.metrics.registry import parse_measures

    parsed = parse_measures(measures or MEASURES, level)
    check_outputs({"--output": output, "--html": comparing["html"]})
    _check_no_measure_among(runs)
    options = ComparisonOptions(**comparing)
    paths = _with_baseline(runs, options.baseline)
    check_options(options, len(paths), form)
    judgements, topics = read_qrels(qrels), None if options.topics is None else read_topics(options.topics)
    rules = {"complete": complete, "depth": depth, "judged_only": judged_only, "level": level}
    with opened_cluster(cluster) as workers:
        results, loaded = _measured(paths, judgements, parsed, rules, options.needs_runs, workers)
    comparison = _compared(results, options, str(options.baseline or paths[0]))
    details = changed_queries(comparison, options, judgements, loaded, topics)
    documents = document_texts(options.corpus, details)
    if options.html is not None:
        write_page(comparison, options, (qrels, judgements), loaded, details, documents, topics)
    shown_details = details if options.changes else []
    with whole_file(output) as file:
        file.write(render(comparison, form, per_query=per_query, details=shown_details, documents=documents) + "\n")
        if per_query and form != "json":
            file.writelines(text_lines(results, form))


def _measured(
    paths: list[Path],
    judgements: Qrels,
    measures: Sequence[Measure],
    rules: dict[str, Any],
    keep_runs: bool,
    cluster: Cluster | None,
) -> tuple[dict[str, EvaluationResult], dict[str, Run]]:
    """Return the results of each run file and, if `keep_runs`, the runs."""
    from rerank.cli.file_names import errors_with_files
    from rerank.evaluation.evaluate import evaluate
    from rerank.files.trec import read_run

    measured = evaluate if cluster is None else cluster.evaluate
    results, runs = {}, {}
    for path in paths:
        run = read_run(path)
        with errors_with_files({f"run {run.name}": path}):
            results[str(path)] = measured(judgements, run, measures, **rules)
        if keep_runs:
            runs[str(path)] = run
        absent = len(judgements) - sum(query_id in run for query_id in judgements)
        if absent and not rules["complete"]:
            text = "%s: %d of %d judged queries are not in the run and do not count; with -c they count as 0"
            log.info(text, path, absent, len(judgements))
    return results, runs


def _compared(results: dict[str, EvaluationResult], options: ComparisonOptions, baseline: str) -> Comparison:
    """Return the comparison of the runs with the baseline."""
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
    """Return each run once; a baseline that is not among them comes first."""
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

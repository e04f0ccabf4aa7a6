"""`rerank evaluate`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.clicks import LIMITS as LOG_LIMITS
from rerank.cli.cluster import cluster_option, opened_cluster
from rerank.cli.comparison import ComparisonOptions, check_no_measure_among, compared, measured
from rerank.cli.options import (
    Number,
    Whole,
    file_option,
    format_option,
    limits_option,
    option,
    path_argument,
    path_type,
    takes,
)
from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.clicks.off_policy import OffPolicyValue

LIMITS: dict[str, tuple[str, Number | Whole]] = {  # of --limit: the field of `Limits` or `ValueRules`
    **LOG_LIMITS,
    "clip": ("clip", Number(0.001, 1.0)),
    "unseen": ("most_unseen", Number(0.0, 1.0)),
    "effective": ("least_effective", Number(0.0)),
}
VALUE_TEXT = "last-position=1000, session-clicks=1000, clip=0.05 (P(examined)), unseen=0.5, effective=100 (clicks)"
NOT_OF_CLICKS = ("measures", "complete", "judged_only", "baseline", "per_query", "cluster")


@dataclass(frozen=True)
class Options(ComparisonOptions):
    """What `rerank evaluate` takes."""

    runs: tuple[Path, ...] = path_argument(nargs=-1, metavar="RUN [RUN ...]")
    clicks: tuple[Path, ...] = file_option("--clicks", "Click log, in place of QRELS. Repeatable.", multiple=True)
    topics: Path | None = file_option("--topics", "Topics that the queries of the log are, by id or text.")
    limits: dict[str, Any] = limits_option(LIMITS, VALUE_TEXT)
    baseline: Path | None = option(
        "--baseline", type=path_type, metavar="RUN", help="Run that the others are compared with.  [default: the first]"
    )
    per_query: bool = option("--per-query", is_flag=True, help="Also write the values of each query.")
    form: str = format_option("table", "tsv", "json", "latex")
    output: Path = option(
        "-o", "--output", type=path_type, metavar="FILE", default=Path("-"), help="Output file.  [default: stdout]"
    )
    cluster: str | None = cluster_option()


@click.command("evaluate", short_help="measure runs")
@takes(Options)
def command(given: Options) -> None:
    """Evaluate each RUN against QRELS as trec_eval does, and compare several runs with a baseline.

    Measures of diversity (alpha_nDCG@10, ERR_IA@10, StRecall@10) read QRELS with the columns query, subtopic, document
    and label. With --clicks LOG and no QRELS, a click counts 1 / log2(1 + rank in the run) / P(position examined).
    """
    if given.clicks:
        _write_values(given)
        return
    if given.topics or given.limits:
        raise click.UsageError("--topics, --limit: expected --clicks with them, got none. Name a click log.")
    if not given.runs:
        raise click.UsageError("evaluate: expected QRELS and at least one RUN, got one file. Name a run.")
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


def _write_values(given: Options) -> None:
    """Write the value of each run on a click log."""
    from rerank.clicks.cleaning import Limits
    from rerank.clicks.off_policy import ValueRules, off_policy_value
    from rerank.clicks.reading import read_clicks
    from rerank.files.trec import read_run
    from rerank.runtime.output import whole_file

    useless = [name for name in NOT_OF_CLICKS if getattr(given, name)]
    if useless:
        name = useless[0].replace("_", "-")
        raise InvalidInputError(f"--clicks: expected no option of judgements with it, got --{name}. Leave it out.")
    of_log = {field: value for field, value in given.limits.items() if field in Limits.__dataclass_fields__}
    of_value = {field: value for field, value in given.limits.items() if field not in of_log}
    samples, seed = given.samples
    rules = ValueRules(given.depth or 10, samples=samples, seed=seed, **of_value)
    clicks = read_clicks(given.clicks, topics=given.topics, limits=Limits(**of_log))
    paths = dict.fromkeys((given.qrels, *given.runs))
    values = {str(path): off_policy_value(clicks, read_run(path), rules) for path in paths}
    with whole_file(given.output) as file:
        file.write((_json(values) if given.form == "json" else _table(values, given.form)) + "\n")


def _json(values: dict[str, OffPolicyValue]) -> str:
    plain = {path: asdict(value) for path, value in values.items()}
    without_nan = {path: {name: None if v != v else v for name, v in each.items()} for path, each in plain.items()}
    return json.dumps(without_nan, indent=1)


def _table(values: dict[str, OffPolicyValue], form: str) -> str:
    from tabulate import tabulate

    rows = [
        [
            path,
            "refused" if each.refusal else f"{each.value:.4f}",
            "" if each.refusal else f"{each.low:.4f} to {each.high:.4f}",
            f"{each.effective_clicks:.0f}",
            f"{each.unseen:.1%}",
            each.n_queries,
        ]
        for path, each in values.items()
    ]
    header = ["run", "value", "95 % interval", "effective clicks", "never shown", "queries"]
    alignment = ("left", *["right"] * 5)
    kind = "simple" if form == "table" else form
    table = tabulate(rows, header, tablefmt=kind, disable_numparse=True, colalign=alignment)
    return "\n".join([table, *(f"{path}: {each.refusal}." for path, each in values.items() if each.refusal)])

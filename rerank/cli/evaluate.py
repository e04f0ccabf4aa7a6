"""`rerank evaluate`: measures of runs by trec_eval's rules or by clicks, comparisons, and the page of a report."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import (
    Whole,
    cluster_option,
    file_option,
    format_option,
    measures_option,
    opened_cluster,
    option,
    path_argument,
    path_type,
    refuse_beside,
    takes,
)
from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.clicks.interleaving import AssignmentResult, InterleavingResult
    from rerank.clicks.off_policy import OffPolicyValue
    from rerank.cluster.cluster import Cluster
    from rerank.evaluation.comparison import Comparison, QueryDetail
    from rerank.evaluation.evaluate import EvaluationResult
    from rerank.metrics.base import Measure
    from rerank.types import Qrels, Run
    from rerank.types.qrels import SubtopicQrels


log = logging.getLogger("rerank")
MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@1000")
NOT_OF_CLICKS = ("measures", "complete", "judged_only", "baseline", "per_query", "corpus", "cluster")
PAGE = (".html", ".htm")  # endings of an output file
CHANGES = 3  # queries of a page that gained most, and that lost most


@dataclass(frozen=True)
class Options:
    """What `rerank evaluate` takes."""

    qrels: Path | None = path_argument(required=False)
    runs: tuple[Path, ...] = path_argument(nargs=-1, metavar="RUN [RUN ...]")
    measures: tuple[str, ...] = measures_option(MEASURES)
    complete: bool = option(
        "-c",
        "--complete",
        is_flag=True,
        help="Count judged queries that are not in the run as 0.",
    )
    level: int = option(
        "-l",
        "--level",
        type=Whole(),
        metavar="N",
        default=1,
        show_default=True,
        help="Smallest label that counts as relevant, for measures without rel=.",
    )
    depth: int | None = option(
        "-M",
        "--depth",
        type=Whole(),
        metavar="N",
        help="Evaluate only the top N documents of each query.  [default: all]",
    )
    judged_only: bool = option("-J", "--judged-only", is_flag=True, help="Remove unjudged documents before evaluation.")
    # Choices are written out here, as help must not import SciPy; a test compares them with significance.py.
    test: str = option(
        "--test",
        type=click.Choice(["t", "wilcoxon", "randomisation"]),
        default="t",
        show_default=True,
        help="Significance test of the table; JSON and TSV have all.",
    )
    correction: str = option(
        "--correction",
        type=click.Choice(["holm", "bonferroni", "bh", "none"]),
        default="holm",
        show_default=True,
        help="Correction over all runs and measures; bh is Benjamini-Hochberg.",
    )
    clicks: tuple[Path, ...] = file_option("--clicks", "Click log, in place of QRELS. Repeatable.", multiple=True)
    topics: Path | None = file_option(
        "--topics", "Topics: of a page, whose queries are shown; of a log, whose queries are matched by id or text."
    )
    corpus: Path | None = file_option("--corpus", "Documents, to show the text of those that changed rank on a page.")
    baseline: Path | None = option(
        "--baseline", type=path_type, metavar="RUN", help="Run that the others are compared with.  [default: the first]"
    )
    per_query: bool = option("--per-query", is_flag=True, help="Also write the values of each query.")
    form: str = format_option("table", "tsv", "json", "latex")
    output: Path = option(
        "-o",
        "--output",
        type=path_type,
        metavar="FILE",
        default=Path("-"),
        help="Output file; .html for a page with charts, and the queries that changed most.  [default: stdout]",
    )
    cluster: str | None = cluster_option()

    def rules(self) -> dict[str, Any]:
        """Return the rules, as `rerank.evaluate` takes them."""
        return {name: getattr(self, name) for name in ("complete", "depth", "judged_only", "level")}

    @property
    def is_page(self) -> bool:
        """Whether the output is a page."""
        return self.output.suffix.lower() in PAGE

    def parsed_measures(self) -> Sequence[Measure]:
        """Return the measures."""
        from rerank.metrics.registry import parse_measures

        return parse_measures(self.measures or MEASURES, self.level)


@click.command("evaluate", short_help="measure runs")
@takes(Options)
def command(options: Options) -> None:
    """Evaluate each RUN against QRELS as trec_eval does, and compare several runs with a baseline.

    Measures of diversity (alpha_nDCG@10, ERR_IA@10, StRecall@10) read QRELS with the columns query, subtopic, document
    and label. With -o FILE.html, the report is a single page that can be read offline. With --clicks LOG and no QRELS,
    a click counts 1 / log2(1 + rank in the run) / P(position examined). --clicks LOG alone prints which of two rankers
    the searchers preferred, where the log's column `ranker` has who added each document (interleaving, A/B test).
    """
    if options.clicks:
        _write_of_clicks(options)
        return
    if options.qrels is None or not options.runs:
        raise click.UsageError("evaluate: expected QRELS and at least one RUN, got fewer. Name a run.")
    _check_page_options(options)
    from rerank.evaluation.comparison import compare_results, render, text_lines
    from rerank.evaluation.evaluate import judgements_of
    from rerank.files.lists import warn_of_functions
    from rerank.files.trec import read_qrels, read_run
    from rerank.runtime.output import whole_file

    measures = options.parsed_measures()  # refuses an unknown one before the runs are read
    _check_no_measure_among(options.runs)
    missing = () if options.baseline is None or options.baseline in options.runs else (options.baseline,)
    paths = list(dict.fromkeys((*missing, *options.runs)))
    judgements: Any = read_qrels(options.qrels) if options.is_page else judgements_of(options.qrels, measures)
    warn_of_functions(options.qrels)
    runs = {str(path): read_run(path) for path in paths} if options.is_page else {}
    read = runs.items() if options.is_page else ((str(path), read_run(path)) for path in paths)
    with opened_cluster(options.cluster) as workers:
        results = _measured(options, read, judgements, workers)
    baseline = str(options.baseline or paths[0])
    comparison = compare_results(results, baseline, test=options.test, correction=options.correction)
    with whole_file(options.output) as file:
        if options.is_page:
            file.write(_page_of(options, comparison, judgements, runs))
            return
        file.write(render(comparison, options.form, per_query=options.per_query) + "\n")
        if options.per_query and options.form != "json":
            file.writelines(text_lines(results, options.form))


def _measured(
    options: Options,
    runs: Iterable[tuple[str, Run]],
    judgements: Qrels | SubtopicQrels,
    cluster: Cluster | None = None,
) -> dict[str, EvaluationResult]:
    """Return the result of each run, by the name of its file."""
    from rerank.cli.options import errors_with_files
    from rerank.evaluation.evaluate import evaluate

    evaluated = evaluate if cluster is None else cluster.evaluate
    measures = options.parsed_measures()
    rules = options.rules()
    results = {}
    for path, run in runs:
        with errors_with_files({f"run {run.name}": path}):
            results[path] = evaluated(judgements, run, measures, **rules)
        absent = len(judgements) - sum(query_id in run for query_id in judgements)
        if absent and not options.complete:
            text = "%s: %d of %d judged queries are not in the run and do not count; with -c they count as 0"
            log.info(text, path, absent, len(judgements))
    return results


def _check_no_measure_among(runs: Sequence[Path]) -> None:
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


def _check_page_options(options: Options) -> None:
    """Refuse options that would have no effect, and a corpus that is missing, before the runs are read."""
    for name, value in (("--topics", options.topics), ("--corpus", options.corpus)):
        if value and not options.is_page:
            raise InvalidInputError(f"{name}: expected a page with it, got {options.output}. Write -o FILE.html.")
    if options.corpus is not None:
        from rerank.files.corpus import read_documents

        read_documents(options.corpus)  # documents are read later, if any is shown


def _page_of(options: Options, comparison: Comparison, judgements: Qrels, runs: Mapping[str, Run]) -> str:
    from rerank.evaluation.comparison import query_details, run_curves
    from rerank.evaluation.page.build import html_page
    from rerank.evaluation.page.figures import PageContent
    from rerank.files.topics import read_topics

    topics = {} if options.topics is None else read_topics(options.topics)
    details = query_details(comparison, CHANGES, judgements, runs, topics) if comparison.systems else []
    curves = {name: run_curves(judgements, run, comparison.results[name]) for name, run in runs.items()}
    title = f"Runs on {Path(str(options.qrels)).name}"
    return html_page(PageContent(title, comparison, curves, details, _document_texts(options.corpus, details), topics))


def _document_texts(corpus: Path | None, details: Sequence[QueryDetail]) -> dict[str, str]:
    """Return the texts of the documents in the details, with their fields joined; one pass over the corpus."""
    if corpus is None or not details:
        return {}
    from rerank.evaluation.comparison import moved_documents
    from rerank.files.corpus import data_set_name, read_documents

    doc_ids = moved_documents(details)
    texts = {}
    only = None if data_set_name(corpus) is None else "contents"  # the data set's own choice of text
    for document in read_documents(corpus):
        doc_id = document.pop("id")
        if doc_id in doc_ids:
            texts[doc_id] = document[only] if only else " ".join(str(value) for value in document.values())
    return texts


def _write_of_clicks(options: Options) -> None:
    """Write the value of each run on a click log; without runs, which of two rankers the log prefers."""
    from rerank.clicks.interleaving import experiment_result
    from rerank.clicks.off_policy import ValueRules, off_policy_value
    from rerank.clicks.reading import read_clicks
    from rerank.files.trec import read_run
    from rerank.runtime.output import whole_file

    refuse_beside("--clicks", NOT_OF_CLICKS)
    clicks = read_clicks(options.clicks, topics=options.topics)
    paths = [] if options.qrels is None else list(dict.fromkeys((options.qrels, *options.runs)))
    if paths:
        rules = ValueRules(options.depth or 10)
        values = {str(path): off_policy_value(clicks, read_run(path), rules) for path in paths}
        text = _json(values) if options.form == "json" else _table(values, options.form)
    else:
        result = experiment_result(clicks)
        text = json.dumps(asdict(result), indent=1) if options.form == "json" else _result_table(result, options.form)
    with whole_file(options.output) as file:
        file.write(text + "\n")


def _json(values: dict[str, OffPolicyValue]) -> str:
    plain = {path: asdict(value) for path, value in values.items()}
    without_nan = {path: {name: None if v != v else v for name, v in each.items()} for path, each in plain.items()}
    return json.dumps(without_nan, indent=1)


def _table(values: dict[str, OffPolicyValue], form: str) -> str:
    from rerank.types.query_table import text_table

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
    table = text_table(rows, header, form="simple" if form == "table" else form)
    return "\n".join([table, *(f"{path}: {each.refusal}." for path, each in values.items() if each.refusal)])


def _result_table(result: InterleavingResult | AssignmentResult, form: str) -> str:
    from rerank.clicks.interleaving import InterleavingResult
    from rerank.types.query_table import text_table

    if isinstance(result, InterleavingResult):
        middle = {"W/T/L": f"{result.wins}/{result.ties}/{result.losses}"}
    else:
        middle = {"sessions": f"{result.sessions[0]}/{result.sessions[1]}"}
        middle["1 / rank of first click"] = f"{result.means[0]:.4f}/{result.means[1]:.4f}"
    row = {
        "ranker": result.first,
        "against": result.second,
        **middle,
        "difference": f"{result.difference:+.4f}",
        "95 % interval": f"{result.low:+.4f} to {result.high:+.4f}",
        "p": "<0.0001" if result.p_value < 0.0001 else f"{result.p_value:.4f}",
    }
    return text_table([list(row.values())], list(row), 2, "simple" if form == "table" else form)

"""`rerank evaluate`: measures of runs by trec_eval's rules or by clicks, comparisons, and the page of a report."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rerank
from rerank.cli.options import (
    COUNT,
    errors_with_files,
    measures_option,
    path_argument,
    path_option,
    refuse_beside,
    remove_query_option,
    run_names,
)
from rerank.errors import InvalidInputError, log
from rerank.runtime.output import write_text

if TYPE_CHECKING:
    from rerank.clicks.interleaving import AssignmentResult, InterleavingResult
    from rerank.clicks.off_policy import OffPolicyValue
    from rerank.evaluation.comparison_page import QueryDetail


MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@1000")
OF_PAIRS = ("test", "correction", "baseline")
NOT_OF_CLICKS = ("measures", "complete", "level", "judged_only", "remove_query", "per_query", "corpus", *OF_PAIRS)
# Ending of the output file -> form.
FORM_OF_ENDING = {".tsv": "tsv", ".csv": "csv", ".json": "json", ".tex": "latex", ".md": "markdown"}
RULES = ("complete", "depth", "judged_only", "level")
ABSENT = "%s: %d of %d judged queries are not in the run and do not count; with -c they count as 0"
CHANGES = 3  # queries on a page that gained most, and as many that lost most


@click.command("evaluate")
@path_argument("qrels", required=False)
@path_argument("runs", nargs=-1, metavar="RUN [RUN ...]")
@measures_option(" ".join(MEASURES))
@click.option("-c", "--complete", is_flag=True, help="Count judged queries that are not in the run as 0.")
@click.option(
    "-l",
    "--level",
    type=COUNT,
    metavar="N",
    default=1,
    show_default=True,
    help="Smallest label that counts as relevant, for measures without rel=.",
)
@click.option(
    "-M",
    "--depth",
    type=COUNT,
    metavar="N",
    help="Evaluate only the top N documents of each query.  [default: all]",
)
@click.option("-J", "--judged-only", is_flag=True, help="Remove unjudged documents before evaluation.")
@remove_query_option
# Choices are written out here, as help must not import SciPy; a test compares them with significance.py.
@click.option(
    "--test",
    type=click.Choice(["t", "wilcoxon", "randomisation"]),
    default="t",
    show_default=True,
    help="Significance test of the table; JSON and TSV have all.",
)
@click.option(
    "--correction",
    type=click.Choice(["holm", "bonferroni", "bh", "none"]),
    default="holm",
    show_default=True,
    help="Correction over all runs and measures; bh is Benjamini-Hochberg.",
)
@path_option("--clicks", text="Click log, in place of QRELS. Repeatable.", multiple=True)
@path_option(
    "--topics", text="Topics: of a page, whose queries are shown; of a log, whose queries are matched by id or text."
)
@path_option("--corpus", text="Documents, to show the text of those that changed rank on a page.")
@path_option("--baseline", metavar="RUN", text="Run that the others are compared with.  [default: the first]")
@click.option("--per-query", "-q", is_flag=True, help="Also write the values of each query.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "tsv", "csv", "json", "latex", "markdown"]),
    help="[default: by -o's ending, or table]",
)
@path_option(
    "-o",
    "--output",
    default=Path("-"),
    text="Output file; .html for a page with charts, and the queries that changed most; .png, .svg or .pdf for the "
    "charts alone.  [default: stdout]",
)
def command(
    qrels: Path | None,
    runs: tuple[Path, ...],
    clicks: tuple[Path, ...],
    topics: Path | None,
    output: Path,
    **options: Any,
) -> None:
    """Evaluate each RUN against QRELS as trec_eval does, and compare several runs with a baseline.

    Measures of diversity (alpha_nDCG@10, ERR_IA@10, StRecall@10) read QRELS with the columns query, subtopic, document
    and label. With -o FILE.html, the report is a single page that can be read offline. With --clicks LOG and no QRELS,
    a click counts 1 / log2(1 + rank in the run) / P(position examined). --clicks LOG alone prints which of two rankers
    the searchers preferred, where the log's column `ranker` has who added each document (interleaving, A/B test).
    A RUN given as NAME=FILE has that name in tables.
    """
    if options["form"] is None and output.suffix.lower() == ".xlsx":
        raise InvalidInputError(f"{output}: expected another form than XLSX, got that ending. Write -o FILE.csv.")
    options["form"] = options["form"] or FORM_OF_ENDING.get(output.suffix.lower(), "table")
    if clicks:
        refuse_beside("--clicks", NOT_OF_CLICKS)
        _check_text(output)
        paths = [] if qrels is None else list(dict.fromkeys((qrels, *runs)))
        text = _of_clicks(rerank.read_clicks(clicks, topics=topics), paths, options["depth"], options["form"])
        write_text(output, f"{text}\n")
    elif qrels is None or not runs:
        raise click.UsageError("evaluate: expected QRELS and at least one RUN, got fewer. Name a run.")
    else:
        _of_judgements(qrels, runs, topics, output, options)


def _check_text(output: Path) -> None:
    """Refuse a page or a picture as the output of a click log, which has tables and JSON only."""
    from rerank.evaluation.page import PAGES, PICTURES

    if output.suffix.lower() in (*PAGES, *PICTURES):
        raise InvalidInputError(
            f"{output}: expected a file of text with --clicks, got a page or a picture. Write -o FILE.tsv."
        )


def _of_judgements(
    qrels: Path, runs: Sequence[Path], topics: Path | None, output: Path, options: Mapping[str, Any]
) -> None:
    """Write the figures of runs and their differences as a page, a picture, a table or in another form."""
    from rerank.evaluation.comparison import compare_results, render, rendered_lines
    from rerank.evaluation.comparison_page import charts
    from rerank.evaluation.evaluate import judgements_of, log_absent
    from rerank.evaluation.page import PAGES, PICTURES, write_picture
    from rerank.files.beir import removes_query
    from rerank.files.provenance import warn_of_functions
    from rerank.metrics.registry import parse_measures

    ending = output.suffix.lower()
    is_page = ending in PAGES
    if is_page or ending in PICTURES:
        refuse_beside(f"-o FILE{ending}", ("form", "per_query"))
    corpus, baseline = options["corpus"], options["baseline"]
    for name, value in (("--topics", topics), ("--corpus", corpus)):
        if value and not is_page:
            raise InvalidInputError(f"{name}: expected a page with it, got {output}. Write -o FILE.html.")
    if corpus is not None:
        rerank.read_documents(corpus)  # refuses one that is missing; documents are read later, if any is shown
    measures = parse_measures(options["measures"] or MEASURES, options["level"])  # refuses an unknown one at once
    files, first = _named_files(runs, baseline)
    if len(files) == 1:
        refuse_beside("a single RUN", OF_PAIRS)
    _check_no_measure_among(files.values())
    judgements: Any = rerank.read_qrels(qrels) if is_page else judgements_of(qrels, measures)
    warn_of_functions(qrels)
    rules = {**{name: options[name] for name in RULES}, "remove_query": removes_query(options["remove_query"], qrels)}
    read = {}
    results = {}
    absent = {}
    for name, path in files.items():
        run, results[name] = _evaluated(path, judgements, measures, rules)
        absent[name] = sum(query_id not in run for query_id in judgements)
        if is_page:
            read[name] = run
    if not options["complete"]:
        log_absent(logging.INFO, ABSENT, absent, len(judgements))
    comparison = compare_results(results, first, test=options["test"], correction=options["correction"])
    if is_page:
        write_text(output, _page(f"Runs on {qrels.name}", comparison, judgements, read, topics, corpus))
    elif ending in PICTURES:
        write_picture(charts(comparison), output)
    else:
        form, per_query = options["form"], options["per_query"]
        texts = rendered_lines(results, form) if per_query and form != "json" else ()
        write_text(output, "".join([render(comparison, form, per_query=per_query), "\n", *texts]))


def _evaluated(
    path: Path, judgements: Any, measures: Sequence[Any], rules: Mapping[str, Any]
) -> tuple[rerank.Run, rerank.EvaluationResult]:
    """Return a run and its figures; log how many queries found themselves, unless such documents are removed."""
    from rerank.files.beir import OWN_DOCUMENTS, n_own_documents

    run = rerank.read_run(path)
    with errors_with_files({f"run {run.name}": path}):
        result = rerank.evaluate(judgements, run, measures, **rules)
    n_own = 0 if rules["remove_query"] else n_own_documents(run)
    if n_own:
        log.info(f"%s: {OWN_DOCUMENTS}", path, n_own, len(run), "count", "--remove-query")
    return run, result


def _named_files(runs: Sequence[Path], baseline: Path | None) -> tuple[dict[str, Path], str]:
    """Return the files of the runs by name, and the name of the baseline; a baseline that is not a RUN comes first."""
    files = run_names(runs)
    if baseline is None:
        return files, next(iter(files))
    stems = [] if baseline.exists() else [name for name in files if Path(name).stem == str(baseline)]
    named = [str(baseline)] if str(baseline) in files else stems
    if len(named) == 1:
        return files, named[0]
    files = run_names((baseline, *runs))
    return files, next(iter(files))


def _check_no_measure_among(runs: Iterable[Path]) -> None:
    """Refuse `-m nDCG@10 AP`, where AP is taken for the file of a run."""
    from rerank.metrics.registry import parse_measures

    for path in runs:
        if path.exists():
            continue
        try:
            parse_measures([str(path)])
        except InvalidInputError:
            continue
        raise InvalidInputError(f"{path}: expected a run file, got no file but the name of a measure. Write -m {path}.")


def _page(
    title: str,
    comparison: Any,
    judgements: rerank.Qrels,
    runs: Mapping[str, rerank.Run],
    topics: Path | None,
    corpus: Path | None,
) -> str:
    """Return the page of a comparison."""
    from rerank.evaluation.comparison_page import query_details, report

    details = query_details(comparison, CHANGES, judgements, runs)
    queries = {} if topics is None else rerank.read_topics(topics)
    return report(title, comparison, details, _document_texts(corpus, details), queries)


def _document_texts(corpus: Path | None, details: Sequence[QueryDetail]) -> dict[str, str]:
    """Return the texts of the documents in the details, with their fields joined; one pass over the corpus."""
    if corpus is None or not details:
        return {}
    from rerank.files.irds import data_set_name

    doc_ids = {move.doc_id for detail in details for move in detail.moves}
    texts = {}
    only = None if data_set_name(corpus) is None else "contents"  # a data set's default text
    for document in rerank.read_documents(corpus):
        doc_id = document.pop("id")
        if doc_id in doc_ids:
            texts[doc_id] = document[only] if only else " ".join(str(value) for value in document.values())
    return texts


def _of_clicks(clicks: rerank.Clicks, runs: Sequence[Path], depth: int | None, form: str) -> str:
    """Return the value of each run on a click log; without runs, which of two rankers the log prefers."""
    from rerank.clicks.off_policy import examination_of
    from rerank.evaluation.comparison import TABLES
    from rerank.runtime.codec import finite, plain

    form = TABLES.get(form, form)
    if runs:
        rules = rerank.ValueRules(depth or 10)
        theta = examination_of(clicks)
        values = {
            name: rerank.off_policy_value(clicks, rerank.read_run(path), rules, theta=theta)
            for name, path in run_names(runs).items()
        }
        return json.dumps(finite(plain(values)), indent=1) if form == "json" else _table(values, form)
    result = rerank.experiment_result(clicks)
    return json.dumps(asdict(result), indent=1) if form == "json" else _result_table(result, form)


def _table(values: dict[str, OffPolicyValue], form: str) -> str:
    from rerank.types.text_tables import text_table

    rows = [
        [
            name,
            "refused" if estimate.refusal else f"{estimate.value:.4f}",
            f"{estimate.unseen:.1%}",
            "" if estimate.refusal else f"{estimate.low:.4f} to {estimate.high:.4f}",
            f"{estimate.effective_clicks:.0f}",
            estimate.n_queries,
        ]
        for name, estimate in values.items()
    ]
    header = ["run", "value", "never shown", "95 % interval", "effective clicks", "queries"]
    table = text_table(rows, header, form=form)
    lines = [f"{name}: {estimate.refusal}." for name, estimate in values.items() if estimate.refusal]
    estimated = [(name, estimate) for name, estimate in values.items() if not estimate.refusal]
    doubtful = [
        f"{name} and {other_name}"
        for (name, one), (other_name, other) in combinations(estimated, 2)
        if max(one.unseen, other.unseen) > 0 and max(one.least, other.least) <= min(one.most, other.most)
    ]
    if doubtful:
        lines.append(f"Cannot be compared, since clicks on documents never shown may decide: {', '.join(doubtful)}.")
    return "\n".join([table, *lines])


def _result_table(result: InterleavingResult | AssignmentResult, form: str) -> str:
    from rerank.clicks.interleaving import InterleavingResult
    from rerank.types.text_tables import text_table

    if isinstance(result, InterleavingResult):
        middle = {"W/T/L": f"{result.wins}/{result.ties}/{result.losses}"}
    else:
        middle = {
            "sessions": f"{result.sessions[0]}/{result.sessions[1]}",
            "1 / rank of first click": f"{result.means[0]:.4f}/{result.means[1]:.4f}",
        }
    row = {
        "ranker": result.first,
        "against": result.second,
        **middle,
        "difference": f"{result.difference:+.4f}",
        "95 % interval": f"{result.low:+.4f} to {result.high:+.4f}",
        "p": "<0.0001" if result.p_value < 0.0001 else f"{result.p_value:.4f}",
    }
    return text_table([list(row.values())], list(row), 2, form)

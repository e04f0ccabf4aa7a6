"""The page of a comparison: its tables and chart, and the documents that moved in queries that gained or lost most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rerank.evaluation.comparison import (
    DIFFERENCE_HEADER,
    MARKED,
    Comparison,
    QueryChange,
    difference_cells,
    figure,
    mean_rows,
    means_table,
    notes,
)
from rerank.evaluation.page import Axis, Chart, DotChart, Section, page_text, ticks
from rerank.evaluation.significance import bootstrap_intervals
from rerank.runtime.arithmetic import log2_of
from rerank.types import Qrels, Run

MOVES = 6  # documents shown for each query
EXCERPT = 150  # characters of a document


@dataclass(frozen=True)
class Move:
    """Rank (from 1) of a document before and after, None if it is not retrieved; its label, None if unjudged."""

    doc_id: str
    label: int | None
    before: int | None
    after: int | None


@dataclass(frozen=True)
class QueryDetail:
    """A query that gained or lost in a run, compared with the baseline, and the most important changes of rank."""

    run: str
    change: QueryChange
    moves: Sequence[Move]


def query_details(comparison: Comparison, n: int, qrels: Qrels, runs: Mapping[str, Run]) -> list[QueryDetail]:
    """Return, for each run, the n queries that gained most and the n that lost most under the first measure.

    runs  the compared runs, by the same names
    """
    details = []
    for name in comparison.systems:
        changes = comparison.changes(name, comparison.measures[0])
        gained = [change for change in changes if change.difference > 0]
        lost = sorted(
            (change for change in changes if change.difference < 0),
            key=lambda change: (change.difference, change.query_id),
        )
        details += [
            QueryDetail(name, change, moves(qrels, runs[comparison.baseline], runs[name], change.query_id, MOVES))
            for change in (*gained[:n], *lost[:n])
        ]
    return details


def moves(qrels: Qrels, before: Run, after: Run, query_id: str, n: int) -> list[Move]:
    """Return the n most important changes of rank between two runs of a judged query.

    Relevant documents come first. Both groups are ordered by the change of the discount 1 / log2(1 + rank), which is 0
    for a document that is not retrieved. Documents with the same rank in both runs are left out.
    """
    labels = qrels[query_id]
    old = _ranks(before, query_id)
    new = _ranks(after, query_id)
    moves_of_query = [Move(doc, labels.get(doc), old.get(doc), new.get(doc)) for doc in {**old, **new}]

    def importance(move: Move) -> tuple[bool, float, str]:
        return (move.label or 0) <= 0, -abs(_discount(move.after) - _discount(move.before)), move.doc_id

    return sorted((move for move in moves_of_query if move.before != move.after), key=importance)[:n]


def _discount(rank: int | None) -> float:
    return 0.0 if rank is None else float(1.0 / log2_of(1.0 + rank))


def _ranks(run: Run, query_id: str) -> dict[str, int]:
    """Return the rank of each document of a query, in trec_eval's order."""
    of_query = run.select(run.query_numbers([query_id]))
    ordered = of_query.take(of_query.trec_order())
    return {doc_id: rank for rank, doc_id in enumerate(ordered.doc_ids.tolist(), start=1)}


def report(
    title: str,
    comparison: Comparison,
    details: Sequence[QueryDetail],
    documents: Mapping[str, str],
    topics: Mapping[str, str],
) -> str:
    """Return the page of a comparison; figures are formatted as by `render`, empty sections are left out.

    details    queries that gained and lost most
    documents  texts by document id
    topics     texts by query id
    """
    subtitle = f"{len(comparison.results[comparison.baseline].query_ids)} queries"
    if comparison.systems:
        subtitle += f", {len(comparison.results)} runs, compared with {comparison.baseline}"
    marks = [f"{MARKED.format(comparison.baseline)}."] if comparison.pairs else []
    drawn = charts(comparison)
    means = means_table(comparison, mean_rows(comparison, marked=True))
    sections = [Section("Summary", marks, *means, 1, drawn[:1])]
    if comparison.pairs:
        rows = [difference_cells(comparison, *pair) for pair in comparison.pairs]
        sections.append(Section("Differences", (), rows, DIFFERENCE_HEADER, 2, drawn[1:]))
    if details:
        sections.append(_gains_and_losses(comparison, details, documents, topics))
    sections += [_every_query(comparison, topics), Section("What the figures rest on", notes(comparison))]
    return page_text(title, subtitle, sections)


def charts(comparison: Comparison) -> list[Chart | DotChart]:
    """Return the means of the first measure and, of several runs, the gain of each query; none of sums alone."""
    means = [means_chart(comparison)] if comparison.compared else []
    gains = [gains_chart(comparison)] if comparison.pairs else []
    return [*means, *gains]


def means_chart(comparison: Comparison) -> DotChart:
    """Return the mean of each run with its interval, of the first measure."""
    measure = comparison.compared[0]
    values = {}
    for run, result in comparison.results.items():
        (low,), (high,) = bootstrap_intervals(result.values[measure][:, None])
        values[run] = (result[measure], float(low), float(high))
    return DotChart("means", f"Mean {measure} with its 95 % bootstrap interval", values, measure)


def gains_chart(comparison: Comparison) -> Chart:
    """Return a line for each run: the difference of every query to the baseline, which is level, the greatest first."""
    measure = comparison.compared[0]
    lines = {}
    for run in comparison.systems:
        gains = [change.difference for change in comparison.changes(run, measure)]
        lines[run] = [(float(place), gain) for place, gain in enumerate(gains, 1)]
    longest = float(max(map(len, lines.values())))
    caption = f"{measure} of each query, less that of {comparison.baseline}"
    x = Axis("queries, the greatest gain first", ticks(0.0, longest))
    lines = {comparison.baseline: [(0.0, 0.0), (longest, 0.0)], **lines}
    return Chart("gains", caption, lines, x, f"difference in {measure}")


def _gains_and_losses(
    comparison: Comparison, details: Sequence[QueryDetail], documents: Mapping[str, str], topics: Mapping[str, str]
) -> Section:
    """Return a row for each document that moved in the queries that gained and lost most."""
    rows = []
    for detail in details:
        change = detail.change
        values = f"{figure(change.before)} → {figure(change.after)} ({change.difference:+.4f})"
        query = f"{change.query_id} {topics.get(change.query_id, '')}".strip()
        for number, move in enumerate(detail.moves):
            rank = f"{move.before or '–'}\u00a0→\u00a0{move.after or '–'}"
            label = "unjudged" if move.label is None else str(move.label)
            document = f"{move.doc_id} {_excerpt(documents.get(move.doc_id, ''))}"
            rows.append(["" if number else f"{detail.run}: {values}, {query}", rank, label, document])
    text = f"Queries that gained and lost most against {comparison.baseline}; relevant documents that moved come first."
    header = [f"run: {comparison.measures[0]}, query", "rank", "label", "document"]
    return Section("Gains and losses", [text], rows, header, len(header))


def _excerpt(text: str) -> str:
    """Return the beginning of a document on one line."""
    words = " ".join(text.split())
    return words if len(words) <= EXCERPT else words[: EXCERPT - 1] + "…"


def _every_query(comparison: Comparison, topics: Mapping[str, str]) -> Section:
    """Return the first measure of every query in every run."""
    measure = comparison.measures[0]
    per_query = [result.per_query[measure] for result in comparison.results.values()]
    rows = []
    for query_id in sorted(set().union(*per_query)):
        values = [figure(of_run[query_id]) if query_id in of_run else "–" for of_run in per_query]
        text = [topics.get(query_id, "")] if topics else []
        rows.append([query_id, *text, *values])
    named = ["query", "text"] if topics else ["query"]
    return Section("Every query", [f"{measure}."], rows, [*named, *comparison.results], len(named))

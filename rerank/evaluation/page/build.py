"""The page of a comparison: heading, summary, figures, queries and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rerank.evaluation.comparison import (
    DIFFERENCE_HEADER,
    Comparison,
    Move,
    QueryDetail,
    difference_cells,
    excerpt,
    figure,
    notes,
    p_text,
    rank_text,
)
from rerank.evaluation.page.figures import (
    Element,
    bars_by_query,
    captioned,
    element,
    folded,
    key,
    page_text,
    row_chart,
    scrolling,
    section,
    table,
)

EXCERPT = 150  # characters of a document


def query_articles(
    comparison: Comparison, details: Sequence[QueryDetail], documents: Mapping[str, str]
) -> list[Element]:
    """Return the articles of the queries, grouped by run."""
    articles_by_run = []
    for run in comparison.systems:
        details_of_run = [detail for detail in details if detail.run == run]
        if details_of_run:
            articles_by_run.append(element("h3", f"{run} against {comparison.baseline}"))
            articles = [_article(comparison, detail, documents) for detail in details_of_run]
            articles_by_run.append(element("div", articles, class_="grid"))
    return articles_by_run


def every_query(comparison: Comparison, topics: Mapping[str, str]) -> Element:
    """Return a collapsed table of the first measure of every query in every run."""
    measure = comparison.measures[0]
    runs = list(comparison.results)
    per_query = [comparison.results[run].per_query[measure] for run in runs]
    query_ids = sorted({query_id for values in per_query for query_id in values})
    rows: list[list[str | Element]] = [
        [
            query_id,
            *([topics.get(query_id, "")] if topics else []),
            *(figure(values[query_id]) if query_id in values else "–" for values in per_query),
        ]
        for query_id in query_ids
    ]
    header = ["query", *(["text"] if topics else []), *runs]
    figures = table(header, rows, n_left=2 if topics else 1)
    return folded(f"{measure} of {len(rows)} queries", scrolling(figures, f"{measure} of every query."))


def _article(comparison: Comparison, detail: QueryDetail, documents: Mapping[str, str]) -> Element:
    change = detail.change
    side = "gain" if change.difference > 0 else "loss"
    heading = element(
        "h4",
        element("span", f"{change.difference:+.4f}", class_=f"delta {side}"),
        f" {detail.text or change.query_id}",
    )
    prefix = f"query {change.query_id}: " if detail.text else ""
    before = f"{figure(change.before)} in {comparison.baseline}"
    after = f"{figure(change.after)} in {detail.run}"
    caption = f"{prefix}{detail.measure} {before}, {after}"
    rows = [[_rank(move), _label(move), _document(move, documents)] for move in detail.moves]
    moved = table(["rank", "label", "document"], rows, n_left=3)
    caption += ". Documents that moved, relevant ones first:"
    return element("article", heading, element("p", caption, class_="quiet"), moved)


def _rank(move: Move) -> Element:
    before, after = (float("inf") if rank is None else rank for rank in (move.before, move.after))
    return element("span", rank_text(move), class_=f"move {'up' if after < before else 'down'}")


def _label(move: Move) -> Element:
    judged = move.label is not None
    style = "relevant" if judged and (move.label or 0) > 0 else "other"
    return element(
        "span", str(move.label) if judged else "–", class_=f"label {style}", title=None if judged else "unjudged"
    )


def _document(move: Move, documents: Mapping[str, str]) -> Element:
    shown = excerpt(documents, move.doc_id, EXCERPT)
    return element("div", element("code", move.doc_id), element("p", shown, class_="excerpt") if shown else None)


def html_page(
    title: str,
    comparison: Comparison,
    details: Sequence[QueryDetail] = (),
    documents: Mapping[str, str] | None = None,
    topics: Mapping[str, str] | None = None,
) -> str:
    """Return the page of a comparison as text; figures are formatted as by `render`, empty parts are left out.

    details    queries that gained and lost most
    documents  texts by document id
    topics     texts by query id
    """
    subtitle = f"{len(comparison.results[comparison.baseline].query_ids)} queries"
    if comparison.systems:
        subtitle += f", {len(comparison.results)} runs, compared with {comparison.baseline}"
    cards = element("div", [_card(comparison, name) for name in comparison.results], class_="cards")
    sections = [section("summary", "Summary", cards, _means(comparison))]
    if comparison.pairs:
        figures = _difference_figures(comparison, topics or {})
        sections.append(section("differences", "Differences", figures, _difference_table(comparison)))
    if details:
        articles = query_articles(comparison, details, documents or {})
        sections.append(section("queries", "Gains and losses", articles))
    rules = element("ul", [element("li", line) for line in notes(comparison)])
    sections += [
        section("all", "Every query", every_query(comparison, topics or {})),
        section("notes", "What the figures rest on", rules),
    ]
    return page_text(title, subtitle, sections)


def _interval_figures(comparison: Comparison) -> list[Element]:
    """Return a chart of the differences to the baseline, with intervals, for each measure in which a query differs."""
    figures: list[Element] = []
    for measure in comparison.compared:
        differences = {run: comparison.differences[run][measure] for run in comparison.systems}
        if all(paired.ties == paired.n_queries for paired in differences.values()):
            continue
        rows = [(run, paired.difference) for run, paired in differences.items()]
        intervals = [
            (paired.low, paired.high, comparison.is_significant(run, measure)) for run, paired in differences.items()
        ]
        description = "; ".join(
            f"{run} {paired.difference:+.4f} ({paired.low:+.4f} to {paired.high:+.4f})"
            for run, paired in differences.items()
        )
        title = f"{measure}: difference to {comparison.baseline}"
        name = f"interval{len(figures)}"
        chart = row_chart(name, title, description, rows, f"difference in {measure}", intervals)
        figures.append(captioned(chart, f"{title} with its 95 % interval; a full dot is significant."))
    return figures


def _query_figure(comparison: Comparison, run: str, number: int, topics: Mapping[str, str]) -> Element:
    """Return a bar chart of the gain or loss of each query under the first measure that is compared."""
    measure = comparison.compared[0]
    paired = comparison.differences[run][measure]
    bars = [
        (f"{change.query_id} {topics.get(change.query_id, '')}: {change.difference:+.4f}", change.difference)
        for change in comparison.changes(run, measure)
    ]
    counts = f"{paired.wins} queries won, {paired.ties} tied, {paired.losses} lost; mean {paired.difference:+.4f}"
    title = f"{measure} by query, {run} minus {comparison.baseline}"
    chart = bars_by_query(f"queries{number}", title, counts, bars, f"difference in {measure}")
    return captioned(chart, f"{title}: {counts}. Its figures are under Every query.")


def _card(comparison: Comparison, name: str) -> Element:
    """Return the first measure of a run, in large type."""
    measure = comparison.measures[0]
    number = list(comparison.results).index(name)
    parts = [
        element("h3", key(name, number), class_="keys"),
        element("p", element("strong", figure(comparison.results[name][measure])), f" {measure}", class_="big"),
    ]
    if (name, measure) in comparison.pairs:
        difference = comparison.differences[name][measure]
        p_value = comparison.p_values[name][measure]
        side = "" if not comparison.is_significant(name, measure) else "gain" if difference.difference > 0 else "loss"
        parts.append(
            element(
                "p",
                element("span", f"{difference.difference:+.4f}", class_=f"delta {side}"),
                f" ({difference.low:+.4f} to {difference.high:+.4f}), ",
                element("span", f"p {_with_sign(p_text(p_value))}", class_="delta plain"),
            )
        )
        parts.append(
            element("p", f"{difference.wins} won, {difference.ties} tied, {difference.losses} lost", class_="quiet")
        )
    elif name == comparison.baseline and comparison.systems:
        parts.append(element("p", "baseline", class_="quiet"))
    return element("div", parts, class_="card")


def _with_sign(p_value: str) -> str:
    return p_value.replace("<", "< ") if p_value.startswith("<") else f"= {p_value}"


def _means(comparison: Comparison) -> Element:
    best = {
        measure: max(figure(result[measure]) for result in comparison.results.values())
        for measure in comparison.measures
    }
    rows: list[list[str | Element]] = [
        [name, *(_mean(comparison, name, measure, best[measure]) for measure in comparison.measures)]
        for name in comparison.results
    ]
    caption = "Mean of each measure; the best in bold"
    legend = "; ▲ better and ▼ worse than the baseline, corrected p below 0.05" if comparison.pairs else ""
    return scrolling(table(["run", *comparison.measures], rows), caption + legend + ".")


def _mean(comparison: Comparison, name: str, measure: str, best: str) -> Element:
    value = figure(comparison.results[name][measure])
    cell = element("span", element("strong", value) if value == best else value)
    if (name, measure) in comparison.pairs and comparison.is_significant(name, measure):
        better = comparison.differences[name][measure].difference > 0
        sign = element("span", "▲" if better else "▼", class_=f"mark {'gain' if better else 'loss'}")
        return element("span", cell, sign)
    return cell


def _difference_figures(comparison: Comparison, topics: Mapping[str, str]) -> Element:
    bars = [_query_figure(comparison, run, number, topics) for number, run in enumerate(comparison.systems)]
    intervals = element("div", _interval_figures(comparison), class_="grid three")
    return element("div", intervals, element("div", bars, class_="grid"))


def _difference_table(comparison: Comparison) -> Element:
    rows = [difference_cells(comparison, *pair) for pair in comparison.pairs]
    return scrolling(table(DIFFERENCE_HEADER, rows, n_left=2), f"Difference to {comparison.baseline}.")

"""The queries of the page: those that changed most, with their documents, and a table of all queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rerank.evaluation.comparison import Comparison, Move
from rerank.evaluation.details import QueryDetail
from rerank.evaluation.page.markup import Element, element
from rerank.evaluation.page.tables import folded, scrolling, table
from rerank.evaluation.report import figure, rank_text

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
    measure, runs = comparison.measures[0], list(comparison.results)
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
    before, after = f"{figure(change.before)} in {comparison.baseline}", f"{figure(change.after)} in {detail.run}"
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
    text = " ".join(documents.get(move.doc_id, "").split())
    shown = text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"
    return element("div", element("code", move.doc_id), element("p", shown, class_="excerpt") if shown else None)

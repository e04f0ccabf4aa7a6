"""An explanation as a self-contained HTML page and as a plot."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from rerank.evaluation.page.charts import difference_list
from rerank.evaluation.page.markup import Element, element, page_text, scrolling, section, table
from rerank.rankers.plots import BAR_COLOR, ROW_HEIGHT, new_axes
from rerank.workflows.explanation_words import bars, number, table_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rerank.workflows.explanation import ExplainedDocument, Explanation

BARS = 15
LOSS_COLOR = "#aa3377"


def html_page(explanation: Explanation) -> str:
    """Return the page as text."""
    sentences = explanation.sentences()[1:]  # the ranks are on the cards
    cards = element("div", [_card(explanation, document) for document in explanation.documents], class_="cards")
    words = element("div", [element("p", sentence) for sentence in sentences], class_="words")
    sections = [section("summary", "Summary", cards, words)]
    if bars(explanation, BARS):
        sections.append(section("chart", "Largest contributions", _chart(explanation)))
    sections += [
        section("contributions", "Contributions", _contributions(explanation)),
        section("features", "Meaning of the features", _meanings(explanation)),
    ]
    return page_text(explanation.title, f"Query {explanation.query_id}: {explanation.query}", sections)


def plot(explanation: Explanation, ax: Axes | None) -> Axes:
    """Implement `Explanation.plot`."""
    rows = bars(explanation, BARS)[::-1]
    axes = ax or new_axes(ROW_HEIGHT * max(len(rows), 3) + 1.2)
    values = [value for _, value in rows]
    axes.barh(range(len(rows)), values, color=[BAR_COLOR if value > 0 else LOSS_COLOR for value in values])
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], parse_math=False)
    axes.axvline(0.0, color="grey", linewidth=0.8)
    axes.set_xlabel(_axis_label(explanation), parse_math=False)
    axes.set_title(explanation.title, parse_math=False)
    return axes


def png(explanation: Explanation) -> bytes:
    """Implement `Explanation.to_png`."""
    axes = plot(explanation, None)
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    content, figure = BytesIO(), axes.get_figure()
    if isinstance(figure, Figure):
        figure.savefig(content, format="png", dpi=150)
        pyplot.close(figure)
    return content.getvalue()


def _card(explanation: Explanation, document: ExplainedDocument) -> Element:
    """Return a document's score in large type, with its ranks."""
    if not document.doc_id:
        ranks = f"{explanation.n_candidates} candidates"
    else:
        ranks = f"rank {document.rank_before} before, rank {document.rank_after} after reranking"
    return element(
        "div",
        element("h3", document.doc_id or "Mean of the candidates", class_="keys"),
        element("p", element("strong", number(document.score)), " score", class_="big"),
        element("p", ranks, class_="quiet"),
        class_="card",
    )


def _chart(explanation: Explanation) -> Element:
    rows = bars(explanation, BARS)
    description = ", ".join(f"{name} {value:+.4g}" for name, value in rows)
    chart = difference_list("contributions-chart", explanation.title, description, rows, _axis_label(explanation))
    first, second = (document.doc_id or "the mean" for document in explanation.documents)
    caption = f"What each feature adds to the score of {first} minus that of {second}."
    return element("figure", element("figcaption", caption), chart)


def _axis_label(explanation: Explanation) -> str:
    first, second = explanation.documents
    label = f"contribution to {first.label} minus {second.label}"
    return label if len(label) <= 60 else "difference of the contributions"


def _contributions(explanation: Explanation) -> Element:
    header, rows = table_rows(explanation)
    caption = "Values of the features, what they add to each score, and the difference; the columns sum to the scores."
    return scrolling(table(header, rows), caption)


def _meanings(explanation: Explanation) -> Element:
    rows = [[feature.name, feature.meaning, feature.unit] for feature in explanation.features]
    return scrolling(table(["feature", "meaning", "unit"], rows, n_left=3), "All features of the model.")

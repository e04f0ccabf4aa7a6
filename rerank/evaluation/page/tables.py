"""Tables of the page: a caption, headings with a scope, and room to scroll where they are wide."""

from __future__ import annotations

from collections.abc import Sequence

from rerank.evaluation.page.markup import Element, element


def table(header: Sequence[str], rows: Sequence[Sequence[str | Element]], caption: str, n_left: int = 1) -> Element:
    """Return a table; the first `n_left` columns are text and stand left, the others are figures and stand right."""
    head = [element("th", said, scope="col", class_=_side(place, n_left)) for place, said in enumerate(header)]
    body = [element("tr", [_cell(cell, place, n_left) for place, cell in enumerate(row)]) for row in rows]
    return element("table", element("caption", caption), element("thead", element("tr", head)), element("tbody", body))


def scrolling(content: Element, name: str) -> Element:
    """Return a wide table in a box that scrolls by itself, by keyboard too, so that the page does not."""
    return element("div", content, class_="scroll", role="region", tabindex=0, aria_label=name)


def folded(summary: str, content: Element) -> Element:
    """Return content that opens when asked for."""
    return element("details", element("summary", summary), content)


def _cell(cell: str | Element, place: int, n_left: int) -> Element:
    if place == 0:
        return element("th", cell, scope="row")
    return element("td", cell, class_=_side(place, n_left))


def _side(place: int, n_left: int) -> str | None:
    return None if place < n_left else "figure"

"""Tables of the page: headings with a scope, and room to scroll where they are wide."""

from __future__ import annotations

from collections.abc import Sequence

from rerank.evaluation.page.markup import Element, element


def table(header: Sequence[str], rows: Sequence[Sequence[str | Element]], n_left: int = 1) -> Element:
    """Return a table; the first `n_left` columns are text and stand left, the others are figures and stand right."""
    head = [element("th", said, scope="col", class_=_side(place, n_left)) for place, said in enumerate(header)]
    body = [element("tr", [_cell(cell, place, n_left) for place, cell in enumerate(row)]) for row in rows]
    return element("table", element("thead", element("tr", head)), element("tbody", body))


def scrolling(content: Element, caption: str) -> Element:
    """Return a caption, and a table in a box that scrolls by itself where it is wide, by keyboard too."""
    box = element("div", content, class_="scroll", role="region", tabindex=0, aria_label=caption)
    return element("div", element("p", caption, class_="caption"), box, class_="tabled")


def folded(summary: str, content: Element) -> Element:
    """Return content that opens when asked for."""
    return element("details", element("summary", summary), content)


def _cell(cell: str | Element, place: int, n_left: int) -> Element:
    if place == 0:
        return element("th", cell, scope="row")
    return element("td", cell, class_=_side(place, n_left))


def _side(place: int, n_left: int) -> str | None:
    return None if place < n_left else "figure"

"""Tables of the page: header cells with a scope, and scrolling of wide tables."""

from __future__ import annotations

from collections.abc import Sequence

from rerank.evaluation.page.markup import Element, element


def table(header: Sequence[str], rows: Sequence[Sequence[str | Element]], n_left: int = 1) -> Element:
    """Return a table; the first `n_left` columns are left-aligned text, the others right-aligned figures."""
    head = [element("th", title, scope="col", class_=_side(column, n_left)) for column, title in enumerate(header)]
    body = [element("tr", [_cell(cell, column, n_left) for column, cell in enumerate(row)]) for row in rows]
    return element("table", element("thead", element("tr", head)), element("tbody", body))


def scrolling(content: Element, caption: str) -> Element:
    """Return a caption and a table in a box that scrolls if it is wide, by keyboard too."""
    box = element("div", content, class_="scroll", role="region", tabindex=0, aria_label=caption)
    return element("div", element("p", caption, class_="caption"), box, class_="tabled")


def folded(summary: str, content: Element) -> Element:
    """Return collapsed content."""
    return element("details", element("summary", summary), content)


def _cell(cell: str | Element, column: int, n_left: int) -> Element:
    if column == 0:
        return element("th", cell, scope="row")
    return element("td", cell, class_=_side(column, n_left))


def _side(column: int, n_left: int) -> str | None:
    return None if column < n_left else "figure"

"""HTML and SVG as trees of elements, in which all text is escaped; tables, sections and the frame of a page.

The page is one file that loads and runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from xml.etree.ElementTree import Element as Element
from xml.etree.ElementTree import tostring

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # characters that HTML does not allow


def element(tag: str, *content: Element | str | Iterable[Element] | None, **attributes: object) -> Element:
    """Return an element.

    content     elements, texts, or sequences of elements; None is left out
    attributes  `class_` and `stroke_width` become `class` and `stroke-width`; None is left out
    """
    names = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    node = Element(tag, {name: _clean(str(value)) for name, value in names.items()})
    for part in content:
        if isinstance(part, str):
            _append_text(node, _clean(part))
        elif isinstance(part, Element):
            node.append(part)
        elif part is not None:
            node.extend(part)
    return node


def document_text(root: Element) -> str:
    """Return a whole HTML page; `<style>` is not escaped, all other text is."""
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html") + "\n"


def _append_text(node: Element, text: str) -> None:
    if len(node):
        node[-1].tail = (node[-1].tail or "") + text
    else:
        node.text = (node.text or "") + text


def _clean(text: str) -> str:
    return _NO_TEXT.sub("\ufffd", text)


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


# The browser loads nothing and runs nothing, whatever the text of a topic or a document.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def style_sheet() -> str:
    """Return the style of pages and of charts."""
    return files(__package__).joinpath("style.css").read_text("utf8")


def page_text(title: str, subtitle: str, sections: Sequence[Element]) -> str:
    """Return a whole page of sections, with links to them under its heading."""
    links = [element("a", part[0].text or "", href=f"#{part.get('id')}") for part in sections]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", style_sheet()),
    )
    heading = element(
        "header",
        element("h1", title),
        element("p", subtitle, class_="subtitle"),
        element("nav", links, aria_label="Sections"),
    )
    return document_text(element("html", head, element("body", heading, element("main", sections)), lang="en"))


def section(name: str, title: str, *content: Element | Sequence[Element]) -> Element:
    """Return a section with a heading; `name` is its id."""
    return element("section", element("h2", title), *content, id=name)

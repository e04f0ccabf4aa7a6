"""The frame of a page: head, style, heading and sections. The page is one file that loads and runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from rerank.evaluation.page.markup import Element, document_text, element

# The browser loads nothing and runs nothing, whatever the text of a topic or a document.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page_text(title: str, subtitle: str, sections: Sequence[Element]) -> str:
    """Return a whole page of sections, with links to them under its heading."""
    links = [element("a", part[0].text or "", href=f"#{part.get('id')}") for part in sections]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", files(__package__).joinpath("style.css").read_text("utf8")),
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

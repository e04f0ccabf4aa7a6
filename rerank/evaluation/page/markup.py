"""HTML and SVG as trees of elements: what is text is escaped, by construction."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring

__all__ = ["Element", "document_text", "element"]

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")  # what no HTML file may hold


def element(tag: str, *content: Element | str | Iterable[Element] | None, **attributes: object) -> Element:
    """Return an element.

    content     elements, texts, or sequences of elements; None is left out
    attributes  `class_` and `stroke_width` stand for `class` and `stroke-width`; None is left out
    """
    given = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    made = Element(tag, {name: _clean(str(value)) for name, value in given.items()})
    for part in content:
        if isinstance(part, str):
            _append_text(made, _clean(part))
        elif isinstance(part, Element):
            made.append(part)
        elif part is not None:
            made.extend(part)
    return made


def document_text(root: Element) -> str:
    """Return a whole HTML page; `<style>` is written as it is, all other text is escaped."""
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html") + "\n"


def _append_text(made: Element, text: str) -> None:
    if len(made):
        made[-1].tail = (made[-1].tail or "") + text
    else:
        made.text = (made.text or "") + text


def _clean(text: str) -> str:
    return _NO_TEXT.sub("\ufffd", text)

"""HTML and SVG as trees of elements, in which all text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring

__all__ = ["Element", "document_text", "element"]

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

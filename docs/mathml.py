"""MkDocs hook: equations between dollar signs become MathML, which browsers draw without scripts or fonts."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
BLOCK = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
INLINE = re.compile(r"(?<![\\$])\$(?![\s$])([^$\n]+?)(?<!\s)\$")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with its equations as MathML; code is left as it is."""
    parts = CODE.split(markdown)
    return "".join(part if number % 2 else _equations(part) for number, part in enumerate(parts))


def _equations(text: str) -> str:
    return INLINE.sub(lambda match: convert(match[1]), BLOCK.sub(_block, text))


def _block(match: re.Match[str]) -> str:
    """Return an equation on a line of its own, which scrolls where it is wider than its column."""
    return f"\n\n<div class='equation'>{convert(match[1].strip(), display='block')}</div>\n\n"

"""Comments and tags in text that is neither XML nor HTML."""

from __future__ import annotations

import re

_COMMENT_OR_TAG = re.compile(r"<!--.*?-->|<[^<>]*>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_NO_LINE_END = re.compile(r"[^\n]")


def without_markup(text: str) -> str:
    """Return the text with blanks for comments and tags; line ends stay."""
    end = text.rfind("-->") + 3  # a comment that is not closed would be looked for to the end of the text
    end = 0 if end < 3 else end
    return _COMMENT_OR_TAG.sub(_blanked, text[:end]) + _TAG.sub(_blanked, text[end:])


def _blanked(markup: re.Match[str]) -> str:
    return _NO_LINE_END.sub(" ", markup[0])

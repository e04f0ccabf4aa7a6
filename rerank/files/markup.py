"""Text between the tags of SGML and XML."""

import re
from pathlib import Path

from rerank.errors import FileFormatError, shown

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_NO_LINE_END = re.compile(r"[^\n]")


def without_comments(text: str) -> str:
    """Return the text with blanks for comments; line ends stay."""
    closed, mark, rest = text.rpartition("-->")  # a comment that is not closed would be looked for to the end
    return _COMMENT.sub(_blanked, closed + mark) + rest


def without_markup(text: str) -> str:
    """Return the text with blanks for comments and tags; line ends stay."""
    return _TAG.sub(_blanked, without_comments(text))


def refuse_stray(path: Path, line: int, between: str, expected: str, remedy: str, blanks: str | None = None) -> None:
    """Refuse text other than comments, tags and blanks in what begins in a line."""
    bare = without_markup(between)
    stray = bare.lstrip(blanks)
    if stray:
        first = line + bare.count("\n", 0, len(bare) - len(stray))
        raise FileFormatError(path, first, f"expected {expected}, got {shown(stray.splitlines()[0])}. {remedy}.")


def _blanked(markup: re.Match[str]) -> str:
    return _NO_LINE_END.sub(" ", markup[0])

"""Passages: windows of so many words of a document, a new one every so many words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from rerank.errors import InvalidInputError, shown

MOST_WORDS = 100_000  # of a window
PASSAGE_RULE = f"words of a window and words from one to the next, 1 <= STRIDE <= WINDOW <= {MOST_WORDS:,}"
PASSAGE_EXAMPLE = "Write WINDOW/STRIDE, e.g. 200/100."
_FORM = re.compile(r"([0-9]{1,6})/([0-9]{1,6})", re.ASCII)


@dataclass(frozen=True)
class Passages:
    """How documents are cut into passages.

    Parameters
    ----------
    window : int, default=200
        Words of a passage.
    stride : int, default=100
        Words from the beginning of a passage to that of the next one; at most `window`, so that every word is in one.

    Raises
    ------
    InvalidInputError
        If the stride is not from 1 to the window, or the window above 100,000.

    """

    window: int = 200
    stride: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.stride <= self.window <= MOST_WORDS:
            raise InvalidInputError(f"passages: expected {PASSAGE_RULE}, got {shown(str(self))}. {PASSAGE_EXAMPLE}")

    def __str__(self) -> str:
        return f"{self.window}/{self.stride}"

    @classmethod
    def parse(cls, text: str) -> Passages:
        """Return the passages of a text such as "200/100", the inverse of `str`.

        Parameters
        ----------
        text : str
            Window and stride.

        Returns
        -------
        Passages
            The passages.

        Raises
        ------
        InvalidInputError
            If the text is none.

        """
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise InvalidInputError(f"passages: expected {PASSAGE_RULE}, got {shown(text)}. {PASSAGE_EXAMPLE}")
        return cls(int(found[1]), int(found[2]))


class Passage(NamedTuple):
    """A passage of a document.

    Attributes
    ----------
    text : str
        Its text; empty where the document has none.
    score : float
        BM25 of the passage for the query; 0 where it holds no word of the query.
    begin, end : int
        The characters of the field that it consists of, from `begin` to before `end`.

    """

    text: str
    score: float
    begin: int
    end: int

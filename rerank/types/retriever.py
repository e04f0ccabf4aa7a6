"""What is retrieved, and by what: the retriever of a run, and the passages of documents.

The retriever is parsed from the name of a run: the tag (sixth column) of a TREC run, `run.name` in Python.

bm25-k1=0.9-b=0.4               BM25 of this package on the whole document
bm25-k1=0.9-b=0.4-field=title   BM25 on one field, whose name is percent-encoded
any other word                  another system, whose parameters are unknown

A passage is a window of WINDOW words of a document; the next one begins STRIDE words after it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field as dataclass_field, replace
from typing import Any, NamedTuple, Self
from urllib.parse import quote, unquote

from rerank.errors import InvalidInputError, shown
from rerank.runtime.fields import Field, Table, Text, Whole

BM25 = "bm25"
CONTENTS = "contents"
UNNAMED = "rerank"  # default name of a run, e.g. of a plain mapping
K1 = 0.9  # BM25's parameters in Anserini
B = 0.4
MOST_DOCUMENTS = 2**31 - 1
_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_SUFFIX = re.compile(rf"-k1=({_NUMBER})-b=({_NUMBER})(?:-field=(\S+))?")


@dataclass(frozen=True)
class Retriever:
    """What retrieved a run.

    Parameters
    ----------
    name : str
        "bm25", or the tag of another system.
    k1, b : float or None
        Parameters of BM25; None for another system.
    field : str
        The indexed field that was searched; `contents` is the whole document.
    depth : int or None
        Number of documents of a query, where it is known. It has no effect on scores, and so none on `==`.

    """

    name: str
    k1: float | None = None
    b: float | None = None
    field: str = CONTENTS
    depth: int | None = dataclass_field(default=None, compare=False)

    @classmethod
    def bm25(cls, k1: float, b: float, field: str = CONTENTS) -> Self:
        """Return BM25 with its parameters."""
        return cls(BM25, float(k1), float(b), field)

    @classmethod
    def of_tag(cls, tag: str) -> Self:
        """Return the retriever that a run's tag describes."""
        match = _SUFFIX.fullmatch(tag.removeprefix(BM25)) if tag.startswith(BM25) else None
        if match is None or math.isinf(float(match[1])) or math.isinf(float(match[2])):
            return cls(tag)
        return cls.bm25(*bm25_parameters(match[0]))

    @property
    def known(self) -> bool:
        """Whether the parameters are known."""
        return self.k1 is not None

    def __str__(self) -> str:
        """Return the tag, one word: `of_tag` is its inverse."""
        return self.name if self.k1 is None else f"{self.name}{bm25_suffix(self.k1, self.b or 0.0, self.field)}"


def bm25_suffix(k1: float, b: float, field: str) -> str:
    """Return the parameters of BM25 as the end of a tag."""
    return f"-k1={k1!r}-b={b!r}" + ("" if field == CONTENTS else f"-field={quote(field, safe='')}")


def bm25_parameters(suffix: str) -> tuple[float, float, str]:
    """Return k1, b and field of the end of a tag; the defaults for another text."""
    match = _SUFFIX.fullmatch(suffix)
    return (K1, B, CONTENTS) if match is None else (float(match[1]), float(match[2]), unquote(match[3] or CONTENTS))


def retriever_members(retriever: Retriever | None, run_retrievers: Mapping[str, Retriever]) -> dict[str, Any]:
    """Return the retrievers of data or of a model as tags, as files store them; an unknown one has no key.

    The number of documents of a query, where it is known, follows the tag of `retriever` after a space. That of other
    runs is not stored: it has no effect.
    """
    members: dict[str, Any] = {}
    if retriever is not None:
        members["retriever"] = str(retriever) if retriever.depth is None else f"{retriever} {retriever.depth}"
    if run_retrievers:
        members["run_retrievers"] = {name: str(other) for name, other in run_retrievers.items()}
    return members


class Tag(Field):
    """The tag of a run, and the number of documents of a query."""

    def read(self, value: Any) -> Retriever:
        """Return the retriever."""
        tag, space, depth = Text().read(value).partition(" ")
        if not space:
            return Retriever.of_tag(tag)
        number = int(depth) if depth.isascii() and depth.isdigit() and len(depth) <= len(str(MOST_DOCUMENTS)) else None
        return replace(Retriever.of_tag(tag), depth=Whole(1, MOST_DOCUMENTS).read(number))


RETRIEVERS: dict[str, Field] = {"retriever": Tag(), "run_retrievers": Table(Tag())}


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
        if _FORM.fullmatch(str(self)) is None or not 1 <= int(self.stride) <= int(self.window) <= MOST_WORDS:
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
            If the text has another form.

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
        Its first character in the field, and the character after its last one.

    """

    text: str
    score: float
    begin: int
    end: int

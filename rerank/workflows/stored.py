"""Stored documents: their fields, excerpts, and where the words of a query are in them."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rerank.types.retriever import CONTENTS

TITLES = ("title", "name", "headline")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
Spans = list[list[int]]
Analyse = Callable[[Sequence[str]], list[list[str]]]


def stored_fields(raw: str | None) -> dict[str, Any]:
    """Return the fields of a document as the index stores it: JSON, or markup, which is `contents`."""
    if raw is None:
        return {}
    try:
        document = json.loads(raw, parse_constant=lambda name: None)  # answers are JSON, which has no NaN
    except ValueError:
        return {CONTENTS: raw}
    return document if isinstance(document, dict) else {CONTENTS: raw}


def chosen_fields(document: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return those of the fields that the document has; lists of texts are joined."""
    chosen = {name: document[name] for name in names if name in document}
    return {name: " ".join(map(str, value)) if isinstance(value, list) else value for name, value in chosen.items()}


def title_and_body(document: Mapping[str, Any]) -> tuple[str, str]:
    """Return the title of a document in one line, and the longest of its other texts; "" where it has none."""
    texts = {name: text for name, text in document.items() if isinstance(text, str)}
    title = next((name for name in TITLES if name in texts), "")
    body = max((text for name, text in texts.items() if name not in ("id", title)), key=len, default="")
    return one_line(texts.get(title, "")), body


def marked(text: str, spans: Spans) -> str:
    """Return a text in one line, with asterisks around its matches."""
    for begin, end in reversed(spans):
        text = f"{text[:begin]}*{text[begin:end]}*{text[end:]}"
    return one_line(text)


def one_line(text: str) -> str:
    """Return a text in one line, with blanks for what a terminal would not print."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


class Matcher:
    """Finds the words of a text that the index's analyser maps to a term of the query.

    Parameters
    ----------
    analyse : callable
        Returns the terms of each text, see `Searcher.analyze`.
    texts : iterable of str
        All texts that will be asked about: their words are analysed in one call.

    """

    def __init__(self, analyse: Analyse, texts: Iterable[str]) -> None:
        words = sorted({word.casefold() for text in texts for word in _WORD.findall(text)})
        self._terms = dict(zip(words, map(frozenset, analyse(words)), strict=True)) if words else {}

    def spans(self, text: str, terms: frozenset[str]) -> Spans:
        """Return `[begin, end)` of each word, in characters, that has a term of the query."""
        spans: Spans = []
        for word in _WORD.finditer(text):
            own = self._terms[word.group().casefold()]
            if own <= terms and own:
                spans.append([word.start(), word.end()])
            elif own & terms:
                spans += _parts(word, own & terms)
        return spans


def _parts(word: re.Match[str], terms: frozenset[str]) -> Spans:
    """Return the parts of a run of letters that are terms, as in languages without spaces."""
    text, marked = word.group().casefold(), set[int]()
    for term in terms:
        for part in re.finditer(f"(?={re.escape(term)})", text):
            marked.update(range(part.start(), part.start() + len(term)))
    if not marked or len(text) != len(word.group()):
        return [[word.start(), word.end()]]
    begins = sorted(number for number in marked if number - 1 not in marked)
    ends = sorted(number + 1 for number in marked if number + 1 not in marked)
    return [[word.start() + begin, word.start() + end] for begin, end in zip(begins, ends, strict=True)]


def excerpt(text: str, spans: Spans, longest: int) -> tuple[str, Spans]:
    """Return the part of a text, of at most `longest` characters, that has most matches, and the matches in it."""
    if not longest or len(text) <= longest:
        return text, spans
    margin = longest // 8
    begins, ends = [begin for begin, _ in spans], [end for _, end in spans]
    starts = [0, *(max(0, begin - margin) for begin in begins)]
    counts = [bisect_right(ends, start + longest) - bisect_left(begins, start) for start in starts]
    first = min(starts[counts.index(max(counts))], len(text) - longest)
    if first > 0:  # not in the middle of a word
        space = text.find(" ", first, first + margin + 1)
        first = space + 1 if space >= 0 else first
    last = first + longest
    if last < len(text):
        space = text.rfind(" ", last - margin, last)
        last = space if space >= 0 else last
    return text[first:last], [[begin - first, end - first] for begin, end in spans if first <= begin and end <= last]

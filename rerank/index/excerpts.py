"""What is shown of a stored document: chosen fields, a title, and the excerpt with the most words of the query."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rerank.index.bound_index import BoundIndex
from rerank.index.texts import TITLES

_WORD = re.compile(r"\w+(?:['’]\w+)*")
Spans = list[list[int]]
_SENTENCE = re.compile(r"[.?!]\s+")  # the end of a sentence, up to the next one
# Before an excerpt that begins inside a sentence, and after one that ends before the end of the text.
_LEFT_OUT = "… ", " …"


def chosen_fields(document: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the named fields that the document has, in the order of the names; lists are joined by spaces."""
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


def marked_excerpts(index: BoundIndex, query: str, texts: Sequence[str], longest: int) -> list[str]:
    """Return the part of each text, of at most `longest` characters, that has most words of a query, marked."""
    terms = frozenset(index.searcher.analyze([query])[0])
    matcher = Matcher(index.searcher.analyze, texts)
    return [marked(*excerpt(text, matcher.spans(text, terms), longest)) for text in texts]


class Matcher:
    """Finds the words of a text that the index's analyser maps to a term of the query.

    Parameters
    ----------
    analyse : callable
        Returns the terms of each text, see `Searcher.analyze`.
    texts : iterable of str
        All texts that will be asked about: their words are analysed in one call.

    """

    def __init__(self, analyse: Callable[[Sequence[str]], list[list[str]]], texts: Iterable[str]) -> None:
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
    """Return `[begin, end)` of each part of a word that is made of terms, as in languages without spaces."""
    text = word.group().casefold()
    covered = set[int]()
    for term in terms:
        for part in re.finditer(f"(?={re.escape(term)})", text):
            covered.update(range(part.start(), part.start() + len(term)))
    if not covered or len(text) != len(word.group()):
        return [[word.start(), word.end()]]
    begins = sorted(number for number in covered if number - 1 not in covered)
    ends = sorted(number + 1 for number in covered if number + 1 not in covered)
    return [[word.start() + begin, word.start() + end] for begin, end in zip(begins, ends, strict=True)]


def excerpt(text: str, spans: Spans, longest: int) -> tuple[str, Spans]:
    """Return the part of a text, of at most `longest` characters, that has most matches, and the matches in it.

    The part starts at the start of a sentence if there is one near the matches. "…" marks text that is left out.
    """
    if not longest or len(text) <= longest:
        return text, spans
    before, after = _LEFT_OUT if longest > 8 else ("", "")
    size = longest - len(before + after)
    margin = size // 8
    begins = [begin for begin, _ in spans]
    ends = [end for _, end in spans]
    starts = [0, *(_sentence(text, begin, size // 2, margin) for begin in begins)]
    counts = [bisect_right(ends, start + size) - bisect_left(begins, start) for start in starts]
    first = starts[max(range(len(starts)), key=lambda number: (counts[number], _begins_sentence(text, starts[number])))]
    if first > len(text) - size:
        found = _SENTENCE.search(text, len(text) - size, first)
        first = found.end() if found else len(text) - size
    if _begins_sentence(text, first):
        before = ""
    elif text[first - 1] != " ":  # begin at the next word
        space = text.find(" ", first, first + margin + 1)
        first = space + 1 if space >= 0 else first
    last = first + size
    if last < len(text):
        space = text.rfind(" ", last - margin, last)
        last = space if space >= 0 else last
    cut = f"{before}{text[first:last]}{after if last < len(text) else ''}"
    moved = len(before) - first
    return cut, [[begin + moved, end + moved] for begin, end in spans if first <= begin and end <= last]


def _sentence(text: str, place: int, most: int, margin: int) -> int:
    """Return where a place's sentence begins; if over `most` characters before the place, `margin` before the place."""
    ends = [found.end() for found in _SENTENCE.finditer(text, max(0, place - most), place)]
    return ends[-1] if ends else max(0, place - margin)


def _begins_sentence(text: str, place: int) -> bool:
    return place == 0 or re.search(r"[.?!]\s+$", text[max(0, place - 4) : place]) is not None

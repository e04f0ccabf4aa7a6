"""Stored documents: their fields, excerpts, and where the words of a query are in them.

The passage of a document that fits a query best, with its text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.features.extract import doc_numbers
from rerank.features.families.passages import MAX, N_COLUMNS, field_spans, fill_passages
from rerank.features.match import gather_candidates, match
from rerank.features.recipe import Recipe
from rerank.index.bound import check_topics
from rerank.index.texts import position_ids, texts_of_queries
from rerank.lucene.documents import stored_fields as stored_fields
from rerank.lucene.texts import DocumentReader, TextDocument, UnusableTextError, check_characters
from rerank.types import Ints, Run, Topics
from rerank.types.ids import id_array
from rerank.types.retriever import CONTENTS, Passage, Passages

if TYPE_CHECKING:
    from rerank.index.bound import BoundIndex


TITLES = ("title", "name", "headline")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
Spans = list[list[int]]
Analyse = Callable[[Sequence[str]], list[list[str]]]
_AT_ONCE = 256  # texts in memory


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
    text = word.group().casefold()
    marked = set[int]()
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
    begins = [begin for begin, _ in spans]
    ends = [end for _, end in spans]
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


def run_passages(index: BoundIndex, run: Run, topics: Topics) -> list[Passage]:
    """Return the best passage of each row of a run; see `Index.best_passages`."""
    check_topics(run, topics)
    numbers = doc_numbers(index.forward, run)
    return [
        passage
        for query_id in run
        for passage in document_passages(index, topics[query_id], numbers[run.rows(query_id)])
    ]


def document_passages(index: BoundIndex, query: str, numbers: Ints) -> list[Passage]:
    """Return the best passage of each of some documents of the index, by number, for a query."""
    (terms,), field = index.searcher.analyze([query]), index.main_field
    return [
        passage
        for part in _text_parts(numbers)
        for passage in _best(index, terms, stored_texts(index, part, field), field)
    ]


def stored_texts(index: BoundIndex, numbers: Ints, field: str) -> list[str]:
    """Return a field of documents of the index, by number, with blanks for NUL; refuse an index without documents."""
    if field == CONTENTS:
        texts = index.document_texts(numbers)
    else:
        documents = [stored_fields(raw) for raw in index.kept_documents(numbers)]
        texts = [str(chosen_fields(document, [field]).get(field, "")) for document in documents]
    return [text.replace("\0", " ") for text in texts]


def text_passages(index: BoundIndex, query: str, documents: Any, field: str | None) -> list[Passage]:
    """Return the best passage of each text; see `Index.text_passages`."""
    field = field or index.main_field
    query_texts = texts_of_queries(query, documents)
    reader = DocumentReader(index.forward, index.searcher.joined_fields, field)
    (terms,), (named,) = index.searcher.analyze([query]), query_texts.documents.values()
    (query_id,) = query_texts.topics
    read = [query_texts.read(reader, query_id, doc_id).document for doc_id in named]
    texts = [document.contents if field == CONTENTS else document.texts.get(field, "") for document in read]
    try:
        return [passage for part in _text_parts(texts) for passage in _best(index, terms, part, field)]
    except UnusableTextError:
        for doc_id, text in zip(named, texts, strict=True):
            check_characters({field: text}, query_texts.location(query_id, doc_id))
        raise


def _text_parts(items: Any) -> Iterator[Any]:
    return (items[first : first + _AT_ONCE] for first in range(0, len(items), _AT_ONCE))


def _best(index: BoundIndex, terms: Sequence[str], texts: list[str], field: str) -> list[Passage]:
    """Return the best passage of each text for the terms of a query."""
    if index.forward.fields[field].positions is None:
        raise InvalidInputError(
            f"{index.path}: expected positions of {field}, which passages are found by, got an index without. Index "
            "with positions (-storePositions)."
        )
    sizes = index.passages or Passages()
    n_texts = len(texts)
    documents = [TextDocument({field: text}, ()) for text in texts]
    forward = index.text_analyser.index(documents, id_array(position_ids(n_texts)), {}, index.threads)
    query_ptr = np.array([0, n_texts], dtype=np.int64)
    rows = np.arange(n_texts)
    block = match(gather_candidates(forward, [terms], query_ptr, rows, np.zeros(n_texts)), forward.fields[field])
    columns = np.empty((n_texts, N_COLUMNS), dtype=np.float32)
    first = fill_passages(block, Recipe(), sizes, columns) * sizes.stride
    spans = field_spans(forward.fields[field])
    last = np.minimum(first + sizes.window, spans)
    scores = np.nan_to_num(columns[:, MAX]).tolist()
    places = index.searcher.places(texts, first.tolist(), last.tolist())
    passages = []
    for row, (text, (begin, end)) in enumerate(zip(texts, places, strict=True)):
        begin = 0 if first[row] == 0 else begin
        end = len(text) if last[row] == spans[row] else end
        passages.append(Passage(text[begin:end], scores[row], begin, end))
    return passages

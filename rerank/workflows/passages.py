"""The passage of a document that fits a query best, with its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.features.candidates import gather_candidates
from rerank.features.inputs import doc_numbers
from rerank.features.match import match
from rerank.features.recipe import Recipe
from rerank.features.windows import MAX, N_COLUMNS, field_spans, fill_passages
from rerank.lucene.given import GivenReader, check_characters
from rerank.lucene.texts import TextDocument, UnusableTextError
from rerank.types import Ints, Run, Topics
from rerank.types.ids import id_array
from rerank.types.passages import Passage, Passages
from rerank.types.retriever import CONTENTS
from rerank.workflows.bound import check_topics
from rerank.workflows.stored import chosen_fields, stored_fields
from rerank.workflows.texts import GivenTexts, given_texts, position_ids

if TYPE_CHECKING:
    from rerank.workflows.bound import BoundIndex

_AT_ONCE = 256  # texts in memory


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
        passage for part in _parts(numbers) for passage in _best(index, terms, stored_texts(index, part, field), field)
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
    given = given_texts(query, documents)
    reader = GivenReader(index.forward, index.searcher.joined_fields, field)
    (terms,), (named,) = index.searcher.analyze([query]), given.documents.values()
    texts = [_text(reader, given, doc_id, document, field) for doc_id, document in named.items()]
    try:
        return [passage for part in _parts(texts) for passage in _best(index, terms, part, field)]
    except UnusableTextError:
        for doc_id, text in zip(named, texts, strict=True):
            check_characters({field: text}, given.location(next(iter(given.topics)), doc_id))
        raise


def _text(reader: GivenReader, given: GivenTexts, doc_id: str, document: Any, field: str) -> str:
    """Return the text of a document's field."""
    try:
        read = reader.read(doc_id, document).document
    except InvalidInputError as error:
        raise InvalidInputError(f"{given.location(next(iter(given.topics)), doc_id)}: {error}") from None
    return read.contents if field == CONTENTS else read.texts.get(field, "")


def _parts(items: Any) -> Iterator[Any]:
    return (items[first : first + _AT_ONCE] for first in range(0, len(items), _AT_ONCE))


def _best(index: BoundIndex, terms: Sequence[str], texts: list[str], field: str) -> list[Passage]:
    """Return the best passage of each text for the terms of a query."""
    if index.forward.fields[field].positions is None:
        raise InvalidInputError(
            f"{index.path}: expected positions of {field}, which passages are found by, got an index without. Index "
            "with positions (-storePositions)."
        )
    sizes, n_texts = index.passages or Passages(), len(texts)
    documents = [TextDocument({field: text}, ()) for text in texts]
    forward = index.text_analyser.index(documents, id_array(position_ids(n_texts)), {}, index.threads)
    query_ptr, rows = np.array([0, n_texts], dtype=np.int64), np.arange(n_texts)
    block = match(gather_candidates(forward, [terms], query_ptr, rows, np.zeros(n_texts)), forward.fields[field])
    columns = np.empty((n_texts, N_COLUMNS), dtype=np.float32)
    first = fill_passages(block, Recipe(), sizes, columns) * sizes.stride
    spans = field_spans(forward.fields[field])
    last = np.minimum(first + sizes.window, spans)
    scores = np.nan_to_num(columns[:, MAX]).tolist()
    places = index.searcher.places(texts, first.tolist(), last.tolist())
    passages = []
    for row, (text, (begin, end)) in enumerate(zip(texts, places, strict=True)):
        begin, end = 0 if first[row] == 0 else begin, len(text) if last[row] == spans[row] else end
        passages.append(Passage(text[begin:end], scores[row], begin, end))
    return passages

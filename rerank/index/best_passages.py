"""The passage that fits a query best, of a document of the index or of a text."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.features.extract import doc_numbers
from rerank.features.families.passages import MAX, N_COLUMNS, field_spans, fill_passages
from rerank.features.match import gather_candidates, match
from rerank.features.recipe import Recipe
from rerank.index.bound_index import BoundIndex
from rerank.index.collection import Collection
from rerank.index.excerpts import chosen_fields
from rerank.index.input_checks import check_topics
from rerank.index.query_texts import position_ids, texts_of_queries
from rerank.lucene.documents import stored_fields
from rerank.lucene.text_documents import DocumentReader, TextDocument, check_characters
from rerank.lucene.texts import UnusableTextError
from rerank.types import Ints, Run, Topics, id_array
from rerank.types.retriever import CONTENTS, Passage, Passages

_AT_ONCE = 256  # number of texts in memory


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
    """Return the best passage for a query of each document of the index, given by number."""
    (terms,), field = index.analyser.analyze([query]), index.main_field
    return [
        passage
        for part in _text_parts(numbers)
        for passage in _best(index, terms, stored_texts(index, part, field), field)
    ]


def stored_texts(index: BoundIndex, numbers: Ints, field: str) -> list[str]:
    """Return a field's text in each document, given by number, with blanks for NUL; refuse an index without texts."""
    if field == CONTENTS:
        texts = index.document_texts(numbers)
    else:
        documents = [stored_fields(raw) for raw in index.kept_documents(numbers)]
        texts = [str(chosen_fields(document, [field]).get(field, "")) for document in documents]
    return [text.replace("\0", " ") for text in texts]


def text_passages(index: Collection, query: str, documents: Any, field: str | None) -> list[Passage]:
    """Return the best passage of each text; see `Index.text_passages`."""
    field = field or index.main_field
    query_texts = texts_of_queries(query, documents)
    reader = DocumentReader(index.forward, index.analyser.joined_fields, field)
    (terms,), (named,) = index.analyser.analyze([query]), query_texts.documents.values()
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


def _best(index: Collection, terms: Sequence[str], texts: list[str], field: str) -> list[Passage]:
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
    places = index.analyser.places(texts, first.tolist(), last.tolist())
    passages = []
    for row, (text, (begin, end)) in enumerate(zip(texts, places, strict=True)):
        begin = 0 if first[row] == 0 else begin
        end = len(text) if last[row] == spans[row] else end
        passages.append(Passage(text[begin:end], scores[row], begin, end))
    return passages

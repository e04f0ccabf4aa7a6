"""Queries with their texts, as callers pass them: lists, frames, hits, and whole answers of search engines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.files.corpus import of_hit
from rerank.files.json_lines import hits_of
from rerank.lucene.documents import is_text
from rerank.lucene.text_documents import TEXT_KEYS, DocumentReader, ReadDocument
from rerank.types import UNNAMED, Floats, Run, Topics, pointers
from rerank.types.data_frames import HEADERS, frame_rows, is_frame, plain_name
from rerank.types.ids import ID_RULE, QUERY, first_broken, id_array

MOST_TEXTS = 1 << 20  # number of texts of one call
# Attributes of answers in which the hits are: of Elasticsearch, Qdrant, Weaviate, Pinecone, Solr, Vespa, Supabase.
_HOLDS = ("body", "points", "objects", "matches", "docs", "hits", "data")
_COLUMNS = {"ids": "id", "documents": "text", "metadatas": "metadata"}  # of Chroma's answers


@dataclass(frozen=True, eq=False)
class QueryTexts:
    """Queries and the documents of each; for error messages, also where each document comes from.

    Parameters
    ----------
    topics : Topics
        The queries.
    documents : mapping from str to mapping from str to str or mapping
        Documents by query id and document id.
    run : Run, optional
        Scores of the documents, row by row; without it, BM25.
    have_ids : bool
        Whether the documents were given with ids, which may be ids of documents of the index.
    locations : mapping from (str, str) to str, optional
        Where a document comes from, by query id and document id, for error messages.

    """

    topics: Topics
    documents: Mapping[str, Mapping[str, Any]]
    run: Run | None = None
    have_ids: bool = True
    locations: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def location(self, query_id: str, doc_id: str) -> str:
        """Return where a document comes from, for error messages."""
        of_query = "" if query_id == QUERY else f"query {query_id!r}, "
        return self.locations.get((query_id, doc_id), f"documents: {of_query}{doc_id}")

    def read(self, reader: DocumentReader, query_id: str, doc_id: str) -> ReadDocument:
        """Return a document as a reader reads it; an error says where the document comes from."""
        try:
            return reader.read(doc_id, self.documents[query_id][doc_id])
        except InvalidInputError as error:
            raise InvalidInputError(f"{self.location(query_id, doc_id)}: {error}") from None


def texts_of_queries(query: str | Mapping[str, str], documents: Any, scores: Any = None) -> QueryTexts:
    """Return the arguments of `Index.text_features` as records; raises InvalidInputError."""
    if isinstance(query, str):
        return texts_of_query(query, listed(documents), scores)
    topics = Topics.of(query)
    if not isinstance(documents, Mapping):
        raise InvalidInputError(
            f"documents: expected a mapping by query id for several queries, got {type(documents).__name__}. "
            "Pass the documents of each query."
        )
    by_query = {str(name): listed(texts, _documents_of(str(name))) for name, texts in documents.items()}
    unknown = [query_id for query_id in by_query if query_id not in topics]
    if unknown:
        raise InvalidInputError(
            f"documents: expected queries of the topics, got {shown(unknown[0])}. Give the text of every query."
        )
    return _query_texts(topics, by_query, scores)


def texts_of_query(query: str, documents: Any, scores: Any = None) -> QueryTexts:
    """Return one query and its documents, which are `listed`, as records; raises InvalidInputError."""
    if not query.strip():
        raise InvalidInputError(f"query: expected text, got {shown(query)}. Write the query.")
    return _query_texts(Topics({QUERY: query}), {QUERY: documents}, None if scores is None else {QUERY: scores})


def _documents_of(query_id: str) -> str:
    """Return what errors call the documents of a query."""
    return "documents" if query_id == QUERY else f"documents of query {query_id!r}"


def _query_texts(topics: Topics, by_query: Mapping[str, Any], scores: Any) -> QueryTexts:
    """Return queries and the documents of each, which are `listed`, as records."""
    named = {query_id: _named(by_query.get(query_id, ()), _documents_of(query_id)) for query_id in topics}
    total = sum(map(len, named.values()))
    if total > MOST_TEXTS:
        raise InvalidInputError(f"documents: expected at most {MOST_TEXTS:,} texts, got {total:,}. Give them in parts.")
    have_ids = all(isinstance(of_query, Mapping) for of_query in by_query.values())
    return QueryTexts(topics, named, None if scores is None else _run_of(named, scores), have_ids)


def _named(documents: Any, what: str) -> dict[str, Any]:
    """Return the documents of a query by id."""
    if isinstance(documents, Mapping):
        named = {str(doc_id): document for doc_id, document in documents.items()}
        broken = first_broken(named)
        if broken is not None:
            raise InvalidInputError(f"{what}: expected ids {ID_RULE}, got {shown(broken)}. Rename it.")
        if len(named) < len(documents):
            raise InvalidInputError(f"{what}: expected each id once, got one again as text. Rename one of the two.")
    else:
        texts = list(documents)
        named = dict(zip(position_ids(len(texts)), texts, strict=True))
    if not named:
        raise InvalidInputError(f"{what}: expected at least one text, got none. Pass the texts to rank.")
    return named


def listed(documents: Any, what: str = "documents") -> Any:
    """Return documents by id as a mapping, others as a list; frames, hits and objects become mappings of fields."""
    if is_frame(documents):
        rows = frame_rows(documents)
        _check_one_query(rows)
        return rows
    found = _hits_in(documents)
    if isinstance(found, Mapping):
        return {doc_id: of_hit(document) for doc_id, document in found.items()}
    # A set has no order: the number of a document, and the order of equal scores, would change between processes.
    if isinstance(found, str | set | frozenset) or not isinstance(found, Iterable):
        raise InvalidInputError(
            f"{what}: expected a list of texts, or a mapping of them by id, got {type(found).__name__}. Pass a list."
        )
    return [each if isinstance(each, str) else of_hit(each) for each in found]


def _hits_in(documents: Any) -> Any:
    """Return the hits in the whole answer of a search engine or vector store; other documents as they are."""
    if isinstance(documents, tuple) and len(documents) == 2 and isinstance(documents[0], list):
        documents = documents[0]  # of Qdrant: the hits, and where the next page begins
    held = (getattr(documents, name, None) for name in _HOLDS)
    answer = next((each for each in held if isinstance(each, list | Mapping)), documents)
    if answer is documents and hasattr(documents, "to_dict"):  # of elasticsearch.dsl; a Series of pandas also has it
        answer = documents.to_dict()
    if not isinstance(answer, Mapping):
        return _of_one_query(answer)
    if isinstance(answer.get("ids"), list) and _COLUMNS.keys() <= answer.keys():
        columns = {_COLUMNS[name]: _of_one_query(answer[name]) for name in _COLUMNS if answer[name] is not None}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    hits = hits_of(answer)
    found = _rows_in(answer) if any(hit is answer for hit in hits) else hits
    return documents if found is None else found


def _rows_in(answer: Mapping[Any, Any]) -> list[Any] | None:
    """Return the list of objects in an answer or in its mappings that are no documents; None unless it is one."""
    rows = [
        each for each in answer.values() if isinstance(each, list) and each and isinstance(of_hit(each[0]), Mapping)
    ]
    if not rows:
        inside = [each for each in answer.values() if isinstance(each, Mapping) and not _has_text(each)]
        rows = [found for found in map(_rows_in, inside) if found is not None]
    return rows[0] if len(rows) == 1 else None


def _has_text(document: Mapping[Any, Any]) -> bool:
    """Return whether a mapping is a document: a value is text, or a name is one that stores give to texts."""
    return any(is_text(value) or name in TEXT_KEYS for name, value in document.items())


def _of_one_query(hits: Any) -> Any:
    """Return the hits of the only query from an answer that has a list for each query; other hits as they are."""
    if not isinstance(hits, list) or not hits or not all(isinstance(each, list) for each in hits):
        return hits
    if len(hits) > 1:
        raise InvalidInputError(
            f"documents: expected the hits of one query, got those of {len(hits)}. Pass those of each with its query."
        )
    return hits[0]


def _check_one_query(rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse the rows of a frame that has documents of several queries."""
    for name in (name for name in (rows[0] if rows else ()) if plain_name(name) in HEADERS):
        n_queries = len({str(row[name]) for row in rows})
        if n_queries > 1:
            raise InvalidInputError(
                f"documents: expected those of one query, got rows of {n_queries} ({name}). Rank the rows of "
                "each query alone, e.g. with frame.groupby."
            )


def position_ids(n: int) -> list[str]:
    """Return ids for n texts that have none: their positions, padded with zeros to one length."""
    return [f"{number:0{len(str(n - 1))}}" for number in range(n)]


def _run_of(documents: Mapping[str, Mapping[str, Any]], scores: Any) -> Run:
    """Return a run of the documents with the scores; refuse scores that are not one finite number for each document."""
    name = scores.name if isinstance(scores, Run) else UNNAMED
    if not isinstance(scores, Run | Mapping):
        raise InvalidInputError(f"scores: expected a mapping by query id, got {type(scores).__name__}. Pass one.")
    by_query = {str(query_id): of_query for query_id, of_query in scores.items()}
    columns: list[Floats] = []
    for query_id, named in documents.items():
        of_query = by_query.get(query_id, ())
        if isinstance(of_query, Mapping):
            of_query = {str(doc_id): score for doc_id, score in of_query.items()}
            of_query = [of_query.get(doc_id, np.nan) for doc_id in named]
        try:
            column = np.asarray(of_query, dtype=np.float64)
        except (TypeError, ValueError):
            column = np.full(len(named), np.nan)
        if column.shape != (len(named),) or not np.isfinite(column).all():
            raise InvalidInputError(
                f"scores: expected a finite number for each of the {len(named)} texts of query {query_id!r}, got "
                f"{'others' if column.shape == (len(named),) else len(column.ravel())}. Pass one for each."
            )
        columns.append(column)
    return run_of_rows(documents, np.concatenate(columns), name)


def run_of_rows(documents: Mapping[str, Mapping[str, Any]], scores: Floats, name: str) -> Run:
    """Return a run of the documents of all queries, in the given order."""
    doc_ids = id_array([doc_id for named in documents.values() for doc_id in named])
    return Run(id_array(list(documents)), pointers([len(named) for named in documents.values()]), doc_ids, scores, name)

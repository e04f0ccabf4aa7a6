"""Texts to rank: query-document pairs as JSON objects, one a line.

    {"qid": "q1", "id": "d1", "text": "Heat flow in a wing"}
    {"qid": "q1", "id": "d2", "title": "Heat flow", "body": "…", "year": 1967}

qid (or query_id) and id (or _id, docid, doc_id, docno) are text or whole numbers; the other keys are those of documents
that no index holds.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from rerank.errors import FileFormatError, shown
from rerank.files.corpus import pop_id
from rerank.files.json_lines import ID_KEYS, json_objects
from rerank.files.source import of_line

QUERY_KEYS = ("qid", "query_id")


class TextsFile(NamedTuple):
    """Documents by query id and document id, text or fields, and where each is (`file:line`)."""

    documents: dict[str, dict[str, Any]]
    locations: dict[tuple[str, str], str]


def read_texts(path: str | Path, queries: Collection[str]) -> TextsFile:
    """Read texts to rank."""
    read = TextsFile({}, {})
    path = Path(path)
    for line, members in json_objects(path):
        query_id, doc_id = (of_line(path, line, pop_id, members, keys) for keys in (QUERY_KEYS, ID_KEYS))
        if query_id not in queries:
            raise FileFormatError(
                path, line, f"expected a query of the topics, got {shown(query_id)}. Add it to the topics."
            )
        if (query_id, doc_id) in read.locations:
            first = read.locations[query_id, doc_id]
            raise FileFormatError(
                path, line, f"expected each document once a query, got {shown(doc_id)} again ({first}). Rename it."
            )
        read.documents.setdefault(query_id, {})[doc_id] = members
        read.locations[query_id, doc_id] = f"{path}:{line}"
    return read

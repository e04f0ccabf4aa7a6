"""Texts to rank, from JSONL, one query-document pair a line, plain or gzip.

    {"qid": "q1", "id": "d1", "text": "Heat flow in a wing"}
    {"qid": "q1", "id": "d2", "title": "Heat flow", "body": "…", "year": 1967}

qid   id of the query: text, or a whole number
id    id of the document, once a query: text without white space, or a whole number
text  the document as plain text, where no field has this name; other keys are fields and numbers of the index
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, shown
from rerank.files.source import text_lines
from rerank.files.structured import parse_json
from rerank.types.ids import ID_RULE, first_broken

QUERY_KEY, DOCUMENT_KEY, TEXT_KEY = "qid", "id", "text"


@dataclass(frozen=True)
class TextsFile:
    """Documents by query id and document id, and where each is.

    Parameters
    ----------
    documents : mapping from str to mapping from str to str or mapping
        Each document is text, or fields.
    locations : mapping from (str, str) to str
        `file:line` of each query id and document id.

    """

    documents: dict[str, dict[str, Any]]
    locations: dict[tuple[str, str], str]


def read_texts(path: str | Path, queries: Collection[str], fields: Collection[str]) -> TextsFile:
    """Read texts to rank."""
    read = TextsFile({}, {})
    path = Path(path)
    for line, content in text_lines(path):
        if content.strip():
            members = parse_json(content, path, line, "a JSON object")
            if not isinstance(members, dict):
                raise FileFormatError(path, line, f"expected a JSON object, got {shown(content.strip())}. Write one.")
            query_id, doc_id = (_id(path, line, members, key) for key in (QUERY_KEY, DOCUMENT_KEY))
            if query_id not in queries:
                raise FileFormatError(
                    path, line, f"expected a query of the topics, got {shown(query_id)}. Add it to the topics."
                )
            if (query_id, doc_id) in read.locations:
                first = read.locations[query_id, doc_id]
                raise FileFormatError(
                    path, line, f"expected each document once a query, got {shown(doc_id)} again ({first}). Rename it."
                )
            read.documents.setdefault(query_id, {})[doc_id] = _document(path, line, members, fields)
            read.locations[query_id, doc_id] = f"{path}:{line}"
    if not read.locations:
        raise FileFormatError(path, None, "expected JSON objects, one a line, got an empty file. Write the texts.")
    return read


def _id(path: Path, line: int, members: dict[str, Any], key: str) -> str:
    """Take an id from a JSON object."""
    value = members.pop(key, None)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise FileFormatError(
            path, line, f"expected text or a whole number as {key}, got {shown(value)}. Write qid and id."
        )
    if first_broken([str(value)]) is not None:
        raise FileFormatError(path, line, f"expected as {key} text {ID_RULE}, got {shown(value)}. Rename it.")
    return str(value)


def _document(path: Path, line: int, members: dict[str, Any], fields: Collection[str]) -> Any:
    """Return plain text, or the fields."""
    if TEXT_KEY not in members or TEXT_KEY in fields:
        return members
    if len(members) > 1 or not isinstance(members[TEXT_KEY], str):
        got = ", ".join(members) if len(members) > 1 else members[TEXT_KEY]
        raise FileFormatError(
            path,
            line,
            f"expected text as {TEXT_KEY}, and no fields beside it, got {shown(got)}. Correct the line.",
        )
    return members[TEXT_KEY]

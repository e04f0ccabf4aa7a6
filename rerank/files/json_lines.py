"""JSON objects of a file: one a line, an array, or what a search engine found."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, shown
from rerank.files.source import LineFault, of_line, text_lines
from rerank.runtime.json_text import ParseFault, check_nesting, parse_json

_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[\s,]*")
# Of documents; a passage of MS MARCO v2 has the `docid` of its document.
ID_KEYS = ("id", "_id", "pid", "docid", "doc_id", "docno")
# Where answers have hits: of Elasticsearch, OpenSearch, Solr, Vespa, Typesense, Meilisearch, Qdrant, Azure, Pinecone.
_HITS = (
    ("hits", "hits"),
    ("response", "docs"),
    ("root", "children"),
    ("hits",),
    ("result", "points"),
    ("result",),
    ("value",),
    ("matches",),
)


def json_object(content: str) -> dict[str, Any]:
    """Return the JSON object of a line, or of a whole text."""
    try:
        members = parse_json(content, finite=True)
    except ParseFault as fault:
        is_other = not content.lstrip().startswith("{")
        remedy = (
            "Write one object a line, or read columns with pandas, and pass the frame" if is_other else "Correct it"
        )
        raise LineFault(f"expected a JSON object, got {fault}. {remedy}.") from None
    if not isinstance(members, dict):
        raise LineFault(f"expected a JSON object, got {shown(content.strip())}. Write one object a line.")
    return members


def json_objects(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of every line of a JSONL file; blank lines are skipped.

    A file that holds an array of objects, or objects over several lines, is read as a whole. In the answer of a search
    engine, the objects are its hits.
    """
    return objects_of_lines(path, text_lines(path, encoding))


def hits_of(members: Any) -> list[Any]:
    """Return the hits in the answer of a search engine; any other object, as one with an id, alone."""
    for path in () if any(key in members for key in ID_KEYS) else _HITS:
        found: Any = reduce(
            lambda inside, name: inside.get(name) if isinstance(inside, Mapping) else None, path, members
        )
        if isinstance(found, list) and all(isinstance(hit, Mapping) for hit in found):
            return found
    return [members]


def objects_of_lines(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what `json_objects` yields, from the lines of the file."""
    return ((line, each) for line, members in _objects_of_lines(path, lines) for each in hits_of(members))


def _objects_of_lines(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, dict[str, Any]]]:
    is_jsonl = False
    for line, content in lines:
        if content.strip() and not is_jsonl and not is_json_line(content):
            yield from _objects_of_text(path, line, "\n".join([content, *(rest for _, rest in lines)]))
            return
        if content.strip():
            is_jsonl = True
            yield line, of_line(path, line, json_object, content)
    if not is_jsonl:
        raise FileFormatError(
            path, None, "expected JSON objects, one a line, got an empty file. Remove it, or name another."
        )


def is_json_line(content: str) -> bool:
    """Return whether a first line is one of JSONL: no array, and no object that goes on in the next line."""
    content = content.strip()
    try:
        check_nesting(content)
        _, end = _DECODER.raw_decode(content)
    except json.JSONDecodeError as fault:
        return fault.pos < len(content)
    except ParseFault:
        return True
    return end < len(content) or not content.startswith("[")


def _objects_of_text(path: Path, line: int, content: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line and object of each part of a text: of an array, or of objects one after the other.

    line  the line of the file at which the text begins
    """
    try:
        check_nesting(content)
    except ParseFault as fault:
        raise FileFormatError(path, line, f"expected JSON objects, got {fault}. Correct it.") from None
    at = _after_blanks(content, 0)
    in_array = content[at] == "["
    at = _after_blanks(content, at + in_array)
    if content[at : at + 1] == "]":
        raise FileFormatError(path, line, "expected JSON objects, got an empty array. Remove it, or name another.")
    counted = 0
    while content[at : at + 1] not in ("]" if in_array else "", ""):
        line = line + content.count("\n", counted, at)
        counted = at
        try:
            _, end = _DECODER.raw_decode(content, at)
        except json.JSONDecodeError:
            end = len(content)  # what is wrong is said by the strict parser
        yield line, of_line(path, line, json_object, content[at:end])
        at = _after_blanks(content, end)
    if content[at + in_array :].strip() or (in_array and at >= len(content)):
        raise FileFormatError(
            path, line, "expected one array of JSON objects, got one without its end, or more behind it. Correct it."
        )


def _after_blanks(content: str, at: int) -> int:
    """Return where blanks, line ends and commas end."""
    found = _BLANKS.match(content, at)
    return at if found is None else found.end()

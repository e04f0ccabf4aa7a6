"""Documents from JSONL, one object a line, from a file or a folder of files, plain or gzip.

    {"id": "d1", "title": "Heat flow", "body": "…", "year": 1967}

id          `id`, `_id` or `docid` (the first that is there): text without white space, or a whole number
fields      every other key: text, or a number, which is kept as it is; null, [] and {} hold nothing and
            are dropped; true, false and anything nested are refused, unless `fields` leaves them out
folder      all files below it that end in .jsonl or .json (also with .gz), by path; others are passed over
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal, NoReturn

from rerank.errors import FileFormatError, MissingFileError
from rerank.files.source import BYTE_ORDER_MARK, open_source, shown, text_lines
from rerank.ids import first_broken

ID_KEYS = ("id", "_id", "docid")
JSON_ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
BEGINNING = 1 << 16  # bytes in which a file must show what it is

_UNIX_COMPRESS = re.compile(r"\.\d?z$", re.IGNORECASE)  # .Z, and .0z .1z .2z on the TREC disks


def read_documents(
    path: str | Path, fields: Collection[str] | None = None, *, others: bool = False
) -> Iterator[dict[str, Any]]:
    """Read documents one by one from JSONL.

    path    a file, or a folder of files
    fields  keys to take, all others being left out on purpose; None: all keys
    others  take the other keys too where they hold text or a number, and leave out those that hold neither

    Returns an iterator of dicts: `id` (text) and the fields. Duplicate ids are not looked for. Raises
    FileFormatError, with the line, for bad JSON, a line that is no object, a missing, empty or broken id,
    or a value that is no text and no number; MissingFileError where there is nothing.
    """
    files = _json_files(Path(path))
    wanted = None if fields is None else frozenset(fields)
    return (document for file in files for document in _documents(file, wanted, others))


def corpus_format(path: str | Path) -> Literal["jsonl", "trec"]:
    """Tell JSONL from TREC SGML (`<DOC>`) by the first file whose beginning (or ending .Z) shows it."""
    path = Path(path)
    for file in _files(path):
        found = _format(file)
        if found is not None:
            return found
    raise FileFormatError(
        path,
        None,
        "expected JSON objects, one a line, or TREC documents in <DOC>, found neither; convert the corpus.",
    )


def _files(path: Path) -> list[Path]:
    """Return the files below a folder, hidden ones left out, or the file itself."""
    if not path.exists():
        raise MissingFileError(path, "a corpus file or folder")
    if not path.is_dir():
        return [path]
    below = (file.relative_to(path) for file in path.rglob("*") if file.is_file())
    return [path / file for file in sorted(below) if not any(part.startswith(".") for part in file.parts)]


def _json_files(path: Path) -> list[Path]:
    files = _files(path)
    if path.is_dir():
        files = [file for file in files if file.name.endswith(JSON_ENDINGS)]
    if not files:
        raise FileFormatError(
            path, None, f"expected files that end in {', '.join(JSON_ENDINGS)}, found none; rename the files."
        )
    return files


def _format(path: Path) -> Literal["jsonl", "trec"] | None:
    if _UNIX_COMPRESS.search(path.name):
        return "trec"
    with open_source(path) as handle:
        beginning = handle.read(BEGINNING).removeprefix(BYTE_ORDER_MARK).lstrip()
    if beginning.startswith(b"{"):
        return "jsonl"
    return "trec" if re.search(rb"<DOC>", beginning, re.IGNORECASE) else None


def _documents(path: Path, wanted: frozenset[str] | None, others: bool) -> Iterator[dict[str, Any]]:
    empty = True
    for line, content in text_lines(path):
        if content.strip():
            empty = False
            yield _document(path, line, content, wanted, others)
    if empty:
        raise FileFormatError(
            path, None, "expected JSON objects, one a line, found an empty file; remove it, or name another."
        )


def _document(path: Path, line: int, content: str, wanted: frozenset[str] | None, others: bool) -> dict[str, Any]:
    given = _parsed(path, line, content)
    id_key = next((key for key in ID_KEYS if key in given), None)
    if id_key is None:
        raise FileFormatError(
            path, line, f"expected an id as {', '.join(ID_KEYS)}, found {_keys(given)}; add the key `id`."
        )
    document: dict[str, Any] = {"id": _checked_id(path, line, given.pop(id_key))}
    if not given:
        raise FileFormatError(path, line, "expected a text field beside the id, found none; add one.")
    for key, value in given.items():
        named = wanted is None or key in wanted
        if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
            if named or others:
                document[key] = value
        elif named and value is not None and value != [] and value != {}:
            _refuse_value(path, line, key, value)
    return document


def _parsed(path: Path, line: int, content: str) -> dict[str, Any]:
    try:
        given = json.loads(content, parse_constant=_refuse_constant)
    except json.JSONDecodeError as fault:
        raise FileFormatError(
            path,
            line,
            f"expected a JSON object, found {fault.msg} at column {fault.colno}; correct the line.",
        ) from fault
    except (ValueError, RecursionError) as fault:
        raise FileFormatError(path, line, f"expected a JSON object, found {fault}; correct the line.") from fault
    if not isinstance(given, dict):
        raise FileFormatError(
            path, line, f"expected a JSON object, found {shown(content.strip())}; write one object a line."
        )
    return given


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name}, which JSON does not have")


def _checked_id(path: Path, line: int, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise FileFormatError(
            path,
            line,
            f"expected text or a whole number as id, found {shown(json.dumps(value))}; correct the id.",
        )
    doc_id = str(value)
    if first_broken([doc_id]) is not None:
        found = shown(doc_id) if doc_id else "an empty one"
        raise FileFormatError(path, line, f"expected an id without white space, found {found}; correct the id.")
    return doc_id


def _refuse_value(path: Path, line: int, key: str, value: object) -> NoReturn:
    raise FileFormatError(
        path,
        line,
        f"expected text or a number as {shown(key)}, found {shown(json.dumps(value))}; "
        "write it as text, drop the key, or name the fields to take (--fields).",
    )


def _keys(given: dict[str, Any]) -> str:
    return shown(", ".join(given)) if given else "no key"

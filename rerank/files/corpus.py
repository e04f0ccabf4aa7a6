"""Documents from JSONL, one object a line, from a file or a folder of files, plain or gzip.

    {"id": "d1", "title": "Heat flow", "body": "…", "year": 1967}

id          `id`, `_id` or `docid` (the first that is there): text without white space, or a whole number
fields      every other key: text, or a number, which is kept as it is; null, [] and {} hold nothing and
            are dropped; true, false and anything nested are refused, unless `fields` leaves them out
folder      all files below it that end in .jsonl or .json (also with .gz), by path; others are passed over, and a
            note says which
"""

from __future__ import annotations

import codecs
import json
import logging
import re
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Literal, NoReturn

from rerank.errors import FileFormatError, InvalidInputError
from rerank.files.source import BYTE_ORDER_MARK, file_mode, open_source, shown, text_lines
from rerank.files.structured import parse_json
from rerank.types.ids import ID_RULE, MOST_LETTERS, first_broken

ID_KEYS = ("id", "_id", "docid")
JSON_ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
BEGINNING = 1 << 16  # bytes in which a file must show what it is

UNIX_COMPRESS = re.compile(r"\.\d?z$", re.IGNORECASE)  # .Z, and .0z .1z .2z on the TREC disks

_log = logging.getLogger("rerank")


class CorpusDocument(dict[str, Any]):
    """A document, the place it stands at (`file:line`), and `again`, which reads its corpus once more."""

    def __init__(self, place: str, again: Callable[[], Iterator[CorpusDocument]]) -> None:
        super().__init__()
        self.place, self._again = place, again

    def first_place(self) -> str:
        """Return the place of the first document with this id: only an error about ids that return asks for it."""
        return next(document.place for document in self._again() if document["id"] == self["id"])


def read_documents(
    path: str | Path, fields: Collection[str] | None = None, *, others: bool = False, encoding: str = "utf-8"
) -> Iterator[CorpusDocument]:
    """Read documents one by one from JSONL.

    path      a file, or a folder of files
    fields    keys to take, all others being left out on purpose; None: all keys
    others    take the other keys too where they hold text or a number, and leave out those that hold neither
    encoding  of the text, one of those in which ASCII is as it is in ASCII

    Returns an iterator of dicts: `id` (text) and the fields. Duplicate ids are not looked for. Raises
    FileFormatError, with the line, for bad JSON, a key twice in an object, a number beyond float64, a line that is no
    object, a missing, empty or broken id, or a value that is no text and no number; MissingFileError where there is
    nothing.
    """
    files, encoding = _json_files(Path(path)), check_encoding(encoding)
    wanted = None if fields is None else frozenset(fields)

    def documents() -> Iterator[CorpusDocument]:
        for file in files:
            for line, given in _objects(file, encoding):
                document = CorpusDocument(f"{file}:{line}", documents)
                document.update(_members(file, line, given, wanted, others))
                yield document

    return documents()


def check_encoding(encoding: str) -> str:
    """Return the name of an encoding whose lines can be told by their bytes, or raise InvalidInputError."""
    try:
        name = codecs.lookup(encoding).name
        by_lines = "<a\n".encode(name) == b"<a\n" and isinstance(b"".decode(name), str)
    except (LookupError, ValueError):
        by_lines = False
    if not by_lines:
        raise InvalidInputError(
            f"encoding: expected the name of one that extends ASCII, got {encoding!r}. Write e.g. utf-8, latin-1 or "
            "cp1252, or convert the corpus with `iconv`."
        )
    return name


def corpus_format(path: str | Path) -> Literal["jsonl", "trec"]:
    """Tell JSONL from TREC SGML (`<DOC>`) by the first file whose beginning (or ending .Z) shows it."""
    path = Path(path)
    for file in corpus_files(path):
        found = _format(file)
        if found is not None:
            return found
    raise FileFormatError(
        path,
        None,
        "expected JSON objects, one a line, or TREC documents in <DOC>, got neither. Convert the corpus.",
    )


def corpus_files(path: Path) -> list[Path]:
    """Return the files below a folder, hidden ones left out, or the file itself."""
    mode = file_mode(path, "a corpus file or folder")
    if not stat.S_ISDIR(mode):
        if not stat.S_ISREG(mode):  # a file is read twice: what it holds is told by its beginning
            raise FileFormatError(path, None, "expected a file or a folder, got a pipe or device. Name a file.")
        return [path]
    below = (file.relative_to(path) for file in path.rglob("*") if file.is_file())
    return [path / file for file in sorted(below) if not any(part.startswith(".") for part in file.parts)]


def _json_files(path: Path) -> list[Path]:
    files = corpus_files(path)
    if path.is_dir():
        others = [file for file in files if not file.name.endswith(JSON_ENDINGS)]
        files = [file for file in files if file.name.endswith(JSON_ENDINGS)]
        if files and others:
            _log.warning("%s", passed_over(others, f"end in none of {', '.join(JSON_ENDINGS)}"))
    if not files:
        raise FileFormatError(
            path, None, f"expected files that end in {', '.join(JSON_ENDINGS)}, got none. Rename the files."
        )
    return files


def _format(path: Path) -> Literal["jsonl", "trec"] | None:
    if UNIX_COMPRESS.search(path.name):
        return "trec"
    with open_source(path) as handle:
        beginning = handle.read(BEGINNING).removeprefix(BYTE_ORDER_MARK).lstrip()
    if beginning.startswith(b"{"):
        return "jsonl"
    return "trec" if re.search(rb"<DOC>", beginning, re.IGNORECASE) else None


def passed_over(files: list[Path], why: str) -> str:
    """Return a note on files that are passed over, the first few by name."""
    names = ", ".join(str(file) for file in files[:3]) + (", ..." if len(files) > 3 else "")
    return f"Files of the corpus passed over, since they {why}: {len(files)} ({names})."


def _objects(path: Path, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number and object of every line."""
    empty = True
    for line, content in text_lines(path, encoding):
        if content.strip():
            empty = False
            given = parse_json(content, path, line, "a JSON object")
            if not isinstance(given, dict):
                raise FileFormatError(
                    path, line, f"expected a JSON object, got {shown(content.strip())}. Write one object a line."
                )
            yield line, given
    if empty:
        raise FileFormatError(
            path, None, "expected JSON objects, one a line, got an empty file. Remove it, or name another."
        )


def _members(
    path: Path, line: int, given: dict[str, Any], wanted: frozenset[str] | None, others: bool
) -> dict[str, Any]:
    """Return the id and the fields of an object."""
    id_key = next((key for key in ID_KEYS if key in given), None)
    if id_key is None:
        raise FileFormatError(
            path, line, f"expected an id as {', '.join(ID_KEYS)}, got {_keys(given)}. Add the key `id`."
        )
    document: dict[str, Any] = {"id": _checked_id(path, line, given.pop(id_key))}
    if not given:
        raise FileFormatError(path, line, "expected a text field beside the id, got none. Add one.")
    for key, value in given.items():
        named = wanted is None or key in wanted
        if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
            if named or others:
                document[key] = value
        elif named and value is not None and value != [] and value != {}:
            _refuse_value(path, line, key, value)
    return document


def _checked_id(path: Path, line: int, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise FileFormatError(
            path,
            line,
            f"expected text or a whole number as id, got {shown(json.dumps(value))}. Correct the id.",
        )
    doc_id = str(value)
    if len(doc_id) > MOST_LETTERS:
        raise FileFormatError(path, line, f"expected an id {ID_RULE}, got {len(doc_id)}. Shorten it.")
    if first_broken([doc_id]) is not None:
        found = shown(doc_id) if doc_id else "an empty one"
        raise FileFormatError(path, line, f"expected an id without white space, got {found}. Correct the id.")
    return doc_id


def _refuse_value(path: Path, line: int, key: str, value: object) -> NoReturn:
    raise FileFormatError(
        path,
        line,
        f"expected text or a number as {shown(key)}, got {shown(json.dumps(value))}. "
        "Write it as text, drop the key, or name the fields to take (--fields).",
    )


def _keys(given: dict[str, Any]) -> str:
    return shown(", ".join(given)) if given else "no key"

"""Documents from JSON, in a file or a folder of files, plain or gzip: one object a line, an array, or several lines.

    {"id": "d1", "title": "Heat flow", "body": "…", "year": 1967}

id      `id`, `_id`, `pid`, `docid`, `doc_id` or `docno` (the first of these that exists): text without white space, or
        a whole number
hit     a hit of a search engine (`_id` and `_source`, `id` and `fields`), alone or in a response, is read as the
        document that it holds
fields  every other key: text, a list of texts, or a number, which stays a number. null, [] and {} are left out. So are
        true, false and nested values (BEIR's `metadata`), with a warning, unless `fields` names them: then it is an
        error
folder  all files below it that end in .jsonl or .json (also with .gz), ordered by path; a warning names other files. Of
        a folder of BEIR, only corpus.jsonl is read
"""

from __future__ import annotations

import codecs
import json
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields as fields_of, is_dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal

from rerank.errors import FileFormatError, InvalidInputError, first_names, log, shown
from rerank.files.irds import PREFIX, data_set_entries, data_set_name, default_text, joined_fields
from rerank.files.json_lines import ID_KEYS, json_objects
from rerank.files.line_records import id_text
from rerank.files.source import (
    BYTE_ORDER_MARK,
    FileLike,
    LineFault,
    checked_path,
    file_mode,
    of_line,
    open_source,
    refuse_others,
)

JSON_ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
BEIR = ("corpus.jsonl", "queries.jsonl")  # a folder with both is one of BEIR
_ASKED = re.compile(r"(^|[^a-z])(quer(y|ies)|topics?|qrels?)[^a-z]")  # in names of files that are no documents
BEGINNING = 1 << 16  # bytes by which the format is detected
# Keys under which hits hold the fields of the document: Elasticsearch and OpenSearch (two), Vespa, Typesense, Qdrant,
# Weaviate, Pinecone, LlamaIndex, Milvus, Cohere, Vertex. _BESIDE are keys of texts that a hit may have beside them; an
# object with other texts is no hit.
_INSIDE = ("_source", "fields", "document", "payload", "properties", "metadata", "node", "entity", "data", "structData")
_BESIDE = {"put", "uuid", "id", "source", "class", "collection", "type", "page_content", "class_name", "sort"}


class CorpusDocument(dict[str, Any]):
    """A document with its location in the corpus.

    Parameters
    ----------
    location : str
        `file:line`.
    read_again : callable
        Returns an iterator over all documents of the corpus.

    """

    def __init__(self, location: str, read_again: Callable[[], Iterator[CorpusDocument]]) -> None:
        super().__init__()
        self.location = location
        self._read_again = read_again

    def first_location(self) -> str:
        """Return the location of the first document with this id, for the error about a repeated id."""
        return next(document.location for document in self._read_again() if document["id"] == self["id"])


def read_documents(
    path: FileLike, fields: Collection[str] | None = None, *, others: bool = False, encoding: str = "utf-8"
) -> Iterator[CorpusDocument]:
    """Read documents one by one from JSON or a data set of ir_datasets.

    Parameters
    ----------
    path : str, Path or file object
        A file, or a folder of files; or `irds:NAME`, a data set of ir_datasets.
    fields : collection of str, optional
        Keys to read; all others are left out. All keys by default.
    others : bool, default=False
        Whether keys that `fields` does not name are read, too, if their value is text or a number.
    encoding : str, default="utf-8"
        Encoding of the text, which has to extend ASCII.

    Returns
    -------
    iterator of CorpusDocument
        Dicts with `id` (text) and the fields. Repeated ids are not detected.

    Raises
    ------
    MissingFileError
        If there is no such file or folder.
    FileFormatError
        With the line, for a line that is not a JSON object, a repeated key, a number beyond float64, a missing, empty
        or broken id, or a value of `fields` that is neither text nor a number.

    """
    name = data_set_name(path)
    if name is not None:
        return _of_data_set(name, fields)
    files = _json_files(checked_path(path))
    encoding = check_encoding(encoding)
    named = None if fields is None else frozenset(fields)

    def documents() -> Iterator[CorpusDocument]:
        left_out: dict[str, tuple[str, int]] = {}  # by key: location of its first value, number of values
        for file in files:
            for line, stored in json_objects(file, encoding):
                members = dict(of_hit(stored))
                document = CorpusDocument(f"{file}:{line}", documents)
                document.update(of_line(file, line, _fields, members, named, others))
                for key in members if named is None else ():
                    if key not in document and members[key] not in (None, [], {}):
                        first, count = left_out.get(key, (document.location, 0))
                        left_out[key] = first, count + 1
                yield document
        if left_out:
            counts = ", ".join(f"{key} ({count:,}, first in {first})" for key, (first, count) in left_out.items())
            log.warning("documents: left out values that are neither text nor numbers: %s", counts)

    return documents()


def _of_data_set(name: str, fields: Collection[str] | None) -> Iterator[CorpusDocument]:
    """Return the documents of a data set of ir_datasets; an unknown data set is refused at once."""
    entries = data_set_entries(name, "docs")

    def documents() -> Iterator[CorpusDocument]:
        taken = fields
        for number, entry in enumerate(entries, 1):
            if taken is None:
                taken = joined_fields(type(entry))
            values = entry._asdict()
            document = CorpusDocument(f"{PREFIX}{name}: document {number}", lambda: _of_data_set(name, fields))
            document.update(id=str(values.pop("doc_id")), contents=default_text(entry))
            for field, value in values.items():
                is_number = isinstance(value, int | float) and not isinstance(value, bool)
                if field not in document and (is_number or (field in taken and value is not None)):
                    document[field] = value
            yield document

    return documents()


def check_encoding(encoding: str) -> str:
    """Return the normal name of an encoding; raise InvalidInputError if it is unknown or does not extend ASCII."""
    try:
        name = codecs.lookup(encoding).name
        extends_ascii = "<a\n".encode(name) == b"<a\n" and isinstance(b"".decode(name), str)
    except (LookupError, ValueError):
        extends_ascii = False
    if not extends_ascii:
        raise InvalidInputError(
            f"encoding: expected the name of an encoding that extends ASCII, got {shown(encoding)}. Write e.g. "
            "utf-8, latin-1 or cp1252, or convert the corpus with `iconv`."
        )
    return name


def corpus_format(path: str | Path) -> Literal["jsonl", "trec", "irds"]:
    """Return the format of a corpus, detected by the first file whose beginning has a known format."""
    if data_set_name(path) is not None:
        return "irds"
    path = checked_path(path)
    for file in corpus_files(path):
        with open_source(file) as handle:
            beginning = handle.read(BEGINNING).removeprefix(BYTE_ORDER_MARK).lstrip()
        if beginning.startswith((b"{", b"[")):
            return "jsonl"
        if re.search(rb"<DOC>", beginning, re.IGNORECASE):
            return "trec"
        if file == path:
            refuse_others(path, beginning)
    raise FileFormatError(
        path,
        None,
        "expected JSON objects, one a line, or TREC documents in <DOC>, got neither. Convert the corpus: CSV with "
        "pandas, for Index.build; lines of id, tab and text with "
        """`jq -Rc 'split("\\t")|{id:.[0],contents:(.[1:]|join(" "))}'`.""",
    )


def corpus_files(path: Path) -> list[Path]:
    """Return the files below a folder, sorted by path and without hidden ones, or the file itself."""
    mode = file_mode(path, "a corpus file or folder")
    if not stat.S_ISDIR(mode):
        if not stat.S_ISREG(mode):  # it is read twice, first to detect its format
            raise FileFormatError(path, None, "expected a file or a folder, got a pipe or device. Name a file.")
        return [path]
    below = (file.relative_to(path) for file in path.rglob("*") if file.is_file())
    return [path / file for file in sorted(below) if not any(part.startswith(".") for part in file.parts)]


def _json_files(path: Path) -> list[Path]:
    files = corpus_files(path)
    if (path / BEIR[0]).is_file() and (path / BEIR[1]).is_file():
        return [path / BEIR[0]]
    if path.is_dir():
        others = [file for file in files if not file.name.endswith(JSON_ENDINGS)]
        files = [file for file in files if file.name.endswith(JSON_ENDINGS)]
        if files:
            warn_of_skipped(others, f"end in none of {', '.join(JSON_ENDINGS)}")
        asked = [str(file) for file in files if _ASKED.search(file.name)]
        if 0 < len(asked) < len(files):
            log.warning(
                "documents: read with the others, though named as queries: %s. Move them, or name the file of the "
                "documents.",
                ", ".join(asked),
            )
    if not files:
        raise FileFormatError(
            path, None, f"expected files that end in {', '.join(JSON_ENDINGS)}, got none. Rename the files."
        )
    return files


def warn_of_skipped(files: list[Path], why: str) -> None:
    """Log a warning about skipped files, which names the first few; without files, log nothing."""
    if files:
        log.warning("Files of the corpus skipped, since they %s: %d (%s).", why, len(files), first_names(files))


def of_hit(document: Any) -> Any:
    """Return a hit of a search engine, or an object with attributes, as a mapping of its id and fields.

    Other documents are returned unchanged. Of a pair of a document and its score, as LangChain's stores return, the
    document is taken.
    """
    if type(document) is tuple and len(document) == 2 and isinstance(document[1], Real):
        document = document[0]
    document = _members(document)
    if not isinstance(document, Mapping):
        return document
    name = next((name for name in _INSIDE if name in document and isinstance(of_hit(document[name]), Mapping)), None)
    if name is None:
        return document
    others = (str(key) for key, value in document.items() if key != name and text_of(value) is not None)
    if name != _INSIDE[0] and any(key[:1] != "_" and key not in _BESIDE for key in others):
        return document
    fields = {
        key: value[0] if isinstance(value, list) and len(value) == 1 else value
        for key, value in of_hit(document[name]).items()
        if key not in ("sddocname", "documentid")  # of Vespa
    }
    text = {"page_content": document["page_content"]} if "page_content" in document else {}  # of LangChain
    own = [document[key] for key in ("_id", "id", "uuid", "put") if document.get(key) is not None]
    return {**text, **fields, "id": own[0]} if own else {**text, **fields}


def _members(document: Any) -> Any:
    """Return an object or a row of a database as a mapping; a value without members is returned unchanged."""
    if isinstance(document, dict):
        return document
    read = getattr(document, "_asdict", None) or getattr(document, "model_dump", None)
    if read:
        return read()
    if is_dataclass(document):
        return {field.name: getattr(document, field.name) for field in fields_of(document)}
    if callable(getattr(document, "keys", None)):
        return dict(document)
    return getattr(document, "__dict__", None) or document


def text_of(value: Any) -> str | None:
    """Return the text of a text, an object with `text` (Bedrock, OpenAI) or a list of them, joined; None for others."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else [value]
    texts: list[Any] = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return " ".join(texts) if texts and all(isinstance(text, str) for text in texts) else None


def pop_id(members: dict[str, Any], keys: Sequence[str]) -> str:
    """Remove the first of some keys that an object has; return its value, checked, as the id."""
    key = next((key for key in keys if key in members), None)
    if key is None:
        got = shown(", ".join(members)) if members else "no key"
        raise LineFault(
            f"expected an id as {', '.join(keys)}, got {got}. Write each document alone, with the key `{keys[0]}`."
        )
    return id_text(key, members.pop(key))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and bool(value) and {str}.issuperset(map(type, value)))


def _fields(members: dict[str, Any], named: frozenset[str] | None, others: bool) -> dict[str, Any]:
    """Return the id and the fields of a JSON object."""
    document: dict[str, Any] = {"id": pop_id(members, ID_KEYS)}
    for key, value in members.items():
        is_named = named is None or key in named
        if _is_text(value) or (isinstance(value, int | float) and not isinstance(value, bool)):
            if is_named or others:
                document[key] = value
        elif named is not None and is_named and value not in (None, [], {}):
            raise LineFault(
                f"expected text or a number as {shown(key)}, got {shown(json.dumps(value))}. "
                "Write it as text, drop the key, or name the fields to take (--fields).",
            )
    return document

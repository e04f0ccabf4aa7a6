"""Documents from JSON, in a file or a folder of files, plain or gzip: one object a line, an array, or several lines.

    {"id": "d1", "title": "Heat flow", "body": "…", "year": 1967}

id      `id`, `_id`, `docid`, `doc_id` or `docno` (the first of these that exists): text without white space, or a whole
        number
fields  every other key: text, a list of texts, or a number, which stays a number; null, [] and {} are left out, and so
        are true, false and nested values (BEIR's `metadata`), which a warning counts; in `fields` they are refused
folder  all files below it that end in .jsonl or .json (also with .gz), ordered by path; a warning names other files. Of
        a folder of BEIR, corpus.jsonl alone

Data sets of ir_datasets, named `irds:NAME` wherever a corpus, topics or qrels are.

The package ir_datasets is imported when a data set is read. It downloads a data set once and keeps it in its own folder
(`IR_DATASETS_HOME`).

corpus   `contents` is the document's default text; where this joins several fields, these are fields of the index, too.
         Other fields are read where they are named, numbers always.
topics   the default text of each query
qrels    query, document, relevance

Documents from TREC SGML: `<DOC>` with its `<DOCNO>`, in a file or a folder of files, plain or gzip.

    <DOC>
    <DOCNO> LA010189-0001 </DOCNO>
    <TEXT> ... </TEXT>
    </DOC>

Tags may be in lower case, have attributes and be anywhere in a line. A document is converted to a form that Anserini's
TrecCollection, which reads line by line, reads completely. Input that TrecCollection drops silently is refused: a <DOC>
without </DOC>, nested ones, one without <DOCNO> or with two, and text outside of documents. Files without <DOC> are
skipped, and so are those that Anserini skips: folders `cr`, `dtd`, `dtds` and files `readme*`.
"""

from __future__ import annotations

import codecs
import json
import re
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal

from rerank.errors import FileFormatError, InvalidInputError, log, shown, suggestion
from rerank.files.source import (
    BYTE_ORDER_MARK,
    MOST_BYTES,
    FileLike,
    LineFault,
    check_ids,
    checked_path,
    file_mode,
    id_text,
    json_objects,
    of_line,
    open_source,
    refuse_repeats,
    refuse_stray,
    text_lines,
)
from rerank.types import Qrels, query_rows

PREFIX = "irds:"
INSTALL = "pip install ir-datasets"
_HAS = {"docs": "documents", "queries": "topics", "qrels": "qrels"}
ID_KEYS = ("id", "_id", "docid", "doc_id", "docno")
JSON_ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
BEIR = ("corpus.jsonl", "queries.jsonl")  # files of a folder
BEGINNING = 1 << 16  # bytes by which the format is detected
ELEMENTS = (
    "TEXT",
    "HEADLINE",
    "TITLE",
    "HL",
    "HEAD",
    "TTL",
    "DD",
    "DATE",
    "LP",
    "LEADPARA",
)  # that Anserini indexes
_SKIPPED_FOLDERS = frozenset(["cr", "dtd", "dtds"])
_BLOCK = 1 << 20
_HAS_DOC = re.compile(rb"<doc[\s>]", re.IGNORECASE)
_DOC = re.compile(r"<(/?)doc(?:\s[^<>]*)?>", re.IGNORECASE)
_DOCNO_BEGIN = re.compile(r"<docno(?:\s[^<>]*)?>", re.IGNORECASE)
_DOCNO_END = re.compile(r"</docno\s*>", re.IGNORECASE)
_TAG = re.compile(rf"<(/?)({'|'.join(ELEMENTS)})(?:\s[^<>]*)?>", re.IGNORECASE)
# What stray text is refused with; the blanks have 0x1a, the end of file in DOS.
_WITHIN = ("text within <DOC> and </DOC>", "Enclose or remove it", " \t\r\n\x1a")


def data_set_name(path: FileLike) -> str | None:
    """Return NAME of `irds:NAME`, None for any other path."""
    text = path.as_posix() if isinstance(path, PurePath) else str(path)  # Windows has backslashes in paths
    return text.removeprefix(PREFIX) if text.startswith(PREFIX) else None


def data_set_topics(name: str) -> Iterator[tuple[str, str]]:
    """Return the id and the text of each topic of a data set."""
    return ((str(query.query_id), " ".join(_default_text(query).split())) for query in _entries(name, "queries"))


def data_set_qrels(name: str) -> Qrels:
    """Return the judgements of a data set."""
    source = Path(f"{PREFIX}{name}")
    rows = [(str(entry.query_id), str(entry.doc_id), entry.relevance) for entry in _entries(name, "qrels")]
    query_ids, doc_ids, labels = map(list, zip(*rows, strict=True))
    fraction = next((label for label in labels if label != int(label)), None)
    if fraction is not None:
        raise FileFormatError(source, None, f"expected whole numbers as relevance, got {fraction}. Round them.")
    of_line(source, None, check_ids, "", dict.fromkeys(query_ids), dict.fromkeys(doc_ids))
    qrels = Qrels.from_rows(query_ids, doc_ids, labels)
    refuse_repeats(source, qrels.query_ids, query_rows(qrels.query_ptr), qrels.doc_ids)
    return qrels


def _joined_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields that the default text of a class of documents joins; none if it is a single field."""
    marks = {field: f"\x01{field}\x01" for field in kind._fields}
    try:
        text = kind(**marks).default_text()
    except (AttributeError, TypeError, ValueError, KeyError):  # its fields are objects, and the marks are text
        return ()
    fields = tuple(field for field, mark in marks.items() if mark in str(text))
    return fields if len(fields) > 1 else ()


def _default_text(entry: Any) -> str:
    """Return the default text of a document or query; all its texts, joined, where its class defines none."""
    if hasattr(entry, "default_text"):
        return str(entry.default_text())
    texts = [value for field, value in entry._asdict().items() if isinstance(value, str) and not field.endswith("_id")]
    return " ".join(texts)


def _entries(name: str, part: str) -> Iterator[Any]:
    """Return an iterator over a part of a data set; errors of the library are raised as one-line errors."""
    try:
        import ir_datasets
    except ModuleNotFoundError as error:
        if error.name != "ir_datasets":
            raise
        raise InvalidInputError(
            f"{PREFIX}{name}: expected the package ir_datasets, got none. Run `{INSTALL}`."
        ) from None
    try:
        data_set = ir_datasets.load(name)
    except KeyError:
        near = suggestion(name, list(ir_datasets.registry))
        remedy = near if near.startswith("Did") else "See the catalogue of ir_datasets, `ir_datasets list`."
        raise InvalidInputError(
            f"{PREFIX}{name}: expected the name of a data set of ir_datasets, got {shown(name)}. {remedy}"
        ) from None
    if not data_set.has(part):
        parts = [text for other, text in _HAS.items() if data_set.has(other)]
        raise InvalidInputError(
            f"{PREFIX}{name}: expected a data set with {_HAS[part]}, got one with {', '.join(parts) or 'none'}. "
            "Name another of `ir_datasets list`, or a file."
        )
    return _read(name, part, data_set)


def _read(name: str, part: str, data_set: Any) -> Iterator[Any]:
    """Yield the entries; errors of the library (files, network, formats) have no common class."""
    is_empty = True
    try:
        for entry in getattr(data_set, f"{part}_iter")():
            is_empty = False
            yield entry
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise InvalidInputError(
            f"{PREFIX}{name}: expected its {_HAS[part]}, got {type(error).__name__}: {reason}. Check the network and "
            f"the disk, and what ir_datasets documents on {name}."
        ) from error
    if is_empty:
        raise InvalidInputError(f"{PREFIX}{name}: expected {_HAS[part]}, got none. Name another data set.")


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
    """Read documents one by one from JSONL.

    Parameters
    ----------
    path : str, Path or file object
        A file, or a folder of files; or `irds:NAME`, a data set of ir_datasets.
    fields : collection of str, optional
        Keys to read; all others are left out. All keys by default.
    others : bool, default=False
        Whether other keys are read too if they have text or a number.
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
        left_out: dict[str, tuple[str, int]] = {}  # by key: where its first value is, and their number
        for file in files:
            for line, members in json_objects(file, encoding):
                document = CorpusDocument(f"{file}:{line}", documents)
                document.update(of_line(file, line, _fields, members, named, others))
                for key in members.keys() - document.keys() if named is None else ():
                    if members[key] not in (None, [], {}):
                        first, count = left_out.get(key, (document.location, 0))
                        left_out[key] = first, count + 1
                yield document
        if left_out:
            counts = ", ".join(f"{key} ({count:,}, first in {first})" for key, (first, count) in left_out.items())
            log.warning("documents: left out values that are neither text nor numbers: %s", counts)

    return documents()


def _of_data_set(name: str, fields: Collection[str] | None) -> Iterator[CorpusDocument]:
    """Return the documents of a data set of ir_datasets; raise its errors now."""
    entries = _entries(name, "docs")

    def documents() -> Iterator[CorpusDocument]:
        taken = fields
        for number, entry in enumerate(entries, 1):
            if taken is None:
                taken = _joined_fields(type(entry))
            values = entry._asdict()
            document = CorpusDocument(f"{PREFIX}{name}: document {number}", lambda: _of_data_set(name, fields))
            document.update(id=str(values.pop("doc_id")), contents=_default_text(entry))
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
            f"encoding: expected the name of one that extends ASCII, got {encoding!r}. Write e.g. utf-8, latin-1 or "
            "cp1252, or convert the corpus with `iconv`."
        )
    return name


def corpus_format(path: str | Path) -> Literal["jsonl", "trec", "irds"]:
    """Return the format of a corpus, detected by the beginning of the first file that shows it."""
    if data_set_name(path) is not None:
        return "irds"
    path = Path(path)
    for file in corpus_files(path):
        with open_source(file) as handle:
            beginning = handle.read(BEGINNING).removeprefix(BYTE_ORDER_MARK).lstrip()
        if beginning.startswith((b"{", b"[")):
            return "jsonl"
        if re.search(rb"<DOC>", beginning, re.IGNORECASE):
            return "trec"
    raise FileFormatError(
        path,
        None,
        "expected JSON objects, one a line, or TREC documents in <DOC>, got neither. Convert the corpus.",
    )


def corpus_files(path: Path) -> list[Path]:
    """Return the files below a folder without hidden ones, or the file itself."""
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
    if not files:
        raise FileFormatError(
            path, None, f"expected files that end in {', '.join(JSON_ENDINGS)}, got none. Rename the files."
        )
    return files


def warn_of_skipped(files: list[Path], why: str) -> None:
    """Log a warning about skipped files, which names the first few; nothing where there are none."""
    if files:
        names = ", ".join(str(file) for file in files[:3]) + (", ..." if len(files) > 3 else "")
        log.warning("Files of the corpus skipped, since they %s: %d (%s).", why, len(files), names)


def _fields(members: dict[str, Any], named: frozenset[str] | None, others: bool) -> dict[str, Any]:
    """Return the id and the fields of a JSON object."""
    id_key = next((key for key in ID_KEYS if key in members), None)
    if id_key is None:
        keys = shown(", ".join(members)) if members else "no key"
        raise LineFault(f"expected an id as {', '.join(ID_KEYS)}, got {keys}. Add the key `id`.")
    document: dict[str, Any] = {"id": id_text(id_key, members.pop(id_key))}
    for key, value in members.items():
        is_named = named is None or key in named
        is_texts = isinstance(value, list) and bool(value) and all(isinstance(text, str) for text in value)
        is_text = isinstance(value, str) or is_texts
        if is_text or (isinstance(value, int | float) and not isinstance(value, bool)):
            if is_named or others:
                document[key] = value
        elif named is not None and is_named and value not in (None, [], {}):
            raise LineFault(
                f"expected text or a number as {shown(key)}, got {shown(json.dumps(value))}. "
                "Write it as text, drop the key, or name the fields to take (--fields).",
            )
    return document


@dataclass(frozen=True)
class SgmlDocument:
    """A document with its file and line.

    Parameters
    ----------
    doc_id : str
        The id.
    text : str
        Everything but the id; tags of ELEMENTS are at the beginning or end of a line.
    file : Path
        The file.
    line : int
        Line of its <DOC>, 1-based.

    """

    doc_id: str
    text: str
    file: Path
    line: int

    @property
    def location(self) -> str:
        """`file:line` of its <DOC>."""
        return f"{self.file}:{self.line}"

    @property
    def is_indexed(self) -> bool:
        """Whether it has an element that Anserini indexes."""
        return _TAG.search(self.text) is not None


@dataclass(frozen=True)
class SgmlFiles:
    """The files of a corpus.

    Parameters
    ----------
    read : list of Path
        Files that this package reads.
    excluded : list of Path
        Files that are skipped because Anserini skips them.
    others : list of Path
        Files that are skipped because they have no <DOC>.

    """

    read: list[Path]
    excluded: list[Path]
    others: list[Path]


def sgml_files(path: str | Path) -> SgmlFiles:
    """Return the files of a corpus by what becomes of them."""
    path = Path(path)
    sorted_files = SgmlFiles([], [], [])
    for file in corpus_files(path):
        parts = file.relative_to(path).parts if path.is_dir() else ()
        if _SKIPPED_FOLDERS.intersection(part.lower() for part in parts[:-1]) or (
            parts and parts[-1].lower().startswith("readme")
        ):
            sorted_files.excluded.append(file)
        elif _has_documents(file):
            sorted_files.read.append(file)
        else:
            sorted_files.others.append(file)
    return sorted_files


def read_sgml(files: list[Path], encoding: str = "utf-8") -> Iterator[SgmlDocument]:
    """Yield the documents of files; raise FileFormatError, with the line, for text that Anserini would drop."""
    return (document for file in files for document in _documents(file, encoding))


def _has_documents(path: Path) -> bool:
    end = b""
    with open_source(path) as handle:
        while block := handle.read(_BLOCK):
            if _HAS_DOC.search(end + block):
                return True
            end = block[-8:]
    return False


def _documents(path: Path, encoding: str) -> Iterator[SgmlDocument]:
    """Yield the documents of a file."""
    open_line: int | None = None  # line of the open <DOC>
    parts: list[str] = []
    first_line = 1  # of the parts
    n_letters = 0  # in the parts
    for line, content in text_lines(path, encoding):
        before, *tags = _DOC.split(content) if "<" in content else [content]  # then a tag's slash, and what follows it
        parts.append(before)
        for slash, after in zip(tags[::2], tags[1::2], strict=True):
            if open_line is None and slash:
                raise FileFormatError(path, line, "expected <DOC> before </DOC>, got none. Add it.")
            if open_line is None:
                refuse_stray(path, first_line, "".join(parts), *_WITHIN)
            elif slash:
                yield _document(path, open_line, "".join(parts))
            else:
                raise _not_closed(path, open_line, f"<DOC> on line {line}")
            open_line = None if slash else line
            parts = [after]
            first_line = line
            n_letters = 0
        parts.append("\n")
        n_letters += len(content)
        if n_letters > MOST_BYTES:
            raise FileFormatError(
                path,
                open_line or first_line,
                f"expected documents of at most {MOST_BYTES:,} characters, got more. Check its </DOC>.",
            )
    if open_line is not None:
        raise _not_closed(path, open_line, "the end of the file")
    refuse_stray(path, first_line, "".join(parts), *_WITHIN)


def _not_closed(path: Path, line: int, got: str) -> FileFormatError:
    return FileFormatError(path, line, f"expected </DOC> for this <DOC>, got {got}. Add it, or fetch the file anew.")


def _document(path: Path, line: int, block: str) -> SgmlDocument:
    opening = list(_DOCNO_BEGIN.finditer(block))
    closing = _DOCNO_END.search(block, opening[0].end()) if len(opening) == 1 else None
    if closing is None:
        got = "one without </DOCNO>" if len(opening) == 1 else str(len(opening) or "none")
        raise FileFormatError(
            path, line, f"expected one <DOCNO> in the document that begins here, got {got}. Correct it."
        )
    rest = block[: opening[0].start()] + "\n" + block[closing.end() :]
    doc_id = block[opening[0].end() : closing.start()].strip()
    lines = _TAG.sub(lambda tag: f"</{tag[2].upper()}>\n" if tag[1] else f"\n<{tag[2].upper()}>", rest)
    return SgmlDocument(doc_id, lines, path, line)

"""Reading input files, plain or gzip (detected by the first bytes); every fault is an error of one line.

line    1-based
chunk   many complete lines as bytes, each with a newline at its end
record  what a line says; a function that makes it knows the line alone and raises InvalidInputError, which `of_line`
        turns into the error of the file and the line
A byte order mark is removed; text is UTF-8. Lines end in LF or CR LF; a CR alone is refused.
"""

import atexit
import gzip
import hashlib
import io
import json
import math
import os
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, log, shown
from rerank.runtime.json_text import ParseFault, check_nesting, parse_json, parse_toml
from rerank.runtime.output import path_of
from rerank.types.data_frames import HEADERS, plain_name
from rerank.types.ids import ID, ID_RULE, QUERY_ID, QUERY_RULE, WHITE_SPACE, Ids, Words, first_broken, repeated_row
from rerank.types.query_rows import Ints

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LOADED = "Load it in Python, and pass the mapping or the frame"
OTHERS = {  # beginning of a file: its format, and what to do
    b"\xfd7zXZ\0": ("xz", "Convert it with `xz -d`"),
    b"\x28\xb5\x2f\xfd": ("Zstandard", "Convert it with `zstd -d`"),
    b"\x04\x22\x4d\x18": ("LZ4", "Convert it with `lz4 -d`, or save a run of ranx as .trec"),
    b"\x1f\x9d": ("the output of compress", "Convert it with `gunzip`"),
    b"BZh91AY&SY": ("bzip2", "Convert it with `bzip2 -d`"),
    b"PK\x03\x04": ("zip", "Convert it with `unzip`"),
    b"\xff\xfe": ("UTF-16", "Convert it with `iconv -f UTF-16 -t UTF-8`"),
    b"\xfe\xff": ("UTF-16", "Convert it with `iconv -f UTF-16 -t UTF-8`"),
    b"\x83cCAR": ("CBOR of TREC CAR", "Read it with ir_datasets: irds:car/v1.5"),
    b"PAR1": ("Parquet", _LOADED),
    b"ARROW1": ("Arrow", _LOADED),
    b"\x89HDF": ("HDF5", _LOADED),
    b"SQLite format 3\0": ("a database of SQLite", _LOADED),
    **dict.fromkeys((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), ("a pickle", _LOADED)),
    b"ustar": ("tar", "Unpack it with `tar xf`"),  # from byte 257 on
    b"version https://git-lfs": ("the pointer of Git LFS to it", "Fetch it with `git lfs pull`"),
    b".I ": (
        "the format of SMART",
        'Write lines of id, tab and text with `awk \'/^\\.I/{printf "%s%s\\t", n, $2; n = "\\n"; next} '
        '/^\\.[A-Z]/{w = /^\\.[TW]/; next} w{printf "%s ", $0} END{print ""}\'`',
    ),
}
CHUNK_BYTES = 1 << 22
MOST_BYTES = 1 << 27  # of a line, and of a text that is read as a whole
Parsed = TypeVar("Parsed")
FileLike = str | Path | IO[Any]
_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[\s,]*")
_LONE_RETURN = re.compile(rb"\r(?![\r\n])")
MOST_DIGITS = 18  # of a whole number
AT_ENDS = 1 << 20  # bytes that are read at either end
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_NO_LINE_END = re.compile(r"[^\n]")
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
_OF_LOG = re.compile(r"topics\.tsv|candidates\.run|features-[0-9a-f]{8}\.svm")


class LineFault(InvalidInputError):
    """What is wrong with a line; the reader of the file knows where the line is."""


def of_line(path: Path, line: int | None, parse: Callable[..., Parsed], *content: Any) -> Parsed:
    """Return what `parse` returns for the content of a line; raise what is wrong with it as an error of the file."""
    try:
        return parse(*content)
    except InvalidInputError as fault:
        raise FileFormatError(path, line, str(fault)) from None


def value_of(parse: Callable[[Any], Parsed | None], content: Any, expected: str, remedy: str) -> Parsed:
    """Return what `parse` makes of some content of a line; refuse content of which it makes nothing."""
    value = parse(content)
    if value is None:
        raise LineFault(f"expected {expected}, got {shown(content)}. {remedy}.")
    return value


def records(
    path: Path, expected: str, parse: Callable[[str], Parsed], has_names: bool = False
) -> Iterator[tuple[int, Parsed]]:
    """Yield the line and the record of all lines but comments, blank ones, and a first one of the columns' names.

    Without any, `expected` were expected.
    """
    lines = filled_lines(path, comments="#")
    first = list(islice(lines, 2))
    columns = first[0][1].split() if first else [""]
    first = first[has_names or (is_header(columns[0]) and finite_number(columns[-1].encode()) is None) :]
    if not first:
        raise FileFormatError(path, None, f"expected lines of {expected}, got no line. Name a file with rows.")
    for line, content in chain(first, lines):
        yield line, of_line(path, line, parse, content)


def tab_columns(content: str, expected: str, *numbers: int) -> list[str]:
    """Return the columns of a line, between tabs without blanks around them; there are as many as one of `numbers`."""
    columns = [column.strip(WHITE_SPACE) for column in content.split("\t")]
    if len(columns) not in numbers:
        raise LineFault(f"expected {expected} with tabs between them, got {len(columns)}. Put one tab between two.")
    return columns


def check_ids(what: str, query_ids: Iterable[str], others: Iterable[str] = ()) -> None:
    """Refuse ids that a file cannot hold or a reader would refuse; `what` is put before the message."""
    for names, form, rule in ((query_ids, QUERY_ID, QUERY_RULE), (others, ID, ID_RULE)):
        broken = first_broken(names, form)
        if broken is not None:
            raise InvalidInputError(f"{what}expected ids {rule}, got {shown(broken)}. Rename it.")


def refuse_repeats(
    path: Path,
    names: Sequence[str] | Ids,
    query: Ints,
    docs: NDArray[Any],
    lines: Iterable[int] | None = None,
    codes: Words | None = None,
    remedy: str = "",
) -> None:
    """Refuse a document that is twice in a query; `lines` are those of the rows, `remedy` what else can be done."""
    row = repeated_row(query, docs, codes)
    if row is not None:
        where, what = (f" at row {row}", "rows") if lines is None else ("", "lines")
        raise FileFormatError(
            path,
            None if lines is None else int(next(islice(lines, row, None))),
            f"expected each document once in a query, got {shown(docs[row].item())} again in query "
            f"{shown(str(names[query[row]]))}{where}. Remove one of the two {what}{remedy}.",
        )


def id_text(name: str, value: object) -> str:
    """Return an id of a JSON object, which is text or a whole number, as text."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise LineFault(f"expected text or a whole number as {name}, got {shown(json.dumps(value))}. Correct it.")
    check_ids(f"{name}: ", (), [str(value)])
    return str(value)


def checked_path(path: Any) -> Path:
    """Return a path, of a file object that of a copy of the rest of it; refuse anything else in one line."""
    if callable(getattr(path, "read", None)):
        return _copy(path)
    return path_of(path)


def _copy(file: IO[Any]) -> Path:
    """Return the path of a file of the same name with what a file object still holds, until the process ends."""
    try:
        content = file.read()
    except ValueError as fault:  # a closed file, or text of another encoding
        message = f"file: expected one that can be read, got one that fails ({fault}). Open it anew."
        raise InvalidInputError(message) from None
    folder = Path(tempfile.mkdtemp(prefix="rerank-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copied = folder / Path(str(getattr(file, "name", None) or "file")).name
    copied.write_bytes(content.encode("utf8", "surrogatepass") if isinstance(content, str) else content)
    return copied


def check_file(path: FileLike, expected: str) -> Path:
    """Return the path of an input file."""
    path = checked_path(path)
    if stat.S_ISDIR(file_mode(path, expected)):
        raise FileFormatError(path, None, f"expected {expected}, got a folder. Name a file in it.")
    return path


def file_mode(path: Path, expected: str) -> int:
    """Return the mode of a file; raise MissingFileError if there is none."""
    with _system_errors(path, expected):
        return os.stat(path).st_mode


@contextmanager
def open_source(path: Path) -> Iterator[BinaryIO]:
    """Yield a handle to the uncompressed bytes of a file; a file that cannot be read raises FileFormatError."""
    with _system_errors(path, "a file"), open(path, "rb") as raw:
        packed = raw.peek(2)[:2] == GZIP_MAGIC
        yield cast(BinaryIO, io.BufferedReader(gzip.GzipFile(fileobj=raw), 1 << 17)) if packed else raw


@contextmanager
def _system_errors(path: Path, expected: str) -> Iterator[None]:
    """Turn the errors of opening and reading a file into errors of this package."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as fault:
        stdin = " (standard input is /dev/stdin)" if str(path) == "-" and os.name == "posix" else ""
        raise MissingFileError(path, f"{expected}{stdin}") from fault
    except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
        message = "expected a whole gzip file, got a damaged one. Make or fetch it again."
        raise FileFormatError(path, None, message) from fault
    except OSError as fault:
        reason = os.strerror(fault.errno) if fault.errno else "an error of the system"
        message = f"expected {expected} that can be read, got: {reason}. Check the path, its rights and the disk."
        raise FileFormatError(path, None, message) from fault


def chunks(path: Path, size: int = CHUNK_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield the number of the first line and the complete lines of each chunk of about `size` bytes."""
    with open_source(path) as handle:
        line = 1
        rest = b""
        first = True
        while block := handle.read(size):
            if first:
                refuse_others(path, block)
            block = rest + (block.removeprefix(BYTE_ORDER_MARK) if first else block)
            first = False
            end = block.rfind(b"\n") + 1
            chunk = block[:end]
            rest = block[end:]
            if len(rest) > MOST_BYTES:
                message = (
                    f"expected lines of at most {MOST_BYTES:,} bytes, got a longer one. Divide it, or name another."
                )
                raise FileFormatError(path, line + chunk.count(b"\n"), message)
            if chunk:
                _refuse_lone_returns(path, line, chunk)
                yield line, chunk
                line += int(np.count_nonzero(np.frombuffer(chunk, dtype=np.uint8) == ord("\n")))
        if rest and _is_of_log(path):
            log.warning("%s:%d: expected a line with its end, got a part of one. It is left out.", path, line)
        elif rest:
            _refuse_lone_returns(path, line, rest + b"\n")
            yield line, rest + b"\n"


def refuse_others(path: Path, beginning: bytes) -> None:
    """Refuse a file that begins as one of another format."""
    beginning = beginning[257:] if beginning[257:262] == b"ustar" else beginning
    for kind, remedy in (other for start, other in OTHERS.items() if beginning.startswith(start)):
        raise FileFormatError(path, None, f"expected text or gzip, got {kind}. {remedy}.")


def _is_of_log(path: Path) -> bool:
    """Return whether a file is one of `rerank serve --log`, whose lines have ends unless the process was killed."""
    return bool(_OF_LOG.fullmatch(path.name)) and any(
        (path.parent / name).exists() for name in (".key", "events.jsonl")
    )


def text_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line, without its line end."""
    for first, chunk in chunks(path):
        for line, raw in enumerate(chunk.removesuffix(b"\n").split(b"\n"), first):
            yield line, of_line(path, line, text, raw.rstrip(b"\r"), encoding)


def read_text(path: str | Path, expected: str) -> str:
    """Return the text of a file, plain or gzip; `expected` is as for `check_file`."""
    path = check_file(path, expected)
    with open_source(path) as handle:
        raw = handle.read(MOST_BYTES + 1).removeprefix(BYTE_ORDER_MARK)
    if len(raw) > MOST_BYTES:
        raise FileFormatError(path, None, f"expected {expected} of at most {MOST_BYTES:,} bytes, got more. Shorten it.")
    return "\n".join(of_line(path, line, text, content) for line, content in enumerate(raw.split(b"\n"), 1))


def text(raw: bytes, encoding: str = "utf-8") -> str:
    """Return the bytes of a line as text; refuse another encoding and NUL bytes."""
    try:
        decoded = raw.decode(encoding)
    except UnicodeDecodeError as fault:
        convert = "Convert the file, e.g. with `iconv -f LATIN1 -t UTF-8` (`rerank index` takes --encoding latin-1)."
        remedy = convert if encoding == "utf-8" else "Name another encoding."
        byte = f"byte 0x{raw[fault.start]:02x}"
        raise LineFault(f"expected {encoding.upper()} text, got {byte}. {remedy}") from None
    if "\0" in decoded:
        raise LineFault("expected text, got a NUL byte. Name a text file.")
    return decoded


def _refuse_lone_returns(path: Path, first_line: int, lines: bytes) -> None:
    """Refuse CR as a line end (classic Mac OS), since such a file would be read as one line."""
    if b"\r" not in lines or lines.count(b"\r") == lines.count(b"\r\n"):
        return
    lone = _LONE_RETURN.search(lines)
    if lone is not None:
        raise FileFormatError(
            path,
            first_line + lines.count(b"\n", 0, lone.start()),
            "expected lines that end in LF or CR LF, got a CR alone. Convert them, e.g. with `tr '\\r' '\\n'`.",
        )


def is_header(query_id: str) -> bool:
    """Return whether an id is a common name of the column of query ids."""
    return plain_name(query_id) in (*HEADERS, "id")


def whole_number(token: str) -> int | None:
    """Return the whole number in a text, of at most 18 digits without a sign, or None."""
    return int(token) if token.isascii() and token.isdigit() and len(token) <= MOST_DIGITS else None


def finite_number(token: bytes) -> float | None:
    """Return the finite number in the bytes, or None."""
    try:
        number = math.nan if b"_" in token else float(token)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


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


def filled_lines(path: Path, encoding: str = "utf-8", comments: str = "\0") -> Iterator[tuple[int, str]]:
    """Yield what `text_lines` does without blank lines and those that begin with `comments`."""
    lines = text_lines(path, encoding)
    return ((line, content) for line, content in lines if content.strip() and not content.startswith(comments))


def json_objects(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of every line of a JSONL file; blank lines are skipped.

    A file that holds an array of objects, or objects over several lines, is read as a whole. What a search engine found
    are the objects of its answer.
    """
    return objects_of_lines(path, text_lines(path, encoding))


def hits_of(members: Any) -> list[Any]:
    """Return the hits in the answer of a search engine; another object alone."""
    for path in _HITS if "id" not in members and "_id" not in members else ():
        found: Any = reduce(
            lambda inside, name: inside.get(name) if isinstance(inside, Mapping) else None, path, members
        )
        if isinstance(found, list) and all(isinstance(hit, Mapping) for hit in found):
            return found
    return [members]


def objects_of_lines(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what `json_objects` does of the lines of a file."""
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
    """Yield the line and the object of each part of a text that begins at a line, of its array or not."""
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
        message = "expected one array of JSON objects, got one without its end, or more behind it. Correct it."
        raise FileFormatError(path, line, message)


def _after_blanks(content: str, at: int) -> int:
    """Return where blanks, line ends and commas end."""
    found = _BLANKS.match(content, at)
    return at if found is None else found.end()


def read_toml(path: str | Path, expected: str) -> dict[str, Any]:
    """Return the table of a TOML file, plain or gzip."""
    text = read_text(path, expected)
    try:
        return parse_toml(text)
    except ParseFault as fault:
        raise FileFormatError(path, fault.line, f"expected TOML, got {fault}. Correct it.") from None


def file_mark(path: str | Path) -> str:
    """Return the size of a file and the sha256 of its first and last bytes, as text."""
    with open(check_file(path, "a file"), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        content = hashlib.sha256(file.read(AT_ENDS))
        file.seek(max(size - AT_ENDS, 0))
        content.update(file.read(AT_ENDS))
    return f"{size} {content.hexdigest()}"


def without_comments(text: str) -> str:
    """Return the text with blanks for comments; line ends stay."""
    closed, mark, rest = text.rpartition("-->")  # a comment that is not closed would be looked for to the end
    return _COMMENT.sub(_blanked, closed + mark) + rest


def without_markup(text: str) -> str:
    """Return the text with blanks for comments and tags; line ends stay."""
    return _TAG.sub(_blanked, without_comments(text))


def refuse_stray(path: Path, line: int, between: str, expected: str, remedy: str, blanks: str | None = None) -> None:
    """Refuse text other than comments, tags and blanks in what begins in a line."""
    bare = without_markup(between)
    stray = bare.lstrip(blanks)
    if stray:
        first = line + bare.count("\n", 0, len(bare) - len(stray))
        raise FileFormatError(path, first, f"expected {expected}, got {shown(stray.splitlines()[0])}. {remedy}.")


def _blanked(markup: re.Match[str]) -> str:
    return _NO_LINE_END.sub(" ", markup[0])

"""Reading input files, plain or gzip (detected by the first bytes); every fault is an error of one line.

line    1-based
chunk   many complete lines as bytes, each with a newline at its end
record  what a line says; the function that makes it sees the line alone and raises InvalidInputError, to which
        `of_line` adds the file and the line
A byte order mark is removed; text is UTF-8. Lines end in LF or CR LF; a CR alone is refused.
"""

import atexit
import gzip
import hashlib
import io
import os
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar, cast

import numpy as np

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, log, shown
from rerank.runtime.json_text import ParseFault, parse_toml
from rerank.runtime.output import path_of, reason_of

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LOADED = "Load it in Python, and pass the mapping or the frame"
OTHERS = {  # beginning of a file -> its format, and what to do
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
_LONE_RETURN = re.compile(rb"\r(?![\r\n])")
AT_ENDS = 1 << 20  # bytes that `file_mark` reads at the beginning, and as many at the end
_OF_LOG = re.compile(r"topics\.tsv|candidates\.run|features-[0-9a-f]{8}\.svm")


class LineFault(InvalidInputError):
    """What is wrong with a line; the reader of the file knows where the line is."""


def of_line(path: Path, line: int | None, parse: Callable[..., Parsed], *content: Any) -> Parsed:
    """Return parse(*content) for a line, or None for the whole file; add the file and the line to its error."""
    try:
        return parse(*content)
    except InvalidInputError as fault:
        raise FileFormatError(path, line, str(fault)) from None


def value_of(parse: Callable[[Any], Parsed | None], content: Any, expected: str, remedy: str) -> Parsed:
    """Return parse(content), a value of a line; refuse content for which `parse` returns None."""
    value = parse(content)
    if value is None:
        raise LineFault(f"expected {expected}, got {shown(content)}. {remedy}.")
    return value


def checked_path(path: Any) -> Path:
    """Return the path of a file; a file object is copied from where it stands. Refuse anything else in one line."""
    return _copy(path) if callable(getattr(path, "read", None)) else path_of(path)


def _copy(file: IO[Any]) -> Path:
    """Return the path of a copy of the rest of a file object, under the same name; it is deleted when Python exits."""
    try:
        content = file.read()
    except ValueError as fault:  # a closed file, or text of another encoding
        raise InvalidInputError(
            f"file: expected one that can be read, got one that fails ({fault}). Open it anew."
        ) from None
    folder = Path(tempfile.mkdtemp(prefix="rerank-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copied = folder / Path(str(getattr(file, "name", None) or "file")).name
    copied.write_bytes(content.encode("utf8", "surrogatepass") if isinstance(content, str) else content)
    return copied


def check_file(path: FileLike, expected: str) -> Path:
    """Return the path of an input file; `expected` says in errors what the file holds: "a file of folds"."""
    path = checked_path(path)
    if stat.S_ISDIR(file_mode(path, expected)):
        raise FileFormatError(path, None, f"expected {expected}, got a folder. Name a file in it.")
    return path


def file_mode(path: Path, expected: str) -> int:
    """Return the mode of a file; raise MissingFileError if there is no such file."""
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
        raise FileFormatError(
            path, None, "expected a whole gzip file, got a damaged one. Make or fetch it again."
        ) from fault
    except OSError as fault:
        raise FileFormatError(
            path,
            None,
            f"expected {expected} that can be read, got: {reason_of(fault)}. Check the path, its rights and the disk.",
        ) from fault


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
                raise FileFormatError(
                    path,
                    line + chunk.count(b"\n"),
                    f"expected lines of at most {MOST_BYTES:,} bytes, got a longer one. Divide it.",
                )
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
    """Refuse a file whose beginning is that of a format in `OTHERS`."""
    beginning = beginning[257:] if beginning[257:262] == b"ustar" else beginning
    for start, (kind, remedy) in OTHERS.items():
        if beginning.startswith(start):
            raise FileFormatError(path, None, f"expected text or gzip, got {kind}. {remedy}.")


def _is_of_log(path: Path) -> bool:
    """Return whether `rerank serve --log` wrote a file: its last line is cut where the process was killed."""
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
    """Return the bytes of a line as text; refuse bytes of another encoding, and NUL."""
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


def filled_lines(path: Path, comments: str = "\0") -> Iterator[tuple[int, str]]:
    """Yield the lines of `text_lines` that are not blank and do not begin with `comments`; NUL begins none."""
    return (
        (line, content) for line, content in text_lines(path) if content.strip() and not content.startswith(comments)
    )


def read_toml(path: str | Path, expected: str) -> dict[str, Any]:
    """Return the table of a TOML file, plain or gzip."""
    content = read_text(path, expected)
    try:
        return parse_toml(content)
    except ParseFault as fault:
        raise FileFormatError(path, fault.line, f"expected TOML, got {fault}. Correct it.") from None


def file_mark(path: str | Path) -> str:
    """Return the size of a file and the sha256 of its first and last `AT_ENDS` bytes, as text."""
    path = check_file(path, "a file")
    with _system_errors(path, "a file"), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        content = hashlib.sha256(file.read(AT_ENDS))
        file.seek(max(size - AT_ENDS, 0))
        content.update(file.read(AT_ENDS))
    return f"{size} {content.hexdigest()}"

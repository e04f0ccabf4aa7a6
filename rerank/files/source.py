"""Bytes of input files: plain or gzip (told by the first bytes), with every fault named in one line.

line    1-based, as editors count
chunk   many whole lines as bytes, each ended by a newline
A leading byte order mark is dropped; text is UTF-8. Lines end in LF or CR LF; a CR alone is refused.
"""

from __future__ import annotations

import gzip
import math
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from rerank.errors import FileFormatError, MissingFileError

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CHUNK_BYTES = 1 << 22
OnFault = Callable[[FileFormatError], None]
HEADERS = frozenset(["id", "qid", "queryid", "topicid", "qno", "topicno", "querynumber", "topicnumber"])

# Pattern of the first bytes of files that are no text -> what they are, and how they become text.
_OTHER_FORMATS = {
    rb"PK\x03\x04.\0": ("a zip archive", "Unpack it"),
    rb"BZh[1-9]1AY&SY": ("a bzip2 file", "Unpack it with `bunzip2`"),
    rb"\xfd7zXZ\0": ("an xz file", "Unpack it with `unxz`"),
    rb"\x28\xb5\x2f\xfd": ("a Zstandard file", "Unpack it with `unzstd`"),
    rb"\x1f\x9d": ("a file of Unix compress", "Unpack it with `uncompress`"),
    rb"\xff\xfe": ("UTF-16 text", "Convert it with `iconv -f UTF-16 -t UTF-8`"),
    rb"\xfe\xff": ("UTF-16 text", "Convert it with `iconv -f UTF-16 -t UTF-8`"),
}
_LONE_RETURN = re.compile(rb"\r(?![\r\n])")


def refuse(fault: FileFormatError) -> None:
    """Stop at the first fault: what a reader does with faults unless it is told to take note of them and go on."""
    raise fault


def check_file(path: str | Path, expected: str) -> Path:
    """Return the path of an input file, or raise because it is not there or is a folder.

    expected  what the file is, with its article, for messages ("a run file")
    """
    path = Path(path)
    if stat.S_ISDIR(file_mode(path, expected)):
        raise FileFormatError(path, None, f"expected {expected}, got a folder. Name a file in it.")
    return path


def file_mode(path: Path, expected: str) -> int:
    """Return what the system says of the kind of a file; raises MissingFileError where there is none."""
    with _refusals(path, expected):
        return os.stat(path).st_mode


@contextmanager
def open_source(path: Path) -> Iterator[BinaryIO]:
    """Yield a handle on the plain bytes of a file; what cannot be read is a FileFormatError."""
    with _refusals(path, "a file"), open(path, "rb") as raw:
        packed = raw.peek(2)[:2] == GZIP_MAGIC
        yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw


@contextmanager
def _refusals(path: Path, expected: str) -> Iterator[None]:
    """Say in one line why a file cannot be opened or read to its end."""
    try:
        yield
    except FileNotFoundError as fault:
        raise _missing(path, expected) from fault
    except NotADirectoryError as fault:
        raise _missing(path, expected) from fault
    except EOFError as fault:
        raise FileFormatError(
            path, None, "expected a whole gzip file, got a damaged one (it is cut off). Make or fetch it again."
        ) from fault
    except (zlib.error, gzip.BadGzipFile) as fault:
        raise FileFormatError(
            path, None, "expected a whole gzip file, got a damaged one. Make or fetch it again."
        ) from fault
    except PermissionError as fault:
        raise FileFormatError(
            path, None, f"expected {expected} that you may read, got no permission. Change its rights."
        ) from fault
    except OSError as fault:
        reason = os.strerror(fault.errno) if fault.errno else "an error of the system"
        raise FileFormatError(
            path, None, f"expected {expected} that can be read, got: {reason}. Check the path and the disk."
        ) from fault


def _missing(path: Path, expected: str) -> FileNotFoundError:
    if str(path) == "-":
        return MissingFileError(path, f"{expected} (standard input is /dev/stdin)")
    return MissingFileError(path, expected)


def chunks(path: Path, size: int = CHUNK_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, whole lines) of about `size` bytes each."""
    with open_source(path) as handle:
        line, rest, first = 1, b"", True
        while block := handle.read(size):
            block = _plain_beginning(path, block) if first else block
            first = False
            block = rest + block
            cut = block.rfind(b"\n") + 1
            whole, rest = block[:cut], block[cut:]
            if whole:
                _refuse_lone_returns(path, line, whole)
                yield line, whole
                line += int(np.count_nonzero(np.frombuffer(whole, dtype=np.uint8) == ord("\n")))
        if rest:
            _refuse_lone_returns(path, line, rest + b"\n")
            yield line, rest + b"\n"


def text_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (line number, text without its line end) one by one."""
    with open_source(path) as handle:
        for line, raw in enumerate(handle, 1):
            raw = _plain_beginning(path, raw) if line == 1 else raw
            if b"\r" in raw:
                _refuse_lone_returns(path, line, raw)
            yield line, text(path, line, raw.rstrip(b"\r\n"), encoding)


def read_text(path: str | Path, expected: str) -> str:
    """Return the text of a file, plain or gzip; `expected` is as for `check_file`."""
    path = check_file(path, expected)
    with open_source(path) as handle:
        raw = _plain_beginning(path, handle.read())
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise _wrong_byte(path, raw.count(b"\n", 0, fault.start) + 1, fault, "utf-8") from None


def text(path: Path, line: int, raw: bytes, encoding: str = "utf-8") -> str:
    """Return the bytes of a line as text."""
    try:
        decoded = raw.decode(encoding)
    except UnicodeDecodeError as fault:
        raise _wrong_byte(path, line, fault, encoding) from fault
    if "\0" in decoded:
        raise FileFormatError(path, line, "expected text, got a NUL byte. Name a text file.")
    return decoded


def _wrong_byte(path: Path, line: int, fault: UnicodeDecodeError, encoding: str) -> FileFormatError:
    found = f"byte 0x{fault.object[fault.start]:02x}"
    if encoding == "utf-8":
        return FileFormatError(
            path,
            line,
            f"expected UTF-8 text, got {found}. Convert the file, e.g. with `iconv -f LATIN1 -t UTF-8` "
            "(`rerank index` takes --encoding latin-1).",
        )
    return FileFormatError(path, line, f"expected {encoding} text, got {found}. Name another encoding.")


def _plain_beginning(path: Path, beginning: bytes) -> bytes:
    """Return the beginning of a file without its byte order mark; refuse what is no text."""
    for magic, (found, remedy) in _OTHER_FORMATS.items():
        if re.match(magic, beginning, re.DOTALL):
            raise FileFormatError(path, None, f"expected plain text or gzip, got {found}. {remedy}.")
    return beginning.removeprefix(BYTE_ORDER_MARK)


def _refuse_lone_returns(path: Path, first_line: int, whole: bytes) -> None:
    """Refuse line ends of old Macs: all rows of such a file are one line."""
    if b"\r" not in whole or whole.count(b"\r") == whole.count(b"\r\n"):
        return
    lone = _LONE_RETURN.search(whole)
    if lone is not None:
        raise FileFormatError(
            path,
            first_line + whole.count(b"\n", 0, lone.start()),
            "expected lines that end in LF or CR LF, got a CR alone. Convert them, e.g. with `tr '\\r' '\\n'`.",
        )


def is_header(query_id: str) -> bool:
    """Return whether an id is a usual name of the column of ids."""
    return re.sub("[ _-]", "", query_id.lower()) in HEADERS


def refuse_header(path: Path, line: int, content: str) -> None:
    """Refuse the first line of a file of tabs where it names the columns: it would be read as a query."""
    first = content.split("\t", 1)[0].strip()
    if is_header(first):
        raise FileFormatError(
            path, line, f"expected a query id, got the name of a column, {shown(first)}. Delete the line."
        )


def shown(found: bytes | str) -> str:
    """Return what was found, quoted and short enough for one line."""
    found = found.decode("utf-8", "backslashreplace") if isinstance(found, bytes) else found
    return repr(found if len(found) <= 60 else found[:57] + "...")


def finite_number(token: bytes) -> float | None:
    """Return the finite number that the bytes spell, or None."""
    number = number_or_nan(token)
    return number if number is not None and math.isfinite(number) else None


def number_or_nan(token: bytes) -> float | None:
    """Return the number that the bytes spell, NaN and infinity among them, or None."""
    try:
        return None if b"_" in token else float(token)
    except ValueError:
        return None

"""Bytes of input files: plain or gzip (told by the first bytes), with every fault named in one line.

line    1-based, as editors count
chunk   many whole lines as bytes, each ended by a newline
A leading byte order mark is dropped; text is UTF-8.
"""

from __future__ import annotations

import gzip
import math
import os
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
WHITE_SPACE = " \t\n\r\x0b\x0c\0"


def refuse(fault: FileFormatError) -> None:
    """Stop at the first fault: what a reader does with faults unless it is told to take note of them and go on."""
    raise fault


def check_file(path: str | Path, expected: str) -> Path:
    """Return the path of an input file, or raise because it is not there or is a folder."""
    path = Path(path)
    if path.is_dir():
        raise FileFormatError(path, None, f"expected {expected}, found a folder; name a file in it.")
    if not path.exists():
        raise MissingFileError(path, expected)
    return path


@contextmanager
def open_source(path: Path) -> Iterator[BinaryIO]:
    """Yield a handle on the plain bytes of a file; what cannot be read is a FileFormatError."""
    try:
        with open(path, "rb") as raw:
            packed = raw.peek(2)[:2] == GZIP_MAGIC
            handle = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
            yield handle
    except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
        raise FileFormatError(
            path, None, f"expected a whole gzip file, found a damaged one ({fault}); make or fetch it again."
        ) from fault
    except PermissionError as fault:
        if fault.filename is None or os.fspath(fault.filename) != os.fspath(path):
            raise
        raise FileFormatError(
            path, None, "expected a file you may read, found no permission; change its rights."
        ) from fault


def chunks(path: Path, size: int = CHUNK_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, whole lines) of about `size` bytes each."""
    with open_source(path) as handle:
        line, rest, first = 1, b"", True
        while block := handle.read(size):
            block = block.removeprefix(BYTE_ORDER_MARK) if first else block
            first = False
            block = rest + block
            cut = block.rfind(b"\n") + 1
            whole, rest = block[:cut], block[cut:]
            if whole:
                yield line, whole
                line += int(np.count_nonzero(np.frombuffer(whole, dtype=np.uint8) == ord("\n")))
        if rest:
            yield line, rest + b"\n"


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, text without its line end) one by one."""
    with open_source(path) as handle:
        for line, raw in enumerate(handle, 1):
            raw = raw.removeprefix(BYTE_ORDER_MARK) if line == 1 else raw
            yield line, text(path, line, raw.rstrip(b"\r\n"))


def text(path: Path, line: int, raw: bytes) -> str:
    """Return UTF-8 bytes of a line as text."""
    try:
        decoded = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise FileFormatError(
            path,
            line,
            f"expected UTF-8 text, found byte 0x{fault.object[fault.start]:02x}; "
            "convert the file, e.g. with `iconv -f LATIN1 -t UTF-8`.",
        ) from fault
    if "\0" in decoded:
        raise FileFormatError(path, line, "expected text, found a NUL byte; name a text file.")
    return decoded


def shown(found: bytes | str) -> str:
    """Return what was found, quoted and short enough for one line."""
    found = found.decode("utf-8", "backslashreplace") if isinstance(found, bytes) else found
    return repr(found if len(found) <= 60 else found[:57] + "...")


def first_broken(names: list[str], also: str = "") -> str | None:
    """Return the first id that is no unbroken word (empty, or with white space or `also` in it), or None.

    White space is ASCII's, as for trec_eval: a no-break space may stand in an id.
    """
    parting = WHITE_SPACE + also

    def broken(text: str) -> bool:
        return any(letter in text for letter in parting)

    if all(names) and not broken("".join(names)):
        return None
    return next(name for name in names if not name or broken(name))


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

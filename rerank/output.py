"""Output files that appear whole or not at all."""

from __future__ import annotations

import errno
import gzip
import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from rerank.errors import InvalidInputError, MissingFileError

GZIP_LEVEL = 6
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def whole_file(path: str | Path, binary: bool = False) -> Iterator[IO[Any]]:
    r"""Yield a handle whose content becomes the file `path` when the block ends well.

    path    `-` is stdout; an ending `.gz` compresses, with the same bytes for the same content;
            a device or pipe (`/dev/null`) is written to as it is
    binary  bytes if True, else UTF-8 text with line ends of one newline

    What is written goes to a hidden file in the same folder, renamed over `path` at the end and removed
    after any error or Ctrl-C. Raises MissingFileError where the folder is missing, InvalidInputError where
    it cannot be written.
    """
    if str(path) == "-":
        yield sys.stdout.buffer if binary else sys.stdout
        sys.stdout.flush()
        return
    if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
        with _refusals(path), open(path, "wb") as raw, _handle(raw, Path(path), binary) as handle:
            yield handle
        return
    target = _target(Path(path))
    part = target.with_name(f".{target.name[:200]}.{os.urandom(6).hex()}.part")
    try:
        with _refusals(path):
            with open(part, "xb") as raw, _handle(raw, target, binary) as handle:
                yield handle
            os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """Return the file behind links, in a folder that is there."""
    target = path.resolve()
    if target.is_dir():
        raise InvalidInputError(f"{path}: expected a file to write, found a folder; name a file in it.")
    if not target.parent.is_dir():
        raise MissingFileError(path.parent, "a folder to write into")
    return target


@contextmanager
def _handle(raw: IO[bytes], target: Path, binary: bool) -> Iterator[IO[Any]]:
    with ExitStack() as stack:
        handle: IO[Any] = raw
        if target.suffix == ".gz":
            # No name and no time inside, so that the same content gives the same bytes.
            packed = gzip.GzipFile("", "wb", GZIP_LEVEL, raw, mtime=0)
            handle = cast(IO[bytes], stack.enter_context(packed))
        if not binary:
            handle = stack.enter_context(io.TextIOWrapper(handle, encoding="utf-8", newline="\n"))
        yield handle


@contextmanager
def _refusals(path: str | Path) -> Iterator[None]:
    """Turn the system's refusal of this very file, or a full disk, into one line."""
    try:
        yield
    except OSError as fault:
        named = fault.filename is not None and str(fault.filename).endswith(".part")
        named = named or fault.filename == os.fspath(path)
        if not named and fault.errno not in FULL:
            raise
        raise InvalidInputError(
            f"{path}: expected a place that can be written, found: {fault.strerror}; write elsewhere or mend the place."
        ) from fault

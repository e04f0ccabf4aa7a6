"""Output files that appear whole or not at all.

What is written goes to a part file, `.NAME.<random>.part` in the folder of the file NAME, which is renamed at the end.
The process that writes it holds an flock on it. The system drops that lock when the process ends, however it ends: a
part file without a lock is what a killed process left, and the next one that writes the same file removes it.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from rerank.errors import InvalidInputError, MissingFileError, RerankError

try:
    import fcntl
except ImportError:  # Windows: part files that killed processes left stay there
    fcntl = None  # type: ignore[assignment]

GZIP_LEVEL = 6
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
REFUSED = (*FULL, errno.EIO, errno.EROFS)  # what writing may meet that is no fault of the program
LONGEST_NAME = 255  # bytes of a file's name
_PART_ENDING = len(".") + 12 + len(".part")


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
    with _refusals(path):
        target, is_device = _target(Path(path))
    if is_device:
        with _refusals(path), _handle(_Output(path, path, "w"), Path(path), binary) as handle:
            yield handle
        return
    _sweep(target)
    with _refusals(path):
        part, raw, held = _new_part(path, target)
    try:
        with _refusals(path):
            with _handle(raw, target, binary) as handle:
                yield handle
            os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
        os.close(held)


class _Output(io.FileIO):
    """A file whose refusals to be written name the path that the user gave."""

    def __init__(self, path: str | Path, file: str | Path, mode: str) -> None:
        super().__init__(file, mode)
        self._path = path

    def write(self, content: Any) -> int | None:  # type: ignore[override]
        try:
            return super().write(content)
        except BrokenPipeError:
            raise
        except OSError as fault:
            raise _refused(self._path, fault) from fault


def _new_part(path: str | Path, target: Path) -> tuple[Path, _Output, int]:
    """Return a new part file, a handle to write it, and another that holds its lock until it is closed."""
    while True:
        part = target.with_name(f"{_part_beginning(target)}{os.urandom(6).hex()}.part")
        raw = _Output(path, part, "x")
        # Another process may take the file for a dead one's in the moment before it is locked.
        if _lock(raw.fileno()) is not False and part.exists():
            return part, raw, os.dup(raw.fileno())
        raw.close()
        part.unlink(missing_ok=True)


def _part_beginning(target: Path) -> str:
    n_bytes = LONGEST_NAME - _PART_ENDING - len("..")
    return f".{os.fsdecode(os.fsencode(target.name)[:n_bytes])}."


def _sweep(target: Path) -> None:
    """Remove the part files that killed processes left of this target."""
    beginning = _part_beginning(target)
    with suppress(OSError):  # a folder that cannot be listed, or a part file that another process removed
        names = [name for name in os.listdir(target.parent) if name.startswith(beginning) and name.endswith(".part")]
        for name in names:
            if len(name) == len(beginning) + _PART_ENDING - 1:
                _remove_if_dead(target.with_name(name))


def _remove_if_dead(part: Path) -> None:
    with suppress(OSError), open(part, "rb") as file:
        if _lock(file.fileno()):
            part.unlink(missing_ok=True)


def _lock(file: int) -> bool | None:
    """Lock a file; return False where another process holds it, None where the system knows no such locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _target(path: Path) -> tuple[Path, bool]:
    """Return the file behind links, in a folder that is there, and whether it is a device or pipe."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    if mode and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        return path, True
    target = path.resolve()
    if stat.S_ISDIR(mode):
        raise InvalidInputError(f"{path}: expected a file to write, got a folder. Name a file in it.")
    if not target.parent.is_dir():
        if target.parent.exists():
            raise InvalidInputError(f"{path.parent}: expected a folder to write into, got a file. Name a folder.")
        raise MissingFileError(path.parent, "a folder to write into")
    return target, False


@contextmanager
def _handle(raw: _Output, target: Path, binary: bool) -> Iterator[IO[Any]]:
    with ExitStack() as stack:
        handle: IO[Any] = stack.enter_context(io.BufferedWriter(raw))
        if target.suffix == ".gz":
            # No name and no time inside, so that the same content gives the same bytes.
            packed = gzip.GzipFile("", "wb", GZIP_LEVEL, handle, mtime=0)
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
        if isinstance(fault, RerankError) or (not named and fault.errno not in FULL):
            raise
        raise _refused(path, fault) from fault


def _refused(path: str | Path, fault: OSError) -> InvalidInputError:
    reason = os.strerror(fault.errno) if fault.errno else "an error of the system"
    return InvalidInputError(f"{path}: expected a path that can be written, got: {reason}. Write elsewhere.")

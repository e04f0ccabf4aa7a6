"""Output files that are written completely or not at all.

Content is written to a part file, `.NAME.<random>.part` in the folder of the file NAME, which is renamed at the end.
The writing process holds an flock on it, which the system releases when the process ends in any way. A part file
without a lock was left by a killed process; the next process that writes the same file removes it.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from rerank.errors import InvalidInputError, MissingFileError, RerankError

try:
    import fcntl
except ImportError:  # Windows: part files of killed processes are not removed
    fcntl = None  # type: ignore[assignment]

GZIP_LEVEL = 6
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WRITE_ERRORS = (*FULL, errno.EIO, errno.EROFS)  # errors of the disk, not of the program
LONGEST_NAME = 255  # bytes of a file's name
_PART_ENDING = len(".") + 12 + len(".part")


@contextmanager
def whole_file(path: str | Path, binary: bool = False) -> Iterator[IO[Any]]:
    r"""Yield a handle whose content becomes the file `path` if the block ends without an error.

    The content is written to a hidden file in the same folder, which replaces `path` at the end and is removed after an
    error or Ctrl-C.
    """
    if str(path) == "-":
        yield sys.stdout.buffer if binary else sys.stdout
        sys.stdout.flush()
        return
    with _system_errors(path):
        target, is_device = _target(Path(path))
    if is_device:
        with _system_errors(path), _handle(_Output(path, path, "w"), Path(path), binary) as handle:
            yield handle
        return
    _remove_abandoned(target)
    with _system_errors(path):
        part, raw, lock = _new_part(path, target)
    try:
        with _system_errors(path):
            with _handle(raw, target, binary) as handle:
                yield handle
            os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
        os.close(lock)


def check_outputs(outputs: Mapping[str, str | Path | None]) -> None:
    """Refuse outputs that are the same file: the one written later would replace the earlier one."""
    names: dict[Path, str] = {}
    for name, path in outputs.items():
        if path is None or str(path) == "-" or Path(path).is_char_device():
            continue
        first = names.setdefault(Path(path).resolve(), name)
        if first != name:
            raise InvalidInputError(
                f"{name}: expected another file than that of {first}, got {path} for both. Name another."
            )


class _Output(io.FileIO):
    """A file whose errors of writing name the path that the user gave."""

    def __init__(self, path: str | Path, file: str | Path, mode: str) -> None:
        super().__init__(file, mode)
        self._path = path

    def write(self, content: Any) -> int | None:  # type: ignore[override]
        try:
            return super().write(content)
        except BrokenPipeError:
            raise
        except OSError as fault:
            raise _not_writable(self._path, fault) from fault


def _new_part(path: str | Path, target: Path) -> tuple[Path, _Output, int]:
    """Return a new part file, a handle to write it, and a file descriptor that holds its lock until it is closed."""
    while True:
        part = target.with_name(f"{_part_beginning(target)}{os.urandom(6).hex()}.part")
        raw = _Output(path, part, "x")
        # Before the file is locked, another process may remove it as one of a killed process.
        if _lock(raw.fileno()) is not False and part.exists():
            return part, raw, os.dup(raw.fileno())
        raw.close()
        part.unlink(missing_ok=True)


def _part_beginning(target: Path) -> str:
    n_bytes = LONGEST_NAME - _PART_ENDING - len("..")
    return f".{os.fsdecode(os.fsencode(target.name)[:n_bytes])}."


def _remove_abandoned(target: Path) -> None:
    """Remove the part files of this target that killed processes left."""
    beginning = _part_beginning(target)
    with suppress(OSError):  # a folder that cannot be listed, or a part file that another process removed
        names = [name for name in os.listdir(target.parent) if name.startswith(beginning) and name.endswith(".part")]
        for name in names:
            if len(name) == len(beginning) + _PART_ENDING - 1:
                _remove_if_unlocked(target.with_name(name))


def _remove_if_unlocked(part: Path) -> None:
    with suppress(OSError), open(part, "rb") as file:
        if _lock(file.fileno()):
            part.unlink(missing_ok=True)


def _lock(file: int) -> bool | None:
    """Lock a file; return False if another process holds the lock, None if the system has no such locks."""
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
    """Return the file that links lead to, in an existing folder, and whether it is a device or pipe."""
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
            # Without a name and a time in the header, so that the same content gives the same bytes.
            packed = gzip.GzipFile("", "wb", GZIP_LEVEL, handle, mtime=0)
            handle = cast(IO[bytes], stack.enter_context(packed))
        if not binary:
            handle = stack.enter_context(io.TextIOWrapper(handle, encoding="utf-8", newline="\n"))
        yield handle


@contextmanager
def _system_errors(path: str | Path) -> Iterator[None]:
    """Turn errors of writing this file, and a full disk, into an InvalidInputError."""
    try:
        yield
    except OSError as fault:
        is_this_file = fault.filename is not None and str(fault.filename).endswith(".part")
        is_this_file = is_this_file or fault.filename == os.fspath(path)
        if isinstance(fault, RerankError) or (not is_this_file and fault.errno not in FULL):
            raise
        raise _not_writable(path, fault) from fault


def _not_writable(path: str | Path, fault: OSError) -> InvalidInputError:
    reason = os.strerror(fault.errno) if fault.errno else "an error of the system"
    return InvalidInputError(f"{path}: expected a path that can be written, got: {reason}. Write elsewhere.")

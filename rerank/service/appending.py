"""Appends to the files of a folder, by a thread of its own: a request never waits for a disk or for a lock.

A process that is killed in an append leaves a line without its end. Before the next append, such a line of JSON, which
readers can tell from a whole one, gets its end; one of another format could pass for a whole one, and is cut off.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from prometheus_client import Counter

log = logging.getLogger("rerank")
JSON_LINES = ".jsonl"
MOST_BYTES = 64 << 20  # of the entries that wait
_LOCK_SECONDS, _STEP = 1.0, 0.005  # how long another process may hold the lock, and between two tries
_END_SECONDS = 2.0  # for what waits at the end
_BLOCK = 1 << 16  # bytes that are read at once to find the beginning of a line
PRIVATE = 0o600
LOST = Counter("rerank_log_lost", "Entries that were not written to the log of queries.")


class Lines(NamedTuple):
    """Whole lines for the end of a file, and what the file begins with."""

    name: str
    content: bytes
    header: bytes = b""


class Appender:
    """Appends entries to the files of a folder: all lines of one, or none.

    What cannot be written is counted, and its cause logged once: nothing that appends gets an error.

    Parameters
    ----------
    folder : Path
        The folder.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._queue: list[tuple[Sequence[Lines], Future[bool]]] = []
        self._changed = threading.Condition()
        self._n_bytes = 0
        self._ends = False
        self._reason = ""  # why the last entries were lost
        self._thread = threading.Thread(target=self._work, name="rerank-log", daemon=True)
        self._thread.start()

    def put(self, entry: Sequence[Lines]) -> Future[bool]:
        """Append an entry soon; return whether it was written, as a future that can be cancelled until it is."""
        done: Future[bool] = Future()
        size = _size(entry)
        with self._changed:
            fits = not self._ends and self._n_bytes + size <= MOST_BYTES
            if fits:
                self._n_bytes += size
                self._queue.append((entry, done))
                self._changed.notify()
        if not fits:
            self.lose(1, "too many entries that wait")
            done.set_result(False)
        return done

    def lose(self, n_entries: int, reason: object) -> None:
        """Count entries that are not written; log the reason, unless it was that of the last ones."""
        LOST.inc(n_entries)
        if str(reason) != self._reason:
            self._reason = str(reason)
            log.warning("query log: expected a log that can be written, got: %s. Entries are lost.", reason)

    def close(self) -> None:
        """Write what waits, and end the thread; what takes too long is lost."""
        with self._changed:
            self._ends = True
            self._changed.notify()
        self._thread.join(_END_SECONDS)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not (self._queue or self._ends):
                    self._changed.wait()
                taken = self._queue
                self._queue = []
                if not taken:
                    return
                self._n_bytes -= sum(_size(entry) for entry, _ in taken)
            wanted = [(entry, done) for entry, done in taken if done.set_running_or_notify_cancel()]
            is_written = self._write([entry for entry, _ in wanted])
            for _, done in wanted:
                done.set_result(is_written)

    def _write(self, entries: Sequence[Sequence[Lines]]) -> bool:
        """Append entries, all or none; return whether they were written."""
        try:
            with _locked(self._folder / ".lock"):
                _append(self._folder, [lines for entry in entries for lines in entry])
        except Exception as error:  # of any kind: answers do not depend on the log
            self.lose(len(entries), (error.strerror if isinstance(error, OSError) else None) or error)
            return False
        if self._reason:
            self._reason = ""
            log.warning("query log: is written again.")
        return True


def _size(entry: Sequence[Lines]) -> int:
    return sum(len(lines.content) + len(lines.header) for lines in entry)


def _append(folder: Path, entries: Sequence[Lines]) -> None:
    """Append lines to their files; after an error, all files have their old lengths.

    Files of JSON are last: what their lines name is then in the other files, even if the process is killed.
    """
    parts: dict[tuple[str, bytes], list[bytes]] = {}
    for lines in entries:
        parts.setdefault((lines.name, lines.header), []).append(lines.content)
    opened: list[tuple[FileIO, int]] = []
    with ExitStack() as stack:
        try:
            for name, header in sorted(parts, key=lambda key: key[0].endswith(JSON_LINES)):
                file = stack.enter_context(_regular_file(folder / name))
                begins = _beginning(file, header, name.endswith(JSON_LINES))
                opened.append((file, os.fstat(file.fileno()).st_size))
                write_all(file, b"".join([begins, *parts[name, header]]))
        except BaseException:
            for file, size in opened:
                with suppress(OSError):
                    file.truncate(min(size, os.fstat(file.fileno()).st_size))
            raise


def _regular_file(path: Path) -> FileIO:
    """Return a file that is open for appending, and made where it is not there; a pipe is refused, not waited for."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    file = FileIO(os.open(path, flags, PRIVATE), "r+")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, f"{path.name} is a pipe or a device")
    return file


def _beginning(file: FileIO, header: bytes, is_json: bool) -> bytes:
    """Return what is written before new lines; cut off what a killed process left that could pass for a whole line."""
    size = os.fstat(file.fileno()).st_size
    stored = os.pread(file.fileno(), len(header), 0)
    if len(stored) < len(header) and header.startswith(stored):
        file.truncate(0)
        return header
    if stored != header:
        raise OSError(errno.EINVAL, "a file of other features")
    if not size or os.pread(file.fileno(), 1, size - 1) == b"\n":
        return b""
    if is_json:
        return b"\n"
    file.truncate(_whole_length(file, size))
    return b""


def _whole_length(file: FileIO, size: int) -> int:
    """Return the length of a file up to its last end of a line."""
    while size:
        start = max(size - _BLOCK, 0)
        end = os.pread(file.fileno(), size - start, start).rfind(b"\n")
        if end >= 0:
            return start + end + 1
        size = start
    return 0


def write_all(file: FileIO, content: bytes) -> None:
    """Write all bytes; OSError where the disk is full."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a folder, which ends with the process; OSError where another holds it for too long."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, PRIVATE)
    try:
        end = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise OSError(errno.EAGAIN, "another process holds the lock") from None
                time.sleep(_STEP)
        yield
    finally:
        os.close(file)

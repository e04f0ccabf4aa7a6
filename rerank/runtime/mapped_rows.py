"""Arrays in memory-mapped files: read block by block, so that their pages do not stay in memory, or at random.

Temporary files have no name if the system supports that, and are removed even if the process is killed. Their folder is
that of `tempfile`, which the environment variable TMPDIR sets.
"""

import errno
import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import prod
from typing import IO, Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.runtime.output import FULL

BLOCK_BYTES = 1 << 24  # read at once
_read_at_random: WeakSet[mmap.mmap] = WeakSet()


def is_mapped(array: NDArray[Any]) -> bool:
    """Return whether an array is in a memory-mapped file."""
    return next(_maps_of([array]), None) is not None


def row_blocks(X: NDArray[Any], n_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the number of the first row and the values of each block of rows, in order.

    Shapes: X (n_rows, n_columns).
    """
    step = max(1, n_bytes // max(X.itemsize * X.shape[1], 1))
    for first in range(0, len(X), step):
        block = X[first : first + step]
        if is_mapped(X):
            block = np.array(block)
            release(X)
        yield first, block


def release(array: NDArray[Any]) -> None:
    """Let the system take back the memory of a mapped array, whose values stay in the file."""
    for mapped in _maps_of([array]):
        _advise(mapped, "MADV_DONTNEED")


def expect_random_reads(*arrays: NDArray[Any] | None) -> None:
    """Have the system read the pages of mapped arrays one by one, without those around them."""
    for mapped in _maps_of(arrays):
        _advise(mapped, "MADV_RANDOM")
        _read_at_random.add(mapped)


@contextmanager
def read_in_order(*arrays: NDArray[Any] | None) -> Iterator[None]:
    """Have the system read ahead during the block where `expect_random_reads` has turned that off."""
    maps = [mapped for mapped in _maps_of(arrays) if mapped in _read_at_random]
    for mapped in maps:
        _advise(mapped, "MADV_NORMAL")
    try:
        yield
    finally:
        for mapped in maps:
            _advise(mapped, "MADV_RANDOM")


def _maps_of(arrays: Iterable[Any]) -> Iterator[mmap.mmap]:
    """Yield the maps that arrays are views of; none for other arrays."""
    for base in arrays:
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap):
            yield base


def _advise(mapped: mmap.mmap, advice: str) -> None:
    """Tell the system how a map is used; Windows takes no advice."""
    if hasattr(mmap, advice):
        mapped.madvise(getattr(mmap, advice))


class RowFile:
    """Rows of float32 values that are appended to a temporary file and then memory-mapped.

    Parameters
    ----------
    what : str
        Name of the rows in errors of a full disk.

    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as its array)
        self._shapes: list[tuple[int, int]] = []  # rows and columns of each block

    def append(self, block: NDArray[np.float32]) -> None:
        """Append rows.

        Shapes: block float32 (n, n_columns).
        """
        with _full_disk(self._what):
            self._file.write(np.ascontiguousarray(block, dtype=np.float32).tobytes())
        self._shapes.append((len(block), block.shape[1]))

    def finish(self, n_columns: int) -> NDArray[np.float32]:
        """Return all rows as one array, mapped; columns that a block does not have are 0."""
        n_rows = sum(n for n, _ in self._shapes)
        with _full_disk(self._what):
            self._file.flush()
        if all(width == n_columns for n, width in self._shapes if n):
            return _mapped(self._file, np.dtype(np.float32), (n_rows, n_columns))
        out = temporary_array((n_rows, n_columns), np.float32, self._what)
        self._file.seek(0)
        first = 0
        for n, width in self._shapes:
            content = np.frombuffer(self._file.read(4 * n * width), np.float32)
            out[first : first + n, :width] = content.reshape(n, width)
            release(out)
            first += n
        return out


def changed_rows(
    X: NDArray[np.float32], change: Callable[[NDArray[np.float32]], NDArray[np.float32]], what: str
) -> NDArray[np.float32]:
    """Return the rows that `change` has changed; a mapped X is changed block by block, into a temporary file.

    what  name of the rows in the error of a full disk
    """
    if not is_mapped(X):
        return change(X)
    rows = RowFile(what)
    width = 0
    for _, block in row_blocks(X):
        changed = change(block)
        rows.append(changed)
        width = changed.shape[1]
    return rows.finish(width)


def temporary_array(shape: tuple[int, ...], dtype: Any, what: str) -> NDArray[Any]:
    """Return an array of zeros in a temporary file."""
    n_bytes = prod(shape) * np.dtype(dtype).itemsize
    file = tempfile.TemporaryFile()  # noqa: SIM115 (the map keeps it after it is closed)
    with _full_disk(f"{what} ({n_bytes:,} bytes)"):
        if n_bytes > shutil.disk_usage(tempfile.gettempdir()).free:
            raise OSError(errno.ENOSPC, "larger than the disk")
        if hasattr(os, "posix_fallocate") and n_bytes:
            os.posix_fallocate(file.fileno(), 0, n_bytes)  # otherwise a full disk would end the process with a signal
        else:
            file.truncate(n_bytes)
    return _mapped(file, np.dtype(dtype), shape)


def _mapped(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    return np.memmap(file, dtype, "r+", 0, shape) if prod(shape) else np.zeros(shape, dtype)


@contextmanager
def _full_disk(what: str) -> Iterator[None]:
    """Turn the error of a full disk into an error of one line."""
    try:
        yield
    except OSError as fault:
        if fault.errno not in FULL:
            raise
        raise InvalidInputError(
            f"{tempfile.gettempdir()}: expected space for {what}, got a full disk. "
            "Set TMPDIR to a folder on a larger disk."
        ) from fault


def read_only_view(array: Any) -> NDArray[Any]:
    """Return a read-only plain view: Numba then compiles one kernel for arrays in memory and for memory maps."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view

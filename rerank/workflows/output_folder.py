"""Output folders: checked before a computation, and cleaned up after an error."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rerank.errors import InvalidInputError


def check_output_folder(path: str | Path) -> Path:
    """Return the path of an output folder, which may exist; refuse a file before the computation, not after it."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder}: expected a folder to write into, got a file. Name a folder.")
    return folder


@contextmanager
def removed_on_error(folder: Path) -> Iterator[None]:
    """After an error in the block, e.g. a full disk, remove what was added to a folder, and folders that were created.

    What was in the folder before stays, except for files that the block replaced.
    """
    created = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    before = set() if created else {path.name for path in folder.iterdir()}
    try:
        yield
    except BaseException:
        for path in folder.iterdir() if folder.is_dir() else ():
            if path.name not in before:
                _remove(path)
        for parent in created:  # the innermost first
            with suppress(OSError):  # not created yet, or not empty, as another process uses it
                parent.rmdir()
        raise


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()

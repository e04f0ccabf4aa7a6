"""Output folders: checked before a computation, and filled with all of its files at its end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rerank.errors import InvalidInputError
from rerank.runtime.output import staged_folder


def check_output_folder(path: str | Path) -> Path:
    """Return the path of an output folder, which may exist; refuse a file before the computation, not after it."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder}: expected a folder to write into, got a file. Name a folder.")
    return folder


@contextmanager
def staged_output(folder: Path, last: str) -> Iterator[Path]:
    """Yield a new hidden folder, whose files are moved into `folder` if the block ends without an error.

    Other files in the folder stay as they are. The file `last` shows that the others are complete: an earlier one is
    removed before the files are moved, and the new one is moved after them.
    """
    target = folder.resolve()

    def move(staging: Path, target: Path) -> None:
        if not target.exists():
            os.rename(staging, target)
            return
        paths = sorted(staging.iterdir(), key=lambda path: path.name == last)
        for path in paths:
            if (target / path.name).is_dir():
                raise InvalidInputError(f"{target / path.name}: expected a file to write, got a folder. Remove it.")
        (target / last).unlink(missing_ok=True)
        for path in paths:
            shutil.move(path, (target / path.name).resolve())

    with staged_folder(target, move, InvalidInputError, within=target.is_dir()) as staging:
        yield staging

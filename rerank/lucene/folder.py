"""Index folders: what is one, which commit it holds, and how a new folder takes its place whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rerank.errors import IndexFolderError, MissingFileError, RerankError
from rerank.runtime.output import REFUSED
from rerank.runtime.strict_json import parse_json

MARKER = "rerank-unfinished.json"
_LONGEST_MESSAGE = 500  # characters of what Lucene says
_COMMIT_FILE = re.compile(r"segments_([0-9a-z]+)")


def check_index_folder(path: str | Path) -> Path:
    """Return the path of a folder that holds a Lucene index; nothing in it is opened.

    Raises MissingFileError where nothing is there, IndexFolderError where it is a file, a half-built index
    or a folder without a Lucene commit.
    """
    folder = Path(path)
    if not folder.exists():
        raise MissingFileError(folder, "a folder with a Lucene index")
    if not folder.is_dir():
        raise IndexFolderError(
            f"{folder}: expected a folder with a Lucene index, got a file. Build one with `rerank index`."
        )
    if (folder / MARKER).exists():
        raise IndexFolderError(f"{folder}: expected a whole index, got a half-built one. Delete it and build it anew.")
    if _commit_file(folder) is None:
        raise IndexFolderError(
            f"{folder}: expected a Lucene index, got a folder without one (no segments file). "
            "Check the path or build one with `rerank index`."
        )
    return folder


def damaged_lucene(folder: Path | str, found: str) -> IndexFolderError:
    """Return the error for files of Lucene's that cannot be used."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in found[:_LONGEST_MESSAGE])
    return IndexFolderError(
        f"{folder}: expected a whole Lucene index, got a damaged one ({plain}). Build the index anew."
    )


def commit_hash(folder: Path) -> str:
    """Return the sha256 of the Lucene commit that an index folder holds; it changes with every change."""
    commit = _commit_file(folder)
    if commit is None:
        raise IndexFolderError(f"{folder}: expected a Lucene index, got none. Build it anew.")
    try:
        return hashlib.sha256(commit.read_bytes()).hexdigest()
    except OSError as error:
        raise damaged_lucene(folder, f"{commit.name} cannot be read: {error.strerror}") from error


def _commit_file(folder: Path) -> Path | None:
    """Return the newest segments file, as Lucene picks it: generations are written in base 36."""
    found = [(int(match[1], 36), match[0]) for match in map(_COMMIT_FILE.fullmatch, os.listdir(folder)) if match]
    return folder / max(found)[1] if found else None


def check_target(target: Path, overwrite: bool) -> None:
    """Refuse to build where something stands, unless it is an index and may be overwritten."""
    if not os.path.lexists(target) or (target.is_dir() and not any(target.iterdir())):
        return
    is_index = target.is_dir() and ((target / MARKER).exists() or _commit_file(target) is not None)
    if not is_index:
        raise IndexFolderError(
            f"{target}: expected a new folder or an index, got something else there. Choose another folder."
        )
    if not overwrite:
        raise IndexFolderError(
            f"{target}: expected a new folder, got an index. Choose another folder or overwrite it "
            "(--overwrite, overwrite=True)."
        )


@contextmanager
def staged_folder(target: Path, is_there: Callable[[], bool] = lambda: False) -> Iterator[Path]:
    """Yield a new hidden folder beside `target` that takes its place when the block ends well.

    Until then it bears a marker, so that it does not pass for an index; after an error or Ctrl-C it is
    removed. What a killed process left is removed by the next one that builds the same target. Where
    `is_there` then finds that another process has done the same, that process's folder stays.
    """
    staging = _hidden(target, "building")
    with _refusals(staging, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        staging.mkdir()
        try:
            owner = {"host": socket.gethostname(), "pid": os.getpid()}
            (staging / MARKER).write_text(json.dumps(owner), encoding="utf8")
            yield staging
            (staging / MARKER).unlink()
            if is_there():
                shutil.rmtree(staging, ignore_errors=True)
            else:
                _put_in_place(staging, target)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise


@contextmanager
def _refusals(staging: Path, target: Path) -> Iterator[None]:
    """Turn the system's refusal to write in these folders, or a full disk, into one line."""
    try:
        yield
    except OSError as fault:
        if isinstance(fault, RerankError):
            raise
        if fault.filename is None:
            known = fault.errno in REFUSED
        else:
            named = Path(os.fsdecode(fault.filename))
            known = named in (staging, target, *target.parents) or staging in named.parents
        if not known:
            raise
        raise IndexFolderError(
            f"{target}: expected a folder that can be written, got: {fault.strerror}. Free disk space, or write "
            "elsewhere."
        ) from fault


def _hidden(target: Path, state: str) -> Path:
    return target.with_name(f".{target.name}.{state}-{os.getpid()}-{secrets.token_hex(4)}")


def _put_in_place(staging: Path, target: Path) -> None:
    """Rename; what stands there moves aside first and goes only when the new folder is in place."""
    moved: list[Path] = []
    while True:
        try:
            os.rename(staging, target)
            break
        except OSError:
            if not target.is_dir():
                if moved:
                    os.rename(moved[-1], target)
                raise
            aside = _hidden(target, "replaced")
            with suppress(FileNotFoundError):
                os.rename(target, aside)
                moved.append(aside)
    for old in moved:
        shutil.rmtree(old, ignore_errors=True)


def _sweep(target: Path) -> None:
    """Remove what killed builds of this target left on this machine."""
    for left in target.parent.glob(f".{_glob_escaped(target.name)}.building-*"):
        try:
            owner = parse_json((left / MARKER).read_text(encoding="utf8"))
            is_dead = owner["host"] == socket.gethostname() and not _is_running(int(owner["pid"]))
        except (OSError, ValueError, KeyError, TypeError):  # not a marker that a build wrote
            continue
        if is_dead:
            shutil.rmtree(left, ignore_errors=True)


def _glob_escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

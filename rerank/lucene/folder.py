"""Index folders: detection, the hash of the commit, and atomic replacement."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rerank.errors import IndexFolderError, MissingFileError, RerankError
from rerank.lucene.commits import commit_file, lucene_commit
from rerank.lucene.shards import MARKER, check_shards, index_folders, read_statistics
from rerank.runtime.output import WRITE_ERRORS


def check_index_folder(path: str | Path) -> Path:
    """Return the path of a folder with a Lucene index or with the shards of one; nothing is opened.

    Raises
    ------
    MissingFileError
        If there is no such folder.
    IndexFolderError
        If it is a file, an unfinished index, a folder without a Lucene commit, or if its shards are not those of its
        statistics.

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
    shards = index_folders(folder)
    if not shards:
        raise IndexFolderError(
            f"{folder}: expected a Lucene index, got a folder without one (no segments file). "
            "Check the path or build one with `rerank index`."
        )
    if shards != (folder,):
        check_shards(folder, shards)
    return folder


def commit_hash(folder: Path) -> str:
    """Return the sha256 of the Lucene commit of an index, of all commits with shards; every change changes it."""
    folders = index_folders(folder)
    if folders == (folder,):
        return lucene_commit(folder)
    if not folders:
        raise IndexFolderError(f"{folder}: expected a Lucene index, got none. Build it anew.")
    parts = [f"{shard.name}/{lucene_commit(shard)}" for shard in folders]
    return hashlib.sha256("\n".join(parts).encode("utf8", "surrogateescape")).hexdigest()


def check_target(target: Path, overwrite: bool) -> None:
    """Refuse a folder that exists and is not empty, unless it is an index and may be overwritten."""
    if not os.path.lexists(target) or (target.is_dir() and not any(target.iterdir())):
        return
    is_index = target.is_dir() and ((target / MARKER).exists() or _is_built(target))
    if not is_index:
        raise IndexFolderError(
            f"{target}: expected a new folder or an index, got something else there. Choose another folder."
        )
    if not overwrite:
        raise IndexFolderError(
            f"{target}: expected a new folder, got an index. Choose another folder or overwrite it "
            "(--overwrite, overwrite=True)."
        )


def _is_built(folder: Path) -> bool:
    """Return whether a folder has a Lucene index, or the shards of one build: not a folder of several indexes."""
    if commit_file(folder) is not None:
        return True
    statistics = read_statistics(folder)
    return statistics is not None and statistics.made_with_index


@contextmanager
def staged_folder(target: Path, exists_already: Callable[[], bool] = lambda: False) -> Iterator[Path]:
    """Yield a new hidden folder next to `target`, which is renamed to `target` if the block ends without an error.

    Until then a marker file shows that it is not a complete index; after an error or Ctrl-C the folder is removed. What
    a killed process left is removed by the next one that builds the same target; if the process was killed while it
    replaced the target, the old target is restored first.

    Parameters
    ----------
    target : Path
        The folder to replace.
    exists_already : callable
        Returns whether another process has meanwhile built the same folder, which then stays.

    """
    staging = _hidden_sibling(target, "building")
    with _system_errors(staging, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(target)
        staging.mkdir()
        try:
            (staging / MARKER).touch()
            yield staging
            (staging / MARKER).unlink()
            if exists_already():
                shutil.rmtree(staging, ignore_errors=True)
            else:
                _replace(staging, target)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise


@contextmanager
def _system_errors(staging: Path, target: Path) -> Iterator[None]:
    """Turn errors of writing in these folders, and a full disk, into an IndexFolderError."""
    try:
        yield
    except OSError as fault:
        if isinstance(fault, RerankError):
            raise
        if fault.filename is None:
            is_expected = fault.errno in WRITE_ERRORS
        else:
            file = Path(os.fsdecode(fault.filename))
            is_expected = file in (staging, target, *target.parents) or staging in file.parents
        if not is_expected:
            raise
        raise IndexFolderError(
            f"{target}: expected a folder that can be written, got: {fault.strerror}. Free disk space, or write "
            "elsewhere."
        ) from fault


def _hidden_sibling(target: Path, state: str) -> Path:
    """Return a new name next to the target, with the machine and the process that use it."""
    return target.with_name(f".{target.name}.{state}-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}")


def _machine() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _replace(staging: Path, target: Path) -> None:
    """Rename the folder; an existing target is moved aside first, and removed after the renaming."""
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
            aside = _hidden_sibling(target, "replaced")
            with suppress(FileNotFoundError):
                os.rename(target, aside)
                moved.append(aside)
    for old in moved:
        shutil.rmtree(old, ignore_errors=True)


def _remove_abandoned(target: Path) -> None:
    """Remove the folders that killed builds of this target left on this machine."""
    for folder in _abandoned(target, "building"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in _abandoned(target, "replaced"):
        if not os.path.lexists(target):
            os.rename(folder, target)  # killed between the two renamings of `_replace`
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _abandoned(target: Path, state: str) -> Iterator[Path]:
    """Yield the hidden folders of the target whose process has ended; those of other machines are not judged."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.{state}-{_machine()}-(\d{{1,9}})-[0-9a-f]{{8}}")
    for name in os.listdir(target.parent):
        match = pattern.fullmatch(name)
        if match and not _is_running(int(match[1])):
            yield target.with_name(name)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

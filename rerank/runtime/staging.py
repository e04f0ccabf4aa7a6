"""Folders that appear complete or not at all: their files are written to a hidden folder that is moved at the end."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rerank.errors import RerankError
from rerank.runtime.output import WRITE_ERRORS


@contextmanager
def staged_folder(
    target: Path, move: Callable[[Path, Path], None], error: type[RerankError], within: bool = False
) -> Iterator[Path]:
    """Yield a new hidden folder next to `target`; `move(folder, target)` is called if the block ends without an error.

    After an error or Ctrl-C the folder is removed. What a killed process left is removed by the next one that writes
    the same target; if the process was killed while it replaced the target, the old target is restored first.

    error   raised for errors of writing in these folders, and for a full disk
    within  whether the hidden folder is in `target`, which exists, and so on the same disk as its files
    """
    beside = target / target.name if within else target
    staging = _hidden_sibling(beside, "building")
    created = [parent for parent in beside.parents if not parent.exists()]
    with _system_errors(staging, target, error):
        try:
            beside.parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(beside)
            staging.mkdir()
            yield staging
            move(staging, target)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            for parent in created:  # the innermost first
                with suppress(OSError):  # the target is in it, or another process uses it
                    parent.rmdir()


@contextmanager
def _system_errors(staging: Path, target: Path, error: type[RerankError]) -> Iterator[None]:
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
        raise error(
            f"{target}: expected a folder that can be written, got: {fault.strerror}. Free disk space, or write "
            "elsewhere."
        ) from fault


def replace_folder(staging: Path, target: Path, foreign: Callable[[Path], Iterable[Path]]) -> None:
    """Rename a folder; an existing target is moved aside first, and removed after the renaming.

    foreign  returns the paths in the replaced folder that are not removed but moved into the new one
    """
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
        for path in list(foreign(old)):
            (target / path.relative_to(old)).parent.mkdir(parents=True, exist_ok=True)
            os.rename(path, target / path.relative_to(old))
        shutil.rmtree(old, ignore_errors=True)


def _hidden_sibling(target: Path, state: str) -> Path:
    """Return a new name next to the target, with the machine and the process that use it."""
    return target.with_name(f".{target.name}.{state}-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}")


def _machine() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _remove_abandoned(target: Path) -> None:
    """Remove the folders that killed processes left next to this target on this machine."""
    for folder in _abandoned(target, "building"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in _abandoned(target, "replaced"):
        if not os.path.lexists(target):
            os.rename(folder, target)  # killed between the two renamings of `replace_folder`
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

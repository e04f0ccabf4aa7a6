"""The folder of what can be made again: forward arrays of read-only indexes, notes of verified files."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rerank.errors import RerankError
from rerank.runtime.codec import parse_json
from rerank.runtime.output import whole_file


def cache_folder() -> Path:
    """Return `$RERANK_CACHE`, otherwise the folder `rerank` in the user's cache folder of the platform."""
    folder = os.environ.get("RERANK_CACHE")
    if folder:
        return Path(folder)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "rerank"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rerank"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rerank"


def file_state(path: Path) -> list[int]:
    """Return size and times of a file; programs cannot set the time of the last status change."""
    stat = os.stat(path)
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def note_path(verified: Path) -> Path:
    """Return the path of the note in the cache folder that a file or folder was verified."""
    return cache_folder() / f"verified-{hashlib.sha256(os.fsencode(verified.absolute())).hexdigest()[:32]}.json"


def is_noted(paths: Iterable[Path], state: Any) -> bool:
    """Return whether one of the notes at these paths has this state."""
    return any(read_note(path) == state for path in paths)


def write_note(paths: Iterable[Path], state: Any) -> None:
    """Note the state at the first of these paths that can be written; if none can, files are verified again."""
    for path in paths:
        with suppress(OSError, RerankError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                json.dump(state, file)
            return


def read_note(path: Path) -> Any:
    """Return the state that is noted at a path; None if there is none, or it cannot be read."""
    try:
        return parse_json(path.read_text(encoding="utf8"))
    except (OSError, ValueError):
        return None

"""The folder of what can be made again: forward arrays of read-only indexes, notes of verified files."""

from __future__ import annotations

import os
import sys
from pathlib import Path


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

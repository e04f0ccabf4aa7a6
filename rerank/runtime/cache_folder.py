"""The folder for what is computed once on a machine and has no place beside an index."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return `$RERANK_CACHE`, otherwise the folder `rerank` in the user's cache folder of the platform."""
    folder = os.environ.get("RERANK_CACHE")
    if folder:
        return Path(folder)
    try:
        home = Path.home()
    except RuntimeError:  # a user without an entry in the list of users, for whom containers set it so
        home = Path("/")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "rerank"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "rerank"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "rerank"

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
    except RuntimeError:  # the system does not know the user, as in some containers, which give this home
        home = Path("/")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "rerank"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "rerank"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "rerank"

"""The page to search with: plain HTML, CSS and JavaScript, served as they are."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}


@cache
def page_files() -> dict[str, tuple[bytes, str]]:
    """Return content and media type of each file by its path."""
    folder = Path(__file__).parent
    return {path: ((folder / name).read_bytes(), kind) for path, (name, kind) in _FILES.items()}

"""Lists of names in files: one a line."""

from __future__ import annotations

from pathlib import Path

from rerank.errors import FileFormatError
from rerank.files.source import check_file, text_lines


def read_names(path: str | Path) -> tuple[str, ...]:
    """Return the names of features in a text file, one a line; blank lines at the end are passed over.

    Raises FileFormatError for a blank line between names, a name that is there twice, and a file without names.
    """
    path = check_file(path, "a file of feature names")
    names: dict[str, int] = {}
    blank = None
    for line, text in text_lines(path):
        name = text.strip()
        if not name:
            blank = blank or line
            continue
        if blank is not None:
            raise FileFormatError(path, blank, "expected a name, got a blank line. Each line is the name of a feature.")
        if name in names:
            raise FileFormatError(
                path, line, f"expected each name once, got {name!r} again (line {names[name]}). Rename one."
            )
        names[name] = line
    if not names:
        raise FileFormatError(path, None, "expected names of features, got none. Write one a line.")
    return tuple(names)

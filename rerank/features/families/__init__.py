"""One file per family of features; the file's name is the family's name and it holds `FAMILY`."""

from __future__ import annotations

from functools import cache
from pkgutil import iter_modules


@cache
def family_names() -> tuple[str, ...]:
    """Return the names of all families in alphabetical order, without importing any of them."""
    return tuple(sorted(module.name for module in iter_modules(__path__)))

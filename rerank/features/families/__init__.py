"""One file per family of features; the file's name is the family's name and it holds `FAMILY`."""

from __future__ import annotations

from functools import cache
from pkgutil import iter_modules

ON_REQUEST = frozenset({"pooled"})  # computed only where a recipe names them


@cache
def family_names() -> tuple[str, ...]:
    """Return the names of all families in alphabetical order, without importing any of them."""
    return tuple(sorted(module.name for module in iter_modules(__path__)))


@cache
def default_family_names() -> tuple[str, ...]:
    """Return the names of the families that a recipe without any has: all but those that add much cost, little gain."""
    return tuple(name for name in family_names() if name not in ON_REQUEST)

"""Registries of objects by name, and functions of users that a call or a command names, `module:function`.

A new object is registered by a module of its package here, or by an installed package (entry points).
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

from rerank.errors import InvalidInputError, log, shown, unknown_name
from rerank.runtime.fillers import FILLERS

Entry = TypeVar("Entry")
Registered = TypeVar("Registered", bound=Any)
GROUP = "rerank"  # of entry points
_MOST_CHARACTERS = 200  # of an exception's text


def import_installed() -> frozenset[str]:
    """Import the modules that other packages name as entry points; they register what these packages add.

    Returns the names of these packages.
    """
    points = _entry_points()
    for point in points:
        _load(point)
    return frozenset(point.module.partition(".")[0] for point in points)


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


@cache
def _load(point: EntryPoint) -> None:
    """Import the module of an entry point, once; where this fails, log it and go on."""
    try:
        point.load()
    except Exception as error:  # code of other packages may raise anything
        log.warning(
            "%s: expected an entry point of the group %s that can be imported, got %s. Update or uninstall it.",
            point.value,
            GROUP,
            exception_text(error),
        )


class Registry(Generic[Entry]):
    """Objects by name, registered by the modules of some packages when they are imported.

    Parameters
    ----------
    what : str
        What the objects are, for errors: "ranker".
    *packages : str
        The packages whose modules register them: "rerank.rankers"; packages of higher layers are in `FILLERS`.
    of_instances : bool, default=False
        Whether an instance of a registered class is the object.

    """

    def __init__(self, what: str, *packages: str, of_instances: bool = False) -> None:
        self.what = what
        self.packages = packages
        self.of_instances = of_instances
        self._entries: dict[str, Entry] = {}
        self._all_imported = False

    def register(self, name: str) -> Callable[[Registered], Registered]:
        """Return a decorator that registers a class under a name."""

        def add(entry: Registered) -> Registered:
            self._entries[name] = entry() if self.of_instances else entry
            return entry

        return add

    def imported(self) -> dict[str, Entry]:
        """Return the objects whose modules are imported already, by name."""
        return self._entries

    def known(self) -> dict[str, Entry]:
        """Import every module of the packages and return all objects, by name in alphabetical order."""
        if not self._all_imported:
            for package in (*self.packages, *FILLERS.get(self.what, ())):
                for module in iter_modules(import_module(package).__path__):
                    import_module(f"{package}.{module.name}")
            import_installed()
            self._all_imported = True
        return dict(sorted(self._entries.items()))

    def get(self, name: str) -> Entry:
        """Return the object of a name; an unknown name raises InvalidInputError with the nearest known one."""
        known = self._entries if self._all_imported else self.known()
        if not isinstance(name, str) or name not in known:
            raise unknown_name(self.what, name, known)
        return known[name]


def named_function(what: str, source: Any, signature: str) -> tuple[str, Callable[..., Any]]:
    """Return `module:function` and the function, given either; the module may be in the working folder.

    what       what errors call the function, e.g. `encoder`
    signature  what it takes and returns, for errors
    """
    if callable(source):
        name = getattr(source, "__qualname__", type(source).__qualname__)
        return f"{getattr(source, '__module__', type(source).__module__)}:{name}", source
    if not isinstance(source, str):
        raise InvalidInputError(
            f"{what}: expected a callable or module:function, got {shown(source)}. Pass a function {signature}."
        )
    module, colon, name = source.partition(":")
    if not colon or not module or not name:
        raise InvalidInputError(f"{what}: expected module:function, got {shown(source)}. Write e.g. my_{what}:{what}.")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        function: Any = import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
    except Exception as error:
        raise InvalidInputError(
            f"{what} {source}: expected a function that can be imported, got {exception_text(error)}. "
            "Correct the name, or install the module."
        ) from error
    if not callable(function):
        raise InvalidInputError(
            f"{what} {source}: expected a function, got {type(function).__name__}. Name a function."
        )
    return source, function


def exception_text(error: BaseException) -> str:
    """Return the type and the text of an exception in one line."""
    try:
        text = " ".join(str(error).split())[:_MOST_CHARACTERS]
    except Exception:  # its __str__ is the user's
        text = ""
    return f"{type(error).__name__}{f': {text}' if text else ''}"

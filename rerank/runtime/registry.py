"""Registries: objects by name. A new object is a module of the package that registers it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

from rerank.errors import unknown_name

Entry = TypeVar("Entry")
Registered = TypeVar("Registered", bound=Any)
Made = TypeVar("Made", bound=type[Any])


class Registry(Generic[Entry]):
    """Objects by name, registered by the modules of some packages when they are imported.

    Parameters
    ----------
    what : str
        What the objects are, for errors: "ranker".
    *packages : str
        The packages whose modules register them: "rerank.rankers".

    """

    def __init__(self, what: str, *packages: str) -> None:
        self.what, self.packages = what, packages
        self._entries: dict[str, Entry] = {}
        self._all_imported = False

    def register(self, name: str) -> Callable[[Registered], Registered]:
        """Return a decorator that registers a class under a name."""

        def add(entry: Registered) -> Registered:
            self._entries[name] = entry
            return entry

        return add

    def register_instance(self, name: str) -> Callable[[Made], Made]:
        """Return a decorator that registers an instance of a class under a name."""

        def add(made: Made) -> Made:
            self._entries[name] = made()
            return made

        return add

    def imported(self) -> dict[str, Entry]:
        """Return the objects whose modules are imported already, by name."""
        return self._entries

    def known(self) -> dict[str, Entry]:
        """Import every module of the packages and return all objects, by name in alphabetical order."""
        self._import_all()
        return dict(sorted(self._entries.items()))

    def get(self, name: str) -> Entry:
        """Return the object of a name; an unknown name raises InvalidInputError with the nearest known one."""
        self._import_all()
        if name not in self._entries:
            raise unknown_name(self.what, name, self.known())
        return self._entries[name]

    def _import_all(self) -> None:
        if self._all_imported:
            return
        for package in self.packages:
            for module in iter_modules(import_module(package).__path__):
                import_module(f"{package}.{module.name}")
        self._all_imported = True

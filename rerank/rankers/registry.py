"""The rankers by name: a file in this folder that registers its class is all that a new one needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, TypeVar

from rerank.errors import unknown_name

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker

_RANKERS: dict[str, type[Ranker]] = {}
R = TypeVar("R", bound="type[Ranker]")


def register(name: str) -> Callable[[R], R]:
    """Enter a ranker's class under the name that the command line and model files use."""

    def enter(ranker: R) -> R:
        ranker.kind = name
        _RANKERS[name] = ranker
        return ranker

    return enter


@cache
def _load_all() -> None:
    package = import_module("rerank.rankers")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")


def known_rankers() -> dict[str, type[Ranker]]:
    """Return every ranker in this folder by name."""
    _load_all()
    return dict(sorted(_RANKERS.items()))


def ranker_class(name: str) -> type[Ranker]:
    """Return a ranker's class by name; an unknown name is refused with the nearest known one."""
    rankers = known_rankers()
    if name not in rankers:
        raise unknown_name("ranker", name, rankers)
    return rankers[name]

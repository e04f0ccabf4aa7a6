"""The objectives that labels alone define, by name: a file in this folder that registers its class is all it takes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from rerank.errors import unknown_name
from rerank.objectives.base import LabelObjective

_OBJECTIVES: dict[str, type[LabelObjective]] = {}
Kind = TypeVar("Kind", bound="type[LabelObjective]")


def register(name: str) -> Callable[[Kind], Kind]:
    """Enter an objective's class under the name that `objective=` and the command line use."""

    def enter(objective: Kind) -> Kind:
        _OBJECTIVES[name] = objective
        return objective

    return enter


def known_objectives() -> dict[str, type[LabelObjective]]:
    """Return every objective in this folder by name."""
    package = import_module("rerank.objectives")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")
    return dict(sorted(_OBJECTIVES.items()))


def objective_class(name: str) -> type[LabelObjective]:
    """Return an objective's class by name; an unknown name is refused with the nearest known one."""
    objectives = known_objectives()
    if name not in objectives:
        raise unknown_name("objective", name, objectives)
    return objectives[name]

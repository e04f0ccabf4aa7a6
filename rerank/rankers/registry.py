"""Rankers by the name that the command line and model files use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from rerank.runtime.registry import Registry

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker

_REGISTRY: Registry[type[Ranker]] = Registry("ranker", "rerank.rankers")
known_rankers = _REGISTRY.known
ranker_class = _REGISTRY.get
R = TypeVar("R", bound="type[Ranker]")


def register(name: str) -> Callable[[R], R]:
    """Return a decorator that registers a ranker's class under a name."""

    def add(ranker: R) -> R:
        ranker.kind = name
        return _REGISTRY.register(name)(ranker)

    return add

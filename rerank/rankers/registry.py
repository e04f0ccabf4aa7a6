"""Rankers by the name that the command line and model files use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from rerank.rankers.parameters import declared_parameters, documentation
from rerank.runtime.registry import Registry

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker

_REGISTRY: Registry[type[Ranker]] = Registry("ranker", "rerank.rankers")
_FITTED: Registry[type[Ranker]] = Registry("ranker", "rerank.rankers")
known_rankers = _REGISTRY.known
ranker_class = _REGISTRY.get
R = TypeVar("R", bound="type[Ranker]")


def register(name: str) -> Callable[[R], R]:
    """Return a decorator that registers a ranker's class, a dataclass, under a name.

    It also sets what follows from the declared hyper-parameters: `parameter_fields`, and the section `Parameters` of
    the class's docstring.
    """

    def add(ranker: R) -> R:
        parameters = declared_parameters(ranker)
        ranker.kind = name
        ranker.parameter_fields = {key: each.field for key, each in parameters.items() if each.field is not None}
        text, heading, references = inspect.cleandoc(ranker.__doc__ or "").partition("References\n----------\n")
        sections = (text.rstrip(), documentation(parameters.values()), f"{heading}{references}".rstrip())
        ranker.__doc__ = "\n\n".join(filter(None, sections)) + "\n"
        return _REGISTRY.register(name)(ranker)

    return add


def register_fitted(name: str) -> Callable[[R], R]:
    """Return a decorator that registers a ranker that is never trained here, under the name that model files use."""

    def add(ranker: R) -> R:
        ranker.kind = name
        return _FITTED.register(name)(ranker)

    return add


def stored_rankers() -> dict[str, type[Ranker]]:
    """Return the rankers that a model file may hold, by name: those that are trained, and those that are not."""
    return dict(sorted({**known_rankers(), **_FITTED.known()}.items()))

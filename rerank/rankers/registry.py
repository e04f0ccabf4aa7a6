"""The rankers by the names that model files, options and settings use."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from rerank.rankers.parameters import declared_parameters, documentation
from rerank.runtime.fields import Anything
from rerank.runtime.registry import Registry

_REGISTRY: Registry[type[Any]] = Registry("ranker", "rerank.rankers")
_NOT_TRAINED: Registry[type[Any]] = Registry("ranker", "rerank.rankers")  # by `fit`: imported models, fusion
known_rankers = _REGISTRY.known
ranker_class = _REGISTRY.get
R = TypeVar("R", bound=type[Any])


def register(name: str, *, is_trained: bool = True) -> Callable[[R], R]:
    """Return a decorator that registers a ranker's class under the name that model files use.

    A class that `fit` trains, a dataclass, gets what follows from the declared hyper-parameters: `parameter_fields`,
    and the section `Parameters` of its docstring. Only such classes are in `known_rankers`.
    """

    def add(ranker: R) -> R:
        ranker.kind = name
        if not is_trained:
            return _NOT_TRAINED.register(name)(ranker)
        parameters = declared_parameters(ranker)
        ranker.parameter_fields = {
            key: declared.field for key, declared in parameters.items() if not isinstance(declared.field, Anything)
        }
        text, heading, references = inspect.cleandoc(ranker.__doc__ or "").partition("References\n----------\n")
        sections = (text.rstrip(), documentation(parameters.values()), f"{heading}{references}".rstrip())
        ranker.__doc__ = "\n\n".join(filter(None, sections)) + "\n"
        return _REGISTRY.register(name)(ranker)

    return add


def stored_rankers() -> dict[str, type[Any]]:
    """Return the rankers that a model file may hold, by name: those that are trained, and those that are not."""
    return dict(sorted({**known_rankers(), **_NOT_TRAINED.known()}.items()))

"""Functions of the user's that a call or a command names, `module:function`: encoders, judges."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from rerank.errors import InvalidInputError, shown

_MOST_CHARACTERS = 200  # of an exception's text


def named_function(what: str, given: Any, signature: str) -> tuple[str, Callable[..., Any]]:
    """Return `module:function` and the function, of either; modules of the working folder can be imported, too.

    what       what errors call the function, e.g. `encoder`
    signature  what it takes and returns, for errors
    """
    if callable(given):
        name = getattr(given, "__qualname__", type(given).__qualname__)
        return f"{getattr(given, '__module__', type(given).__module__)}:{name}", given
    if not isinstance(given, str):
        raise InvalidInputError(
            f"{what}: expected a callable or module:function, got {shown(given)}. Pass a function {signature}."
        )
    module, colon, name = given.partition(":")
    if not colon or not module or not name:
        raise InvalidInputError(f"{what}: expected module:function, got {shown(given)}. Write e.g. my_{what}:{what}.")
    return given, _imported(what, given, module, name)


def exception_text(error: Exception) -> str:
    """Return the type and the text of an exception in one line."""
    text = " ".join(str(error).split())[:_MOST_CHARACTERS]
    return f"{type(error).__name__}{f': {text}' if text else ''}"


def _imported(what: str, given: str, module: str, name: str) -> Callable[..., Any]:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise InvalidInputError(
            f"{what} {given}: expected a function that can be imported, got {exception_text(error)}. "
            "Correct the name, or install the module."
        ) from error
    if not callable(found):
        raise InvalidInputError(f"{what} {given}: expected a function, got {type(found).__name__}. Name a function.")
    function: Callable[..., Any] = found
    return function

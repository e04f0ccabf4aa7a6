"""One family of errors: each message says place, expected, got and remedy, in one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from reprlib import Repr
from typing import Any


class RerankError(Exception):
    """A mistake in the input that the user can correct; the command line exits with 2."""


class FileFormatError(RerankError, ValueError):
    """A file whose text is not what its format asks for."""

    def __init__(self, path: str | Path, line: int | None, message: str) -> None:
        place = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{place}: {message}")
        self.path = str(path)
        self.line = line


class MissingFileError(RerankError, FileNotFoundError):
    """A file or folder that is not there."""

    def __init__(self, path: str | Path, expected: str) -> None:
        super().__init__(f"{path}: expected {expected}, got nothing there. Check the path.")


class InvalidInputError(RerankError, ValueError):
    """An argument or a record that cannot be used: wrong value, shape or content."""


class IndexFolderError(RerankError):
    """A folder that is no usable index, or forward arrays that belong to another index."""


class ModelMismatchError(RerankError):
    """A model and data, a recipe or an index that do not belong together."""


def unknown_name(what: str, name: str, known: Iterable[str]) -> InvalidInputError:
    """Return the error for a name outside a registry, with the nearest known name."""
    choices = sorted(set(known))
    near = get_close_matches(name, choices, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(choices)}."
    return InvalidInputError(f"{what}: expected a known name, got {shown(name)}. {hint}")


class _Short(Repr):
    """Writes values that may be deep or long; a whole number may have more digits than Python writes."""

    def repr_int(self, x: int, level: int) -> str:
        """Return the number as `shown` has it."""
        return shown(x)


_SHORT = _Short()
_SHORT.maxlevel = 3


def shown(value: Any) -> str:
    """Return a value as a message quotes it: on one line, and short whatever the value is."""
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a whole number of {value.bit_length()} bits"
    if value is None or isinstance(value, int | float):
        return repr(value)
    text = " ".join((_SHORT.repr(value) if isinstance(value, Mapping | list | tuple) else str(value)).split())
    if len(text) > 60 and isinstance(value, Mapping):
        return f"an object of {len(value)} keys"
    if len(text) > 60 and isinstance(value, list | tuple):
        return f"a list of {len(value)} values"
    return text if len(text) <= 60 else text[:57] + "..."

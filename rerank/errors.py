"""The errors of the package. A message is one line: where, what was expected, what was found, and the remedy."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from reprlib import Repr
from typing import Any

log = logging.getLogger("rerank")


class RerankError(Exception):
    """An error in the input that the user can correct; the command line exits with 2."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error by its message, since the constructors of subclasses take other arguments."""
        return _unpickled, (type(self), self.args, dict(vars(self)))


def _unpickled(kind: type[RerankError], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> RerankError:
    """Return the error that `RerankError.__reduce__` pickled."""
    error = kind.__new__(kind)
    error.args = arguments
    vars(error).update(attributes)
    return error


class FileFormatError(RerankError, ValueError):
    """A file that does not follow its format.

    Parameters
    ----------
    path : str or Path
        The file.
    line : int or None
        Line, 1-based; None if the error has no line.
    message : str
        What was expected, what was found, and the remedy.

    """

    def __init__(self, path: str | Path, line: int | None, message: str) -> None:
        super().__init__(f"{path}{'' if line is None else f':{line}'}: {message}")
        self.path = str(path)
        self.line = line


class MissingFileError(RerankError, FileNotFoundError):
    """A file or folder that does not exist."""

    def __init__(self, path: str | Path, expected: str) -> None:
        super().__init__(f"{path}: expected {expected}, got nothing there. Check the path.")


class InvalidInputError(RerankError, ValueError):
    """An argument or data with a wrong value, shape or content."""


class UnknownParameterError(InvalidInputError, TypeError):
    """A keyword argument that a ranker does not have; a TypeError too, as for any Python function."""


class IndexFolderError(RerankError):
    """A folder that is not a usable index, or forward arrays of another index."""


class ClusterError(RerankError):
    """A cluster that cannot be reached, whose workers differ, or that has no workers left."""


class ModelMismatchError(RerankError):
    """A model that does not match the data, the recipe or the index."""


def unknown_name(what: str, name: str, known: Iterable[str]) -> InvalidInputError:
    """Return the error for an unknown name, with the nearest known one."""
    return InvalidInputError(f"{what}: expected a known name, got {shown(name)}. {suggestion(name, known)}")


def check_known(what: str, name: str, known: Collection[str]) -> None:
    """Refuse a name that is none of the known ones."""
    if name not in known:
        raise unknown_name(what, name, known)


def first_names(names: Sequence[object], most: int = 3) -> str:
    """Return the first names of some, and whether there are more."""
    return ", ".join(map(str, names[:most])) + ", ..." * (len(names) > most)


LONGEST_NAME = 100  # characters; for a longer name, no similar one is looked for
MOST_NAMES = 40  # known names that an error lists


def suggestion(name: Any, known: Iterable[str]) -> str:
    """Return a sentence with the nearest known name, or with the known names if none is near."""
    choices = sorted(set(known))
    folded = {choice.lower(): choice for choice in choices}
    is_name = isinstance(name, str) and len(name) <= LONGEST_NAME
    near = get_close_matches(name.lower(), folded, n=1) if is_name else []
    more = f", ... ({len(choices)} in all)" if len(choices) > MOST_NAMES else ""
    return (
        f"Did you mean {folded[near[0]]!r}?" if near else f"Known: {', '.join(choices[:MOST_NAMES]) or 'none'}{more}."
    )


class _Short(Repr):
    """`repr` limited in depth and length, which also takes integers with more digits than Python converts."""

    def repr_int(self, x: int, level: int) -> str:
        """Return the number as `shown` writes it."""
        return shown(x)


_SHORT = _Short()
_SHORT.maxlevel = 3


def shown(value: Any) -> str:
    """Return a value as a message quotes it: one line of at most about 60 characters; bytes are decoded as UTF-8."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a whole number of {value.bit_length()} bits"
    text = " ".join((_SHORT.repr(value) if isinstance(value, Mapping | list | tuple) else str(value)).split())
    if len(text) > 60 and isinstance(value, Mapping):
        return f"an object of {len(value)} keys"
    if len(text) > 60 and isinstance(value, list | tuple):
        return f"a list of {len(value)} values"
    return text if len(text) <= 60 else text[:57] + "..."

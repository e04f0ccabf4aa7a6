"""Fields: declarations of values, which check and convert plain values.

A field reads a plain value (of JSON, or a constructor's argument) and returns the value that it represents. A wrong
value raises SchemaError, whose path says where the fault is.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar
from unicodedata import is_normalized, normalize

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown, suggestion
from rerank.runtime.json_text import parse_json

LARGEST_FLOAT32 = float(np.finfo(np.float32).max)  # trec_eval stores scores as float32, and cannot order larger ones
LONGEST_TEXT = 100_000  # characters
UNBOUNDED = 1_000_000  # whole numbers with a bound this high or higher are documented without one
REMEDY = "Correct it."


class SchemaError(InvalidInputError):
    """A stored value that is not what its field declares.

    Parameters
    ----------
    expected, got : str
        What the field declares, and what the value is.
    remedy : str, optional
        What to do, as a sentence. By default the general one that `fault` is given.
    path : str
        Where the value is, outermost key first: `learned.forest.left[12]`.

    """

    def __init__(self, expected: str, got: str, remedy: str | None = None, path: str = "") -> None:
        super().__init__(expected, got)
        self.path = path
        self.expected = expected
        self.got = got
        self.remedy = remedy

    def within(self, step: str) -> SchemaError:
        """Put one more step in front of the path, and return the error itself."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{step}{joint}{self.path}"
        return self

    def fault(self, otherwise: str) -> str:
        """Return the whole message; `otherwise` is the remedy where the field has none."""
        path = f"{self.path}: " if self.path else ""
        return f"{path}expected {self.expected}, got {self.got}. {self.remedy or otherwise}"

    def __str__(self) -> str:
        return self.fault(REMEDY)


def check_length(values: Sized, length: int, path: str) -> None:
    """Raise SchemaError, with the path of the values, unless there are `length` of them."""
    if len(values) != length:
        raise SchemaError(f"{length} values", str(len(values)), path=path)


class Field(ABC):
    """A declared value."""

    type_name: ClassVar[str] = "object"  # Python's type of the value, for documentation and command-line options

    @abstractmethod
    def read(self, value: Any) -> Any:
        """Return the value that the plain value represents."""

    def accepts(self) -> str:
        """Return what the field accepts beyond its type, for documentation: a range or choices."""
        return ""


@dataclass(frozen=True)
class Number(Field):
    """A finite number from low to high, both included; None too where it is optional."""

    type_name: ClassVar[str] = "float"
    _kind: ClassVar[tuple[Any, Any, str, str]] = (
        Real,
        float,
        "a number",
        "g",
    )  # type taken, type returned, name, format of bounds
    low: float = -LARGEST_FLOAT32
    high: float = LARGEST_FLOAT32
    optional: bool = False

    def accepts(self) -> str:
        """Return the range."""
        low, high = self._bounds()
        is_bounded = self.high < (LARGEST_FLOAT32 if self._kind[1] is float else UNBOUNDED)
        return f"{f'{low} to {high}' if is_bounded else f'from {low}'}{', or None' if self.optional else ''}"

    def read(self, value: Any) -> Any:
        """Return the number as float, or as int where it is a whole one."""
        if value is None and self.optional:
            return None
        taken, returned, what, _ = self._kind
        is_one = isinstance(value, taken) and not isinstance(value, bool)
        if not is_one or not self.low <= value <= self.high:
            bounds = " to ".join(dict.fromkeys(self._bounds()))
            raise SchemaError(bounds if is_one else f"{what} from {bounds}", shown(value))
        return returned(value)

    def _bounds(self) -> tuple[str, str]:
        return f"{self.low:{self._kind[3]}}", f"{self.high:{self._kind[3]}}"


@dataclass(frozen=True)
class Whole(Number):
    """A whole number from low to high, both included; None too where it is optional."""

    type_name: ClassVar[str] = "int"
    _kind: ClassVar[tuple[Any, Any, str, str]] = (Integral, int, "a whole number", "d")


COUNT = Whole(1, 2**31 - 1)
SEED = Whole(0, 2**64 - 1)


@dataclass(frozen=True)
class Flag(Field):
    """True or false."""

    type_name: ClassVar[str] = "bool"

    def read(self, value: Any) -> bool:
        """Return the flag as bool."""
        if not isinstance(value, bool | np.bool_):
            raise SchemaError("true or false", shown(value))
        return bool(value)


@dataclass(frozen=True)
class Text(Field):
    """Text that UTF-8 can hold, of at least one character unless it `may_be_empty`."""

    type_name: ClassVar[str] = "str"
    longest: int = LONGEST_TEXT
    may_be_empty: bool = False

    def read(self, value: Any) -> str:
        """Return the text."""
        shortest = 0 if self.may_be_empty else 1
        if not isinstance(value, str) or not shortest <= len(value) <= self.longest:
            raise SchemaError(f"text of {shortest} to {self.longest} characters", shown(value))
        if not is_unicode(value):
            raise SchemaError("text that UTF-8 can hold", shown(value))
        return value


@dataclass(frozen=True)
class Choice(Field):
    """One of the names that a function returns."""

    type_name: ClassVar[str] = "str"
    names: Callable[[], Iterable[str]]

    def accepts(self) -> str:
        """Return the names."""
        return ", ".join(self.names())

    def read(self, value: Any) -> str:
        """Return the name; the error for another name suggests the nearest one."""
        names = list(self.names())
        if isinstance(value, str) and value in names:
            return value
        if len(names) < 3:
            raise SchemaError(" or ".join(names), shown(value))
        raise SchemaError("a known name", shown(value), suggestion(value, names))


@dataclass(frozen=True)
class Array(Field):
    """A list of numbers, or of true and false, as a NumPy array.

    Parameters
    ----------
    dtype : numpy dtype
        np.float64, np.float32, np.int64, np.int32 or np.bool_.
    low, high : float
        Bounds of the values, both included.

    """

    dtype: Any = np.float64
    low: float = -LARGEST_FLOAT32
    high: float = LARGEST_FLOAT32

    def read(self, value: Any) -> NDArray[Any]:
        """Return the array, its types and values checked."""
        if not isinstance(value, list):
            raise SchemaError("a list", shown(value))
        kind = np.dtype(self.dtype).kind
        what, allowed = _KINDS[kind]
        if not set(map(type, value)) <= allowed:
            number = next(number for number, entry in enumerate(value) if type(entry) not in allowed)
            raise SchemaError(what, shown(value[number]), path=f"[{number}]")
        if kind == "b":
            return np.array(value, dtype=np.bool_)
        limits: Any = np.finfo(self.dtype) if kind == "f" else np.iinfo(self.dtype)
        low = max(self.low, limits.min)
        high = min(self.high, limits.max)
        outside = [number for number, entry in enumerate(value) if not low <= entry <= high]
        if outside:
            expected = f"{what} from {low:.9g} to {high:.9g}"
            raise SchemaError(expected, shown(value[outside[0]]), path=f"[{outside[0]}]")
        return np.array(value, dtype=self.dtype)


_KINDS: dict[str, tuple[str, set[type]]] = {
    "b": ("true or false", {bool}),
    "i": ("a whole number", {int}),
    "u": ("a whole number", {int}),
    "f": ("a number", {float, int}),
}


@dataclass(frozen=True)
class Record(Field):
    """An object with declared keys and no others.

    Parameters
    ----------
    fields : mapping of str to Field
        The field of each key.
    optional : mapping, optional
        Defaults of keys that may be missing.
    partial : bool
        Whether any key may be missing; a missing key is then not returned.

    """

    fields: Mapping[str, Field]
    optional: Mapping[str, Any] | None = None
    partial: bool = False

    def read(self, value: Any) -> dict[str, Any]:
        """Return the value of each key, in the order of the declaration."""
        if not isinstance(value, Mapping):
            raise SchemaError("an object", shown(value))
        unknown = [key for key in value if key not in self.fields]
        if unknown:
            raise SchemaError(f"keys {', '.join(self.fields)}", shown(unknown[0]))
        known = {**(self.optional or {}), **value}
        missing = [key for key in self.fields if key not in known]
        if missing and not self.partial:
            raise SchemaError(f"the key {missing[0]}", "none")
        return {
            key: read_at(key, field, value[key]) if key in value else known[key]
            for key, field in self.fields.items()
            if key in known
        }


@dataclass(frozen=True)
class Table(Field):
    """An object with any keys, whose values are all read by one field."""

    values: Field

    def read(self, value: Any) -> dict[str, Any]:
        """Return the value of each key."""
        if not isinstance(value, Mapping):
            raise SchemaError("an object", shown(value))
        text = Text()
        return {text.read(key): read_at(_step(key), self.values, inner) for key, inner in value.items()}


@dataclass(frozen=True)
class Items(Field):
    """A list of values, all read by one field; not empty unless it `may_be_empty`."""

    what: ClassVar[str] = "a list of values"
    entry: Field
    may_be_empty: bool = False

    def read(self, value: Any) -> list[Any]:
        """Return each value."""
        if not isinstance(value, list | tuple) or not (value or self.may_be_empty):
            raise SchemaError(f"{self.what}{'' if self.may_be_empty else ', at least one'}", shown(value))
        return [read_at(f"[{number}]", self.entry, inner) for number, inner in enumerate(value)]


@dataclass(frozen=True)
class Names(Items):
    """A list of different texts, each read by a field; not empty unless it `may_be_empty`."""

    what: ClassVar[str] = "a list of names"
    entry: Field = Text()

    def read(self, value: Any) -> tuple[str, ...]:  # type: ignore[override]
        """Return the names."""
        names = super().read(value)
        repeated = first_repeated(names)
        if repeated is not None:
            raise SchemaError("each name once", f"{shown(names[repeated])} again", path=f"[{repeated}]")
        return tuple(names)


@dataclass(frozen=True)
class Plain(Field):
    """An object of any plain JSON values; None too where it is optional."""

    optional: bool = True

    def read(self, value: Any) -> dict[str, Any] | None:
        """Return the same values as JSON holds them: lists for tuples, Python's numbers for NumPy's."""
        if value is None and self.optional:
            return None
        if not isinstance(value, Mapping):
            raise SchemaError("an object or null" if self.optional else "an object", shown(value))
        try:
            text = json.dumps(value, allow_nan=False, ensure_ascii=False, default=_of_json)
            plain_value: dict[str, Any] = parse_json(text.encode(), finite=True)
        except (AttributeError, RecursionError, TypeError, ValueError):
            raise SchemaError(
                "an object of text, finite numbers, true, false, null, lists and objects", shown(value)
            ) from None
        return plain_value


def _of_json(value: Any) -> Any:
    """Return a mapping or a NumPy number as JSON's encoder takes it."""
    return dict(value) if isinstance(value, Mapping) else value.item()


@dataclass(frozen=True)
class Anything(Field):
    """A value that is not checked here."""

    def read(self, value: Any) -> Any:
        """Return the value."""
        return value


@contextmanager
def at(step: str) -> Iterator[None]:
    """Put a step in front of the path of a SchemaError that is raised inside the block."""
    try:
        yield
    except SchemaError as error:
        raise error.within(step) from None


def read_at(step: str, field: Field, value: Any) -> Any:
    """Read an argument, or a value inside another one; an error says which it is."""
    with at(step):
        return field.read(value)


def _step(key: str) -> str:
    """Return a key of a file as a step of a path."""
    return key if key.isidentifier() else f"[{shown(key)}]"


def first_repeated(names: Iterable[Any]) -> int | None:
    """Return the position of the first name that repeats an earlier one; None if all differ."""
    seen: set[Any] = set()
    for number, name in enumerate(names):
        if name in seen:
            return number
        seen.add(name)
    return None


def has_split_words(text: str) -> bool:
    """Return whether a text has soft hyphens, or letters with separate accents (NFD); no analyser joins either."""
    is_apart = not is_normalized("NFC", text) and len(normalize("NFC", text)) < len(text)
    return is_apart or "\u00ad" in text


def is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogates, which are not characters."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)

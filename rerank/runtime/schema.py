"""What stored values may be: fields that models and parameters declare, checked before anything is made of them.

A field reads a plain value (of JSON, or a constructor's argument) and returns the value it represents, or raises
SchemaError. `sizes` holds the lengths that other fields depend on, such as `n_features`: a field that
`binds` a name sets it, and the fields that a record declares behind it may use it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown

LARGEST = float(np.finfo(np.float32).max)  # a score beyond it has no order for trec_eval, which holds float32
LONGEST_TEXT = 100_000  # characters
DEEPEST = 32  # brackets of plain JSON inside one another
REMEDY = "Correct it."
Sizes = dict[str, int]
Size = str | Callable[[Sizes], int] | None


class SchemaError(InvalidInputError):
    """A stored value that is not what its field declares.

    path  where it stands, from the outermost key in: `learned`, `.forest`, `.left`, `[12]`
    """

    def __init__(self, expected: str, found: str, remedy: str | None = None, path: str = "") -> None:
        super().__init__(expected, found)
        self.path, self.expected, self.found, self.remedy = path, expected, found, remedy

    def within(self, step: str) -> SchemaError:
        """Put one more step before the path; return the error."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{step}{joint}{self.path}"
        return self

    def fault(self, otherwise: str) -> str:
        """Return the whole message, with a remedy for the case that the field knows none."""
        place = f"{self.path}: " if self.path else ""
        return f"{place}expected {self.expected}, got {self.found}. {self.remedy or otherwise}"

    def __str__(self) -> str:
        return self.fault(REMEDY)


class Field(ABC):
    """A declared value."""

    @abstractmethod
    def read(self, value: Any, sizes: Sizes) -> Any:
        """Return the value that the plain value represents."""


@dataclass(frozen=True)
class Whole(Field):
    """A whole number from low to high, both included; None too where it is optional."""

    low: int
    high: int
    optional: bool = False
    binds: str = ""

    def read(self, value: Any, sizes: Sizes) -> int | None:
        """Return the number as int."""
        if value is None and self.optional:
            return None
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not self.low <= value <= self.high:
            raise SchemaError(f"{'' if whole else 'a whole number from '}{self.low} to {self.high}", shown(value))
        if self.binds:
            sizes[self.binds] = int(value)
        return int(value)


@dataclass(frozen=True)
class Number(Field):
    """A finite number from low to high, both included; None too where it is optional."""

    low: float = -LARGEST
    high: float = LARGEST
    optional: bool = False

    def read(self, value: Any, sizes: Sizes) -> float | None:
        """Return the number as float."""
        if value is None and self.optional:
            return None
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or not self.low <= value <= self.high:
            raise SchemaError(f"{'' if number else 'a number from '}{self.low:g} to {self.high:g}", shown(value))
        return float(value)


@dataclass(frozen=True)
class Flag(Field):
    """True or false."""

    def read(self, value: Any, sizes: Sizes) -> bool:
        """Return the flag as bool."""
        if not isinstance(value, bool | np.bool_):
            raise SchemaError("true or false", shown(value))
        return bool(value)


@dataclass(frozen=True)
class Text(Field):
    """Text that UTF-8 can hold, with at least one character."""

    longest: int = LONGEST_TEXT

    def read(self, value: Any, sizes: Sizes) -> str:
        """Return the text."""
        if not isinstance(value, str) or not value or len(value) > self.longest:
            raise SchemaError(f"text of 1 to {self.longest} characters", shown(value))
        if not _encodable(value):
            raise SchemaError("text that UTF-8 can hold", shown(value))
        return value


@dataclass(frozen=True)
class Choice(Field):
    """One of some names."""

    names: Callable[[], Iterable[str]]

    def read(self, value: Any, sizes: Sizes) -> str:
        """Return the name; the error for another hints at the nearest."""
        names = list(self.names())
        if isinstance(value, str) and value in names:
            return value
        if len(names) < 3:
            raise SchemaError(" or ".join(names), shown(value))
        near = get_close_matches(value, names, n=1) if isinstance(value, str) else []
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(sorted(names))}."
        raise SchemaError("a known name", shown(value), hint)


@dataclass(frozen=True)
class Names(Field):
    """A list of texts, each there once."""

    binds: str

    def read(self, value: Any, sizes: Sizes) -> tuple[str, ...]:
        """Return the names."""
        if not isinstance(value, list) or not value:
            raise SchemaError("a list of names", shown(value))
        text = Text()
        for number, name in enumerate(value):
            _inside(f"[{number}]", text, name, sizes)
        if len(set(value)) < len(value):
            twice = _first_repeated(value)
            raise SchemaError("each name once", f"{shown(value[twice])} again", path=f"[{twice}]")
        sizes[self.binds] = len(value)
        return tuple(value)


@dataclass(frozen=True)
class Array(Field):
    """A list of numbers, or of true and false, as a NumPy array.

    dtype      np.float64, np.float32, np.int64, np.int32 or np.bool_
    size       its length: the name of a size, what works it out, or None for any
    binds      name that its length gets
    low, high  bounds of the values, both included
    """

    dtype: Any = np.float64
    size: Size = None
    binds: str = ""
    low: float = -LARGEST
    high: float | Callable[[Sizes], int] = LARGEST

    def read(self, value: Any, sizes: Sizes) -> NDArray[Any]:
        """Return the array, its length, types and values checked."""
        if not isinstance(value, list):
            raise SchemaError("a list", shown(value))
        wanted = None if self.size is None else sizes[self.size] if isinstance(self.size, str) else self.size(sizes)
        if wanted is not None and len(value) != wanted:
            raise SchemaError(f"{wanted} values", str(len(value)))
        if self.binds:
            sizes[self.binds] = len(value)
        return self._values(value, sizes)

    def _values(self, value: list[Any], sizes: Sizes) -> NDArray[Any]:
        kind, kinds = np.dtype(self.dtype).kind, set(map(type, value))
        what, allowed, wide = _KINDS[kind]
        if not kinds <= allowed:
            place = next(place for place, entry in enumerate(value) if type(entry) not in allowed)
            raise SchemaError(what, shown(value[place]), path=f"[{place}]")
        if kind == "b":
            return np.array(value, dtype=np.bool_)
        low, high = self.low, self.high(sizes) if callable(self.high) else self.high
        if kind == "i":
            held = np.iinfo(self.dtype)
            low, high = max(low, held.min), min(high, held.max)
        try:
            array = np.array(value, dtype=wide)
            bad = ~((array >= low) & (array <= high))
        except OverflowError:
            bad = np.array([not low <= entry <= high for entry in value], dtype=np.bool_)
        if bad.any():
            place = int(np.argmax(bad))
            raise SchemaError(f"{what} from {low:.9g} to {high:.9g}", shown(value[place]), path=f"[{place}]")
        return array.astype(self.dtype, copy=False)


_KINDS: dict[str, tuple[str, set[type], Any]] = {
    "b": ("true or false", {bool}, np.bool_),
    "i": ("a whole number", {int}, np.int64),
    "f": ("a number", {float, int}, np.float64),
}


@dataclass(frozen=True)
class Record(Field):
    """An object with these keys and no other.

    optional  defaults of keys that may be missing
    partial   any key may be missing, and is then not returned
    """

    fields: Mapping[str, Field]
    optional: Mapping[str, Any] | None = None
    partial: bool = False

    def read(self, value: Any, sizes: Sizes) -> dict[str, Any]:
        """Return the value of each key, in the order of the declaration."""
        if not isinstance(value, Mapping):
            raise SchemaError("an object", shown(value))
        for key in value:
            if key not in self.fields:
                raise SchemaError(f"keys {', '.join(self.fields)}", shown(key))
        optional, found = self.optional or {}, {}
        for key, field in self.fields.items():
            if key in value:
                found[key] = _inside(key, field, value[key], sizes)
            elif key in optional:
                found[key] = optional[key]
            elif not self.partial:
                raise SchemaError(f"the key {key}", "none")
        return found


@dataclass(frozen=True)
class Table(Field):
    """An object of any keys, the values alike."""

    values: Field

    def read(self, value: Any, sizes: Sizes) -> dict[str, Any]:
        """Return the value of each key."""
        if not isinstance(value, Mapping):
            raise SchemaError("an object", shown(value))
        text = Text()
        return {text.read(key, sizes): _inside(_step(key), self.values, each, sizes) for key, each in value.items()}


@dataclass(frozen=True)
class Items(Field):
    """A list of at least one value, all alike."""

    each: Field
    binds: str = ""

    def read(self, value: Any, sizes: Sizes) -> list[Any]:
        """Return each value."""
        if not isinstance(value, list) or not value:
            raise SchemaError("a list of at least one value", shown(value))
        if self.binds:
            sizes[self.binds] = len(value)
        return [_inside(f"[{number}]", self.each, each, sizes) for number, each in enumerate(value)]


@dataclass(frozen=True)
class Numbers(Field):
    """A list of finite numbers that stays a list."""

    def read(self, value: Any, sizes: Sizes) -> list[float]:
        """Return the numbers."""
        # Python's float: a NumPy one cannot be compared with an int beyond its range
        widest = float(np.finfo(np.float64).max)
        numbers: list[float] = Array(low=-widest, high=widest).read(value, sizes).tolist()
        return numbers


@dataclass(frozen=True)
class Plain(Field):
    """An object of any plain JSON values, or None."""

    def read(self, value: Any, sizes: Sizes) -> dict[str, Any] | None:
        """Return the same values as JSON holds them: lists for tuples, Python's numbers for NumPy's."""
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise SchemaError("an object or null", shown(value))
        found: dict[str, Any] = _plain(value, DEEPEST)
        return found


@dataclass(frozen=True)
class Anything(Field):
    """A value that another field reads once more is known."""

    def read(self, value: Any, sizes: Sizes) -> Any:
        """Return the value."""
        return value


@contextmanager
def at(step: str) -> Iterator[None]:
    """Put a step before the path of a SchemaError that is raised inside the block."""
    try:
        yield
    except SchemaError as error:
        raise error.within(step) from None


def _inside(step: str, field: Field, value: Any, sizes: Sizes) -> Any:
    """Read a value that stands inside another; an error says where."""
    with at(step):
        return field.read(value, sizes)


def _step(key: str) -> str:
    """Return a key of the file's as a step of a path."""
    return key if key.isidentifier() else f"[{shown(key)}]"


def _first_repeated(names: list[str]) -> int:
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            return place
        seen.add(name)
    raise ValueError("no name is repeated")


def _encodable(text: str) -> bool:
    """Return whether UTF-8 can hold the text: half a surrogate pair, which JSON can spell, is none."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: Any, depth: int) -> Any:
    if depth == 0:
        raise SchemaError(f"at most {DEEPEST} brackets inside one another", "more")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or not _encodable(key):
                raise SchemaError("text that UTF-8 can hold as a key", shown(key))
        return {key: _plain_inside(_step(key), each, depth - 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_inside(f"[{number}]", each, depth - 1) for number, each in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if (isinstance(value, str) and _encodable(value)) or value is None or isinstance(value, bool):
        return value
    if (isinstance(value, int) and value.bit_length() < 1024) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise SchemaError("text, a finite number, true, false, null, a list or an object", shown(value))


def _plain_inside(step: str, value: Any, depth: int) -> Any:
    with at(step):
        return _plain(value, depth)

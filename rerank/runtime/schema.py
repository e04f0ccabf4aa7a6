"""Declarations of stored values: fields that check parameters, models and records when they are read.

A field reads a plain value (of JSON, or a constructor's argument) and returns the value it represents, or raises
SchemaError. `sizes` holds what fields know of what they are inside of: the lengths of a file's arrays, the number of
models around a model.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown, suggestion

LARGEST = float(np.finfo(np.float32).max)  # a score beyond it has no order for trec_eval, which holds float32
LONGEST_TEXT = 100_000  # characters
DEEPEST = 32  # brackets of plain JSON inside one another
UNBOUNDED = 1_000_000  # whole numbers with a bound this high or higher are documented without one
REMEDY = "Correct it."
Sizes = dict[str, int]


class SchemaError(InvalidInputError):
    """A stored value that is not what its field declares.

    Parameters
    ----------
    expected, got : str
        What the field declares, and what the value is.
    remedy : str, optional
        What to do, as a sentence; `fault` is given a general one.
    path : str
        Where the value is, from the outermost key in: `learned.forest.left[12]`.

    """

    def __init__(self, expected: str, got: str, remedy: str | None = None, path: str = "") -> None:
        super().__init__(expected, got)
        self.path = path
        self.expected = expected
        self.got = got
        self.remedy = remedy

    def within(self, step: str) -> SchemaError:
        """Put one more step in front of the path; return the error."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{step}{joint}{self.path}"
        return self

    def fault(self, otherwise: str) -> str:
        """Return the whole message; `otherwise` is the remedy where the field has none."""
        path = f"{self.path}: " if self.path else ""
        return f"{path}expected {self.expected}, got {self.got}. {self.remedy or otherwise}"

    def __str__(self) -> str:
        return self.fault(REMEDY)


class Field(ABC):
    """A declared value."""

    type_name: ClassVar[str] = "object"  # Python's type of the value, for documentation and command-line options

    @abstractmethod
    def read(self, value: Any, sizes: Sizes) -> Any:
        """Return the value that the plain value represents."""

    def accepts(self) -> str:
        """Return what the field accepts beyond its type, for documentation: a range or choices."""
        return ""


@dataclass(frozen=True)
class Number(Field):
    """A finite number from low to high, both included; None too where it is optional."""

    type_name: ClassVar[str] = "float"
    _kind: ClassVar[tuple[Any, Any, str, str]] = (Real, float, "a number", "g")  # what is taken and returned, messages
    low: float = -LARGEST
    high: float = LARGEST
    optional: bool = False

    def accepts(self) -> str:
        """Return the range."""
        low, high = self._bounds()
        is_bounded = self.high < (LARGEST if self._kind[1] is float else UNBOUNDED)
        return f"{f'{low} to {high}' if is_bounded else f'from {low}'}{', or None' if self.optional else ''}"

    def read(self, value: Any, sizes: Sizes) -> Any:
        """Return the number as float, or as int where it is a whole one."""
        if value is None and self.optional:
            return None
        taken, returned, what, _ = self._kind
        is_one = isinstance(value, taken) and not isinstance(value, bool)
        if not is_one or not self.low <= value <= self.high:
            raise SchemaError(f"{'' if is_one else f'{what} from '}{' to '.join(self._bounds())}", shown(value))
        return returned(value)

    def _bounds(self) -> tuple[str, str]:
        return f"{self.low:{self._kind[3]}}", f"{self.high:{self._kind[3]}}"


@dataclass(frozen=True)
class Whole(Number):
    """A whole number from low to high, both included; None too where it is optional."""

    type_name: ClassVar[str] = "int"
    _kind: ClassVar[tuple[Any, Any, str, str]] = (Integral, int, "a whole number", "d")


@dataclass(frozen=True)
class Flag(Field):
    """True or false."""

    type_name: ClassVar[str] = "bool"

    def read(self, value: Any, sizes: Sizes) -> bool:
        """Return the flag as bool."""
        if not isinstance(value, bool | np.bool_):
            raise SchemaError("true or false", shown(value))
        return bool(value)


@dataclass(frozen=True)
class Text(Field):
    """Text that UTF-8 can hold; of at least one character but where it `may_be_empty`."""

    type_name: ClassVar[str] = "str"
    longest: int = LONGEST_TEXT
    may_be_empty: bool = False

    def read(self, value: Any, sizes: Sizes) -> str:
        """Return the text."""
        shortest = 0 if self.may_be_empty else 1
        if not isinstance(value, str) or not shortest <= len(value) <= self.longest:
            raise SchemaError(f"text of {shortest} to {self.longest} characters", shown(value))
        if not _encodable(value):
            raise SchemaError("text that UTF-8 can hold", shown(value))
        return value


@dataclass(frozen=True)
class Choice(Field):
    """One of some names."""

    type_name: ClassVar[str] = "str"
    names: Callable[[], Iterable[str]]

    def accepts(self) -> str:
        """Return the names."""
        return ", ".join(self.names())

    def read(self, value: Any, sizes: Sizes) -> str:
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
    low: float = -LARGEST
    high: float = LARGEST

    def read(self, value: Any, sizes: Sizes) -> NDArray[Any]:
        """Return the array, its types and values checked."""
        if not isinstance(value, list):
            raise SchemaError("a list", shown(value))
        kind = np.dtype(self.dtype).kind
        types = set(map(type, value))
        what, allowed, wide = _KINDS[kind]
        if not types <= allowed:
            number = next(number for number, entry in enumerate(value) if type(entry) not in allowed)
            raise SchemaError(what, shown(value[number]), path=f"[{number}]")
        if kind == "b":
            return np.array(value, dtype=np.bool_)
        low = self.low
        high = self.high
        if kind in "iu":
            limits = np.iinfo(self.dtype)
            low = max(low, limits.min)
            high = min(high, limits.max)
        try:
            array = np.array(value, dtype=wide)
            bad = ~((array >= low) & (array <= high))
        except OverflowError:
            bad = np.array([not low <= entry <= high for entry in value], dtype=np.bool_)
        if bad.any():
            number = int(np.argmax(bad))
            raise SchemaError(f"{what} from {low:.9g} to {high:.9g}", shown(value[number]), path=f"[{number}]")
        return array.astype(self.dtype, copy=False)


_KINDS: dict[str, tuple[str, set[type], Any]] = {
    "b": ("true or false", {bool}, np.bool_),
    "i": ("a whole number", {int}, np.int64),
    "u": ("a whole number", {int}, np.int64),
    "f": ("a number", {float, int}, np.float64),
}


@dataclass(frozen=True)
class Record(Field):
    """An object with these keys and no other.

    Parameters
    ----------
    fields : mapping of str to Field
        The field of each key.
    optional : mapping, optional
        Defaults of keys that may be missing.
    partial : bool
        Any key may be missing, and is then not returned.

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
        optional = self.optional or {}
        values = {}
        for key, field in self.fields.items():
            if key in value:
                values[key] = _inside(key, field, value[key], sizes)
            elif key in optional:
                values[key] = optional[key]
            elif not self.partial:
                raise SchemaError(f"the key {key}", "none")
        return values


@dataclass(frozen=True)
class Table(Field):
    """An object of any keys, whose values are all of one field."""

    values: Field

    def read(self, value: Any, sizes: Sizes) -> dict[str, Any]:
        """Return the value of each key."""
        if not isinstance(value, Mapping):
            raise SchemaError("an object", shown(value))
        text = Text()
        return {text.read(key, sizes): _inside(_step(key), self.values, each, sizes) for key, each in value.items()}


@dataclass(frozen=True)
class Items(Field):
    """A list of values, all of one field; an empty one only where it `may_be_empty`."""

    what: ClassVar[str] = "a list of values"
    each: Field
    may_be_empty: bool = False

    def read(self, value: Any, sizes: Sizes) -> list[Any]:
        """Return each value."""
        if not isinstance(value, list | tuple) or not (value or self.may_be_empty):
            raise SchemaError(f"{self.what}{'' if self.may_be_empty else ', at least one'}", shown(value))
        return [_inside(f"[{number}]", self.each, each, sizes) for number, each in enumerate(value)]


@dataclass(frozen=True)
class Names(Items):
    """A list of different texts, each read by a field; an empty one only where it `may_be_empty`."""

    what: ClassVar[str] = "a list of names"
    each: Field = Text()

    def read(self, value: Any, sizes: Sizes) -> tuple[str, ...]:  # type: ignore[override]
        """Return the names."""
        names = super().read(value, sizes)
        repeated = first_repeated(names)
        if repeated is not None:
            raise SchemaError("each name once", f"{shown(names[repeated])} again", path=f"[{repeated}]")
        return tuple(names)


@dataclass(frozen=True)
class Numbers(Field):
    """A list of finite numbers that stays a list."""

    def read(self, value: Any, sizes: Sizes) -> list[float]:
        """Return the numbers."""
        return _FINITE.read(value, sizes).tolist()  # type: ignore[no-any-return]


# Python's float: a NumPy one cannot be compared with an int beyond its range
_FINITE = Array(low=-float(np.finfo(np.float64).max), high=float(np.finfo(np.float64).max))


@dataclass(frozen=True)
class Plain(Field):
    """An object of any plain JSON values; None too where it is optional."""

    optional: bool = True

    def read(self, value: Any, sizes: Sizes) -> dict[str, Any] | None:
        """Return the same values as JSON holds them: lists for tuples, Python's numbers for NumPy's."""
        if value is None and self.optional:
            return None
        if not isinstance(value, Mapping):
            raise SchemaError("an object or null" if self.optional else "an object", shown(value))
        plain: dict[str, Any] = _PlainValue(DEEPEST).read(value, sizes)
        return plain


@dataclass(frozen=True)
class Anything(Field):
    """A value that is not checked here."""

    def read(self, value: Any, sizes: Sizes) -> Any:
        """Return the value."""
        return value


@contextmanager
def at(step: str) -> Iterator[None]:
    """Put a step in front of the path of a SchemaError that is raised inside the block."""
    try:
        yield
    except SchemaError as error:
        raise error.within(step) from None


def _inside(step: str, field: Field, value: Any, sizes: Sizes) -> Any:
    """Read a value inside another one; an error says where it is."""
    with at(step):
        return field.read(value, sizes)


def _step(key: str) -> str:
    """Return a key of a file as a step of a path."""
    return key if key.isidentifier() else f"[{shown(key)}]"


def first_repeated(names: Iterable[Any]) -> int | None:
    """Return the position of the first name that is there before, None where all differ."""
    seen: set[Any] = set()
    for number, name in enumerate(names):
        if name in seen:
            return number
        seen.add(name)
    return None


def _encodable(text: str) -> bool:
    """Return whether UTF-8 can hold the text: not half a surrogate pair, which JSON can contain."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class _PlainValue(Field):
    """A plain JSON value with at most `depth` brackets inside one another."""

    depth: int

    def read(self, value: Any, sizes: Sizes) -> Any:
        """Return the value."""
        if self.depth == 0:
            raise SchemaError(f"at most {DEEPEST} brackets inside one another", "more")
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str) or not _encodable(key):
                    raise SchemaError("text that UTF-8 can hold as a key", shown(key))
            return {key: _inside(_step(key), _PlainValue(self.depth - 1), each, {}) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [_inside(f"[{number}]", _PlainValue(self.depth - 1), each, {}) for number, each in enumerate(value)]
        if isinstance(value, np.generic):
            value = value.item()
        if (isinstance(value, str) and _encodable(value)) or value is None or isinstance(value, bool):
            return value
        if (isinstance(value, int) and value.bit_length() < 1024) or (
            isinstance(value, float) and math.isfinite(value)
        ):
            return value
        raise SchemaError("text, a finite number, true, false, null, a list or an object", shown(value))

"""Dataclasses as plain JSON values and back, by their annotations; this is what model files hold.

    int, float, bool, str           a finite number, true or false, text
    X | None, list[X], dict[str, X], NDArray[np.float64]
    a dataclass                     an object with the names of its fields; one with a default may be missing
    a class with `_restored`        what its class method `_restored(value)` returns
    Annotated[X, field]             what the field reads: bounds, choices, names
    {name: X}                       an object with these names; X may be a field itself

A dataclass with a method `check` is checked once, whole. Errors (SchemaError) say where the fault is.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.fields import Array, Field, Flag, Items, Number, Record, Table, Text, Whole

LARGEST_WHOLE = 2**63 - 1
_LEAVES: dict[Any, Field] = {
    int: Whole(-LARGEST_WHOLE, LARGEST_WHOLE),
    float: Number(),
    bool: Flag(),
    str: Text(),
}


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def finite(value: Any) -> Any:
    """Return plain values with None in place of the numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {name: finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def restored(kind: Any, value: Any) -> Any:
    """Return the value of an annotation that `plain` wrote; raises SchemaError with the path of the fault."""
    return field_of(kind).read(value)


_ARRAY = get_origin(NDArray[Any])  # np.ndarray, of a shape and a dtype; from NumPy 2.5 on NDArray, of a type


def field_of(kind: Any) -> Field:
    """Return what reads the values of an annotation; a field reads its own."""
    if isinstance(kind, Field):
        return kind
    if isinstance(kind, Mapping):
        return Record({name: field_of(inner) for name, inner in kind.items()})
    origin = get_origin(kind)
    arguments = get_args(kind)
    if origin is Annotated:
        return arguments[1]  # type: ignore[no-any-return]
    if origin in (Union, UnionType):
        return _Optional(field_of(arguments[0]))
    if origin is _ARRAY:
        return Array((get_args(arguments[-1]) or arguments)[-1])
    if origin is list:
        return Items(field_of(arguments[0]), may_be_empty=True)
    if origin is dict:
        return Table(field_of(arguments[1]))
    return _LEAVES.get(kind) or _Object(kind)


@dataclass(frozen=True)
class _Optional(Field):
    """None, or a value of a field."""

    field: Field

    def read(self, value: Any) -> Any:
        """Return the value."""
        return None if value is None else self.field.read(value)


@dataclass(frozen=True)
class _Object(Field):
    """A dataclass, or a class with `_restored`."""

    kind: Any

    def read(self, value: Any) -> Any:
        """Return the object, checked."""
        if hasattr(self.kind, "_restored"):
            return self.kind._restored(value)
        found = self.kind(**_record(self.kind).read(value))
        if hasattr(found, "check"):
            found.check()
        return found


@cache
def _record(kind: Any) -> Record:
    """Return what reads the fields of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    defaults = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
    return Record({field.name: field_of(hints[field.name]) for field in fields(kind)}, defaults)

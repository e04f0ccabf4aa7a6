"""The constructors' arguments: declared once by each ranker, checked by fit, by saving and by loading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from rerank.errors import InvalidInputError
from rerank.metrics.registry import measure_name
from rerank.runtime.schema import Field, SchemaError, Sizes, Text, Whole

LONGEST_METRIC = 200  # characters


class Metric(Field):
    """A measure: its name, a Measure, or a function of the user's; stored by name."""

    def read(self, value: Any, sizes: Sizes) -> str:
        """Return the name; whether a measure has it is seen where it is needed: a user's own is not in the file."""
        name: str = Text(LONGEST_METRIC).read(value if value is None else measure_name(value), sizes)
        return name


class Jobs(Field):
    """A number of threads; None or -1 for all cores."""

    def read(self, value: Any, sizes: Sizes) -> int | None:
        """Return the number."""
        try:
            found = Whole(-1, 2**31 - 1, optional=True).read(value, sizes)
        except SchemaError as error:
            found, shown = 0, error.found
        else:
            shown = "0"
        if found == 0:
            raise SchemaError("a number of threads from 1, or -1 for all", shown)
        return found


SEED = Whole(0, 2**64 - 1, optional=True)
ROUNDS = Whole(1, 1_000_000)


class Parametrised(Protocol):
    """What declares its parameters."""

    parameter_fields: Any


def plain_parameters(ranker: Parametrised) -> dict[str, Any]:
    """Return a ranker's parameters but `base` as plain values; raises SchemaError for one that cannot be used."""
    return read_parameters(ranker.parameter_fields, {name: getattr(ranker, name) for name in ranker.parameter_fields})


def read_parameters(fields: Mapping[str, Field], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given parameters as plain values; raises SchemaError for one that cannot be used."""
    found = {}
    for name, value in given.items():
        try:
            found[name] = fields[name].read(value, {})
        except SchemaError as error:
            raise error.within(name) from None
    return found


def check_parameters(ranker: Parametrised) -> None:
    """Refuse parameters that cannot be learned with."""
    try:
        plain_parameters(ranker)
    except SchemaError as error:
        raise InvalidInputError(error.fault("choose another value.")) from None

"""Parameters of measures: default, what is accepted, and the words for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

from rerank.errors import InvalidInputError


@dataclass(frozen=True)
class MeasureParameter:
    """A parameter of a measure.

    default    its value where a name does not say it
    words      what it accepts, for errors
    types      numbers of these types,
    low, high  between these bounds, or one of `choices`
    optional   whether None is accepted, too
    convert    in place of all of this: what makes the value of what the user gives
    """

    default: Any
    words: str
    types: tuple[Any, ...] = (int,)
    low: float = 1
    high: float = inf
    choices: tuple[Any, ...] = ()
    optional: bool = False
    convert: Callable[[Any], Any] | None = None

    def read(self, measure: str, value: Any) -> Any:
        """Return the value; refuse one that is not accepted."""
        if self.convert is not None:
            return self.convert(value)
        is_number = isinstance(value, self.types) and not isinstance(value, bool) and self.low <= value <= self.high
        if value in self.choices or (is_number and not self.choices) or (value is None and self.optional):
            return value
        raise InvalidInputError(f"{measure}: expected {self.words}, got {value!r}.")


def declared(parameter: MeasureParameter) -> Any:
    """Return the field of a dataclass that is a parameter."""
    return field(default=parameter.default, metadata={"parameter": parameter})


REAL = (int, float)
BELOW_ONE = 1.0 - 2.0**-53
LEAST_ABOVE_ZERO = 5e-324
REL: Any = MeasureParameter(1, "rel of at least 1")
OPTIONAL_REL: Any = MeasureParameter(None, "rel of at least 1", optional=True)

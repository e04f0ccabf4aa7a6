"""Hyper-parameters, declared once by each ranker as fields of a dataclass.

A declaration (`parameter`) holds the default, the accepted values, the help text and the values that tuning tries.
The constructor's arguments, the checks of `fit`, saving and loading, `rerank train -h RANKER` and `-p`, the tables of
docs/rankers.md and the search space of `tune` are all derived from it.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, ClassVar, Protocol

from rerank.errors import InvalidInputError, UnknownParameterError, shown
from rerank.metrics.registry import measure_name
from rerank.rankers.other_names import remedy
from rerank.runtime.schema import Field, SchemaError, Sizes, Text, Whole

LONGEST_METRIC = 200  # characters
NORMALIZE = "Whether to normalise the gradients of each query (lambdarank_norm of LightGBM)."
_DECLARED = "rerank"  # key of a field's metadata
_WIDTH = 112
_CONSTANTS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Parameter:
    """A declared hyper-parameter.

    Attributes
    ----------
    name : str
        Its name, which is that of the constructor's argument.
    field : Field or None
        What checks the value; None for `base`, which is checked when it is applied.
    default : object
        Its default.
    help : str
        What it does, in sentences.
    search : tuple
        Values that tuning tries; empty where it is not tuned.

    """

    name: str
    field: Field | None
    default: Any
    help: str
    search: tuple[Any, ...]

    @property
    def type_name(self) -> str:
        """Python's type of the value."""
        return "object" if self.field is None else self.field.type_name

    @property
    def accepts(self) -> str:
        """The accepted range or choices."""
        return "" if self.field is None else self.field.accepts()


def parameter(default: Any, field: Field | None, help: str, search: Sequence[Any] = ()) -> Any:
    """Return the declaration of a hyper-parameter, as the value of a dataclass's field."""
    return dataclasses.field(default=default, metadata={_DECLARED: (field, help, tuple(search))})


def declared_parameters(ranker: type) -> dict[str, Parameter]:
    """Return the hyper-parameters that a ranker's class declares, by name."""
    fields = {field.name: field for field in dataclasses.fields(ranker)}
    return {
        name: Parameter(name, declared[0], field.default, declared[1], declared[2])
        for name, field in fields.items()
        if (declared := field.metadata.get(_DECLARED)) is not None
    }


def documentation(parameters: Iterable[Parameter]) -> str:
    """Return the hyper-parameters as the section `Parameters` of a docstring (numpydoc)."""
    lines = ["Parameters", "----------"]
    for each in parameters:
        lines.append(f"{each.name} : {each.type_name}, default={each.default!r}")
        text = f"{each.help} Accepted: {each.accepts}." if each.accepts else each.help
        lines += [f"    {line}" for line in wrap(text, _WIDTH, break_on_hyphens=False)]
    return "\n".join(lines)


def check_names(ranker: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are no hyper-parameters of a ranker."""
    names = list(known)
    for name in given:
        if name not in names:
            raise UnknownParameterError(
                f"{ranker}: expected a known parameter, got {shown(name)}. {remedy(name, names)}"
            )


class Metric(Field):
    """A measure: its name, a Measure, one of ir_measures, or a function of the user's; stored by name."""

    type_name: ClassVar[str] = "str"

    def accepts(self) -> str:
        """Return what names a measure."""
        return "a measure's name in ir_measures, a Measure or a function"

    def read(self, value: object, sizes: Sizes) -> str:
        """Return the name; whether it names a measure is checked in training: a file holds no function."""
        name: str = Text(LONGEST_METRIC).read(value if value is None else measure_name(value), sizes)
        return name


class Jobs(Field):
    """A number of threads; None or -1 for all cores."""

    type_name: ClassVar[str] = "int"

    def accepts(self) -> str:
        """Return the range."""
        return "from 1, or None or -1 for all cores"

    def read(self, value: object, sizes: Sizes) -> int | None:
        """Return the number."""
        try:
            jobs: int | None = Whole(-1, 2**31 - 1, optional=True).read(value, sizes)
        except SchemaError as error:
            jobs, got = 0, error.got
        else:
            got = "0"
        if jobs == 0:
            raise SchemaError("a number of threads from 1, or -1 for all", got)
        return jobs


SEED = Whole(0, 2**64 - 1, optional=True)
ROUNDS = Whole(1, 1_000_000)


class HasParameters(Protocol):
    """An object whose class declares hyper-parameters."""

    parameter_fields: ClassVar[Mapping[str, Field]]


def base_parameter() -> Any:
    """Return the declaration of `base`."""
    return parameter(
        None,
        None,
        'Ranker to start from: "run" (the scores of the candidates), "feature:NAME", "run:FILE", "model:FILE", a run, '
        "or a fitted ranker. None trains from scratch.",
    )


def jobs_parameter() -> Any:
    """Return the declaration of `n_jobs` of a ranker whose training is parallel."""
    return parameter(None, Jobs(), "Number of threads. The model is the same for any number.")


def watched_metric() -> Any:
    """Return the declaration of `metric` of a ranker that is trained for a cost of its own."""
    return parameter("nDCG@10", Metric(), "Measure for early stopping.")


def trained_metric() -> Any:
    """Return the declaration of `metric` of a ranker that is trained for the measure."""
    return parameter("nDCG@10", Metric(), "Measure to optimise, also used for early stopping.")


def stopping_parameter(rounds: int, unit: str) -> Any:
    """Return the declaration of `early_stopping_rounds`, counted in `unit`."""
    text = f"Training stops after this number of {unit} without an improvement on the validation data."
    return parameter(rounds, ROUNDS, text)


def plain_parameters(ranker: HasParameters) -> dict[str, Any]:
    """Return a ranker's parameters but `base` as plain values; raises SchemaError for one that cannot be used."""
    return read_parameters(ranker.parameter_fields, {name: getattr(ranker, name) for name in ranker.parameter_fields})


def read_parameters(fields: Mapping[str, Field], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given parameters as plain values; raises SchemaError for one that cannot be used."""
    values = {}
    for name, value in given.items():
        try:
            values[name] = fields[name].read(value, {})
        except SchemaError as error:
            raise error.within(name) from None
    return values


def read_value(text: str) -> Any:
    """Return a value that was written as text: true, false, none, a literal of Python, or else the text itself."""
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text


def check_parameters(ranker: HasParameters) -> None:
    """Refuse values of parameters that cannot be learned with."""
    try:
        plain_parameters(ranker)
    except SchemaError as error:
        raise InvalidInputError(error.fault("Choose another value.")) from None

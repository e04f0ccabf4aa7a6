"""Hyper-parameters, declared once by each ranker as fields of a dataclass.

A declaration (`parameter`) holds the default, the accepted values, the help text and the values that tuning tries.
The constructor's arguments, the checks of `fit`, saving and loading, `rerank train -h RANKER` and `-p`, the tables of
docs/rankers.md and the search space of `tune` are all derived from it.
"""

import ast
import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, ClassVar

from rerank.metrics.registry import measure_name
from rerank.runtime.fields import Anything, Field, Text, Whole

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
        Its name, which is the name of the constructor's argument, too.
    field : Field
        What checks the value; `Anything` for `base`, which is checked when it is applied.
    default : object
        Its default.
    help : str
        What it does, in sentences.
    search : tuple
        Values that tuning tries; empty where it is not tuned.

    """

    name: str
    field: Field
    default: Any
    help: str
    search: tuple[Any, ...]


def parameter(default: Any, field: Field, help: str, search: Sequence[Any] = ()) -> Any:
    """Return the declaration of a hyper-parameter, as the value of a dataclass's field."""
    return dataclasses.field(default=default, metadata={_DECLARED: (field, help, tuple(search))})


def declared_parameters(ranker: type) -> dict[str, Parameter]:
    """Return the hyper-parameters that a ranker's class declares, by name."""
    return {
        field.name: Parameter(field.name, field.metadata[_DECLARED][0], field.default, *field.metadata[_DECLARED][1:])
        for field in dataclasses.fields(ranker)
        if _DECLARED in field.metadata
    }


def documentation(parameters: Iterable[Parameter]) -> str:
    """Return the hyper-parameters as the section `Parameters` of a docstring (numpydoc)."""
    lines = ["Parameters", "----------"]
    for declared in parameters:
        lines.append(f"{declared.name} : {declared.field.type_name}, default={declared.default!r}")
        accepts = declared.field.accepts()
        text = f"{declared.help} Accepted: {accepts}." if accepts else declared.help
        lines += [f"    {line}" for line in wrap(text, _WIDTH, break_on_hyphens=False)]
    return "\n".join(lines)


class Metric(Field):
    """A measure: its name, a Measure, one of ir_measures, or a function of the user's; stored by name."""

    type_name: ClassVar[str] = "str"

    def accepts(self) -> str:
        """Return what is accepted as a measure."""
        return "a measure's name in ir_measures, a Measure or a function"

    def read(self, value: object) -> str:
        """Return the name; training checks whether it names a measure, since a file cannot hold a function."""
        name: str = Text(LONGEST_METRIC).read(value if value is None else measure_name(value))
        return name


JOBS = Whole(-1, 2**31 - 1, optional=True)  # 0 is refused where threads are counted
SEED = Whole(0, 2**64 - 1, optional=True)
ROUNDS = Whole(1, 1_000_000)


def base_parameter() -> Any:
    """Return the declaration of `base`."""
    return parameter(
        None,
        Anything(),
        'Ranker to start from: "run" (the scores of the candidates), "feature:NAME", "run:FILE", "model:FILE", a run, '
        "or a fitted ranker. None trains from scratch.",
    )


def jobs_parameter() -> Any:
    """Return the declaration of `n_jobs` of a ranker whose training is parallel."""
    return parameter(None, JOBS, "Number of threads; None or -1 for all cores. The model is the same for any number.")


def watched_metric() -> Any:
    """Return the declaration of `metric` of a ranker whose cost does not depend on it."""
    return parameter("nDCG@10", Metric(), "Measure for early stopping.")


def stopping_parameter(rounds: int, unit: str) -> Any:
    """Return the declaration of `early_stopping_rounds`, counted in `unit`."""
    return parameter(
        rounds, ROUNDS, f"Training stops after this number of {unit} without an improvement on the validation data."
    )


def read_value(text: str) -> Any:
    """Return a value that was written as text: true, false, none, a literal of Python, or else the text itself."""
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text

"""How a verb declares its arguments and options, and those of several verbs.

A verb has a frozen dataclass whose fields are declared by `argument`, `option`, or a function below that returns one of
them; `takes` gives the verb a value of it. Fields of a base class are options that verbs share.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from rerank.errors import InvalidInputError, shown, unknown_name

if TYPE_CHECKING:
    from rerank.types import Run

Given = TypeVar("Given")

path_type = click.Path(path_type=Path)
# Names of formats and engines are read from the files that declare them: help must not wait for their import.
_ENGINE = re.compile(r'^    name="([\w-]+)",$', re.MULTILINE)
_REGISTERED = re.compile(r'^@register\("([\w-]+)"\)$', re.MULTILINE)
BASES = UNSUPERVISED, NO_BASE = "unsupervised", "none"  # without a name


def argument(**settings: Any) -> Any:
    """Declare a field as an argument, with click's settings."""
    return field(metadata={"declare": click.argument, "names": (), "settings": settings})


def option(*names: str, **settings: Any) -> Any:
    """Declare a field as an option, with click's settings."""
    return field(metadata={"declare": click.option, "names": names, "settings": settings})


def is_given(name: str) -> bool:
    """Return whether the running verb was given a parameter, by its Python name, and does not have its default."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def takes(kind: type[Given]) -> Callable[[Callable[[Given], None]], Callable[..., None]]:
    """Return a decorator that gives a command what it is called with as a value of a dataclass of declared fields."""

    def decorate(command: Callable[[Given], None]) -> Callable[..., None]:
        @wraps(command)
        def call(**values: Any) -> None:
            command(kind(**values))

        declared = call
        for each in reversed(fields(kind)):  # type: ignore[arg-type]
            how = each.metadata
            declared = how["declare"](*how["names"], each.name, **how["settings"])(declared)
        return declared

    return decorate


class Number(click.types.FloatParamType):
    """A number from `low` to `high`; NaN is none."""

    def __init__(self, low: float, high: float = math.inf) -> None:
        self.low, self.high = low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of an option's text."""
        number = float(super().convert(value, param, ctx))
        if not self.low <= number <= self.high:
            bounds = f"of at least {self.low:g}" if self.high == math.inf else f"from {self.low:g} to {self.high:g}"
            name = param.opts[0] if param else "number"
            raise InvalidInputError(f"{name}: expected a number {bounds}, got {shown(number)}. Give another one.")
        return number


class Whole(click.IntRange):
    """A whole number from `low`; what no computer counts to is refused."""

    def __init__(self, low: int = 1, most: int = 2**31 - 1) -> None:
        super().__init__(low)
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of an option's text."""
        number = int(super().convert(value, param, ctx))
        if number > self.most:
            name = param.opts[0] if param else "number"
            raise InvalidInputError(
                f"{name}: expected a number up to {self.most}, got {shown(number)}. Give another one."
            )
        return number


def path_argument(**settings: Any) -> Any:
    """Declare an argument that names a file or a folder."""
    return argument(type=path_type, **settings)


def file_option(name: str, text: str, **settings: Any) -> Any:
    """Declare an option that names a file."""
    return option(name, type=path_type, metavar="FILE", help=text, **settings)


def format_option(*forms: str) -> Any:
    """Declare `--format`, whose first form is the default."""
    kind = click.Choice(list(forms))
    return option("--format", type=kind, default=forms[0], show_default=True, help="Output format.")


def seed_option() -> Any:
    """Declare `--seed`."""
    return option("--seed", type=Whole(0), metavar="N", default=0, show_default=True, help="Random seed.")


def limits_option(limits: Mapping[str, tuple[str, Number | Whole]], text: str) -> Any:
    """Declare `--limit NAME=VALUE`, which can be repeated; its value has the numbers by the fields of the names."""

    def read(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
        numbers = {}
        for each in given:
            name, _, number = each.partition("=")
            if name not in limits:
                raise unknown_name("--limit", name, limits)
            field_name, kind = limits[name]
            numbers[field_name] = kind.convert(number, parameter, context)
        return numbers

    return option(
        "--limit",
        multiple=True,
        callback=read,
        metavar="NAME=VALUE",
        help=f"Limit to change; defaults: {text}. Repeatable.",
    )


def threads_option() -> Any:
    """Declare `--threads`."""
    return option("--threads", type=Whole(), metavar="N", help="Number of threads.  [default: all cores]")


def functions_option() -> Any:
    """Declare `--functions`, which runs the files that define features."""
    text = "Python file that defines your own features."
    return file_option("--functions", text, multiple=True, callback=_load_functions)


def _load_functions(context: click.Context, parameter: click.Parameter, files: tuple[Path, ...]) -> tuple[Path, ...]:
    if files:
        from rerank.features.functions import load_functions

        for file in files:
            load_functions(file)
    return files


def candidates_option(default: str = "BM25") -> Any:
    """Declare `--candidates`; `default` is what they are without it."""
    return option(
        "--candidates",
        metavar="SOURCE:K,...",
        help=f"Sources of candidates (see `rerank retrieve -h`).  [default: {default}]",
    )


def output_option(what: str) -> Any:
    """Declare `-o` for a file; `-` is stdout."""
    text = f"File for {what}; - for stdout."
    return option("-o", "--output", type=path_type, metavar="FILE", required=True, help=text)


def folder_option(what: str, default: str | None = None, required: bool = True) -> Any:
    """Declare `-o` for a folder, which may be required if it has no default."""
    given = {"required": required} if default is None else {"default": default, "show_default": True}
    text = f"Folder for {what}."
    return option("-o", "--output", type=path_type, metavar="FOLDER", callback=_no_stdout, help=text, **given)


def _no_stdout(context: click.Context, parameter: click.Parameter, folder: Path | None) -> Path | None:
    if str(folder) == "-":
        raise click.BadParameter("expected a folder, got - (stdout). Name a folder.", context, parameter)
    return folder


def measures_option(default: tuple[str, ...]) -> Any:
    """Declare `-m`, which can be repeated."""
    return option(
        "-m",
        "--measure",
        metavar="MEASURE",
        multiple=True,
        help=f"Measure by its ir_measures or trec_eval name, e.g. nDCG@10, P.5,10 or all_trec. Repeatable.  "
        f"[default: {' '.join(default)}]",
    )


def metric_option(*names: str, use: str = "to optimise: AP, ERR@20, RBP(p=0.8), ...") -> Any:
    """Declare `--metric`."""
    return option(*names, "--metric", metavar="MEASURE", default="nDCG@10", show_default=True, help=f"Measure {use}")


def depth_option(default: int | None = 1000) -> Any:
    """Declare `-k`; by default that of the model's training where there is no other default."""
    return option(
        "-k",
        "--hits",
        type=Whole(),
        metavar="N",
        default=default,
        show_default=default is not None,
        help="Documents to retrieve per query."
        if default
        else "Documents to rerank per query.  [default: as in training]",
    )


def read_named_runs(pairs: tuple[str, ...]) -> dict[str, Run]:
    """Return the runs of NAME=FILE, by name."""
    from rerank.files.trec import read_run

    runs: dict[str, Run] = {}
    for pair in pairs:
        name, equals, file = pair.partition("=")
        if not name.isidentifier() or not equals or not file or name in runs:
            raise InvalidInputError(
                f"--run: expected NAME=FILE with a name of letters and digits, each once, got {pair!r}. "
                "Write e.g. dense=dense.run."
            )
        runs[name] = read_run(file)
    return runs


def split_base(base: str) -> tuple[str, str]:
    """Return kind and name of `feature:NAME`, `run:FILE` or `model:FILE`; `unsupervised` and `none` have no name."""
    kind, colon, name = base.partition(":")
    if base not in BASES and (kind not in {"feature", "run", "model"} or not colon or not name):
        raise InvalidInputError(
            f"--base: expected feature:NAME, run:FILE, model:FILE, unsupervised or none, got {base!r}. Write e.g. "
            "feature:bm25.contents."
        )
    return kind, name


def base_run_option() -> Any:
    """Declare `--base run:FILE` of the verbs that apply a model; see `read_base_run`."""
    return option("--base", metavar="run:FILE", help="Run that the model was warm-started from.")


def read_base_run(base: str | None) -> Run | None:
    """Return the run of `--base run:FILE`, for a model that was warm-started from a run."""
    if base is None:
        return None
    from rerank.files.trec import read_run

    kind, name = split_base(base)
    if kind != "run":
        raise InvalidInputError(
            f"--base: expected run:FILE here, got {base!r}. Features and models are stored in the model itself."
        )
    return read_run(name)


def base_file(base: str | None, base_run: Any) -> dict[str, str]:
    """Return the file of a base run, by what errors call the run."""
    name = getattr(base_run, "name", None)
    return {f"base run {name}": split_base(base)[1]} if base and name else {}


def format_names() -> list[str]:
    """Return the names of all formats, in alphabetical order."""
    return _names(_REGISTERED, "rerank.exchange")


def engine_names() -> list[str]:
    """Return the names of all engines that compute features, in alphabetical order."""
    return _names(_ENGINE, "rerank.exchange")


def ranker_names() -> list[str]:
    """Return the names of all rankers, in alphabetical order."""
    return _names(_REGISTERED, "rerank.rankers")


def _names(line: re.Pattern[str], package: str) -> list[str]:
    """Return the names in such lines of a package's files, in alphabetical order."""
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or []) if spec else []
    texts = (path.read_text("utf8") for folder in folders for path in Path(folder).glob("*.py"))
    return sorted(name for text in texts for name in line.findall(text))

"""The rankers and their hyper-parameters, read from their source: help must not wait for Numba.

A ranker's class bears `@register("name")`; the arguments of its constructor become options, its docstring
says what they mean:

    name, other_name   what it is, over as many
                       lines as it takes
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from rerank.errors import InvalidInputError

KINDS: Mapping[str, type] = {"int": int, "float": float, "bool": bool, "str": str}
ELSEWHERE = frozenset(["metric", "base", "n_jobs"])  # --metric, --base and --threads
_ENTRY = re.compile(r"(\w+(?:, \w+)*)\s{2,}(\S.*)")


@dataclass(frozen=True)
class Parameter:
    """An argument of a ranker's constructor; its default as text, empty for None."""

    name: str
    kind: type
    default: str
    help: str

    @property
    def option(self) -> str:
        """The option's name."""
        return f"--{self.name.replace('_', '-')}"


@cache
def ranker_parameters() -> dict[str, dict[str, Parameter]]:
    """Return the hyper-parameters that have an option, by ranker and name."""
    found = {name: _parameters(node) for path in _sources() for name, node in _registered(path)}
    return dict(sorted(found.items()))


def parameter_options(command: Any) -> Any:
    """Add an option for each hyper-parameter of any ranker, named as in Python."""
    known = {name: parameter for own in ranker_parameters().values() for name, parameter in own.items()}
    for parameter in reversed(known.values()):
        command = _option(parameter)(command)
    return command


def ranker_option() -> Callable[[Any], Any]:
    """Return `--ranker`."""
    names = ", ".join(ranker_parameters())
    return click.option("--ranker", metavar="NAME", default="lambdamart", show_default=True, help=f"Learner: {names}.")


def given_parameters(ranker: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hyper-parameters that were given; one that the ranker does not have is refused."""
    given = {name: value for name, value in options.items() if value is not None}
    known = ranker_parameters().get(ranker, given)
    for name in given:
        if name not in known:
            raise InvalidInputError(
                f"--{name.replace('_', '-')}: expected an option of {ranker}, found one that it does not have; "
                "leave it out."
            )
    return given


def _option(parameter: Parameter) -> Callable[[Any], Any]:
    text = f"{parameter.help}  [default: {parameter.default}]" if parameter.default else parameter.help
    if parameter.kind is bool:
        flags = f"{parameter.option}/--no-{parameter.option.removeprefix('--')}"
        return click.option(flags, parameter.name, default=None, help=text)
    metavar = {int: "N", float: "X"}.get(parameter.kind, "TEXT")
    return click.option(parameter.option, parameter.name, type=parameter.kind, metavar=metavar, help=text)


def _sources() -> list[Path]:
    spec = find_spec("rerank.rankers")
    folders = list(spec.submodule_search_locations or []) if spec else []
    return sorted(path for folder in folders for path in Path(folder).glob("*.py"))


def _registered(path: Path) -> Iterator[tuple[str, ast.ClassDef]]:
    classes = (node for node in ast.parse(path.read_text("utf8")).body if isinstance(node, ast.ClassDef))
    for node in classes:
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "register":
                yield ast.literal_eval(mark.args[0]), node


def _parameters(ranker: ast.ClassDef) -> dict[str, Parameter]:
    texts = _entries(ast.get_docstring(ranker) or "")
    own = (node for node in ranker.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    constructor = next(own, None)
    if constructor is None:
        return {}
    arguments, defaults = constructor.args.args, constructor.args.defaults
    with_default = zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True)
    found = (_parameter(argument, default, texts) for argument, default in with_default)
    return {parameter.name: parameter for parameter in found if parameter is not None}


def _parameter(argument: ast.arg, default: ast.expr, texts: Mapping[str, str]) -> Parameter | None:
    """Return an argument as an option; None for one that a line of text cannot hold."""
    kind = KINDS.get(ast.unparse(argument.annotation).split(" | ")[0]) if argument.annotation else None
    if kind is None or argument.arg in ELSEWHERE:
        return None
    value = ast.literal_eval(default)
    shown = "" if value is None else str(value) if kind is not bool else "on" if value else "off"
    return Parameter(argument.arg, kind, shown, texts.get(argument.arg, ""))


def _entries(docstring: str) -> dict[str, str]:
    """Return what a docstring says of each name."""
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in docstring.splitlines():
        entry = _ENTRY.match(line)
        names = entry[1].split(", ") if entry else names if line.startswith("  ") else []
        for name in names:
            texts[name] = f"{texts.get(name, '')} {(entry[2] if entry else line).strip()}".strip()
    return {name: f"{text[0].upper()}{text[1:]}." for name, text in texts.items()}

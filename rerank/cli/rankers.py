"""The rankers and their hyper-parameters, read from their source: help must not wait for Numba.

A ranker's class bears `@register("name")`; the arguments of its constructor (or the fields of a dataclass, its base
class's with them) become options, its docstring says what they mean:

    name, other_name   what it is, over as many
                       lines as it takes
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import click

from rerank.cli.source import registered_classes
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
    return dict(sorted((name, _parameters(lineage)) for name, lineage in registered_classes("rankers").items()))


def objective_names() -> list[str]:
    """Return the names of the objectives that labels alone define."""
    return sorted(registered_classes("objectives"))


def parameter_options(command: Any) -> Any:
    """Add an option for each hyper-parameter of any ranker, named as in Python; its help is what most rankers say."""
    known: dict[str, dict[str, Parameter]] = {}
    for ranker, own in ranker_parameters().items():
        for name, parameter in own.items():
            known.setdefault(name, {})[ranker] = parameter
    for by_ranker in reversed(known.values()):
        texts = Counter(parameter.help for parameter in by_ranker.values())
        parameter = replace(next(iter(by_ranker.values())), help=texts.most_common(1)[0][0])
        command = _option(parameter, _defaults(by_ranker))(command)
    return command


def _defaults(by_ranker: Mapping[str, Parameter]) -> str:
    """Return the default of a parameter; that of each ranker where they differ."""
    rankers: dict[str, list[str]] = {}
    for ranker, parameter in by_ranker.items():
        rankers.setdefault(parameter.default, []).append(ranker)
    if len(rankers) == 1:
        return next(iter(rankers))
    return "; ".join(f"{', '.join(names)} {default or 'none'}" for default, names in rankers.items())


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
                f"--{name.replace('_', '-')}: expected an option of {ranker}, got one that it does not have. "
                "Leave it out."
            )
    return given


def _option(parameter: Parameter, default: str) -> Callable[[Any], Any]:
    text = f"{parameter.help}  [default: {default}]" if default else parameter.help
    if parameter.kind is bool:
        flags = f"{parameter.option}/--no-{parameter.option.removeprefix('--')}"
        return click.option(flags, parameter.name, default=None, help=text)
    metavar = {int: "N", float: "X"}.get(parameter.kind, "TEXT")
    return click.option(parameter.option, parameter.name, type=parameter.kind, metavar=metavar, help=text)


def _parameters(lineage: Sequence[ast.ClassDef]) -> dict[str, Parameter]:
    texts: dict[str, str] = {}
    arguments: dict[str, tuple[ast.expr | None, ast.expr]] = {}
    for node in lineage:
        texts |= _entries(ast.get_docstring(node) or "")
        arguments |= _arguments(node)
    found = (_parameter(name, *argument, texts) for name, argument in arguments.items())
    return {parameter.name: parameter for parameter in found if parameter is not None}


def _arguments(ranker: ast.ClassDef) -> dict[str, tuple[ast.expr | None, ast.expr]]:
    """Return annotation and default of each argument: of the constructor written out, or of a dataclass's fields."""
    constructors = [node for node in ranker.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    if constructors:
        names, defaults = constructors[0].args.args, constructors[0].args.defaults
        with_default = zip(names[len(names) - len(defaults) :], defaults, strict=True)
        return {name.arg: (name.annotation, default) for name, default in with_default}
    if not any("dataclass" in ast.unparse(mark) for mark in ranker.decorator_list):
        return {}
    fields = (node for node in ranker.body if isinstance(node, ast.AnnAssign) and node.value is not None)
    return {ast.unparse(field.target): (field.annotation, field.value) for field in fields if field.value is not None}


def _parameter(name: str, annotation: ast.expr | None, default: ast.expr, texts: Mapping[str, str]) -> Parameter | None:
    """Return an argument as an option; None for one that a line of text cannot hold."""
    kind = KINDS.get(ast.unparse(annotation).split(" | ")[0]) if annotation else None
    if kind is None or name in ELSEWHERE:
        return None
    value = ast.literal_eval(default)
    shown = "" if value is None else str(value) if kind is not bool else "on" if value else "off"
    text = texts.get(name, "")
    return Parameter(
        name, kind, shown, f"{text} Known: {', '.join(objective_names())}." if name == "objective" else text
    )


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

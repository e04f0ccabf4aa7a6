"""Options for the hyper-parameters of all rankers; `--ranker NAME -h` shows those of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from rerank.cli.declared import declared
from rerank.errors import InvalidInputError

KINDS: Mapping[str, type] = {"int": int, "float": float, "bool": bool, "str": str}
METAVARS: Mapping[type, str] = {int: "N", float: "X"}
ELSEWHERE = frozenset(["metric", "base", "n_jobs"])  # --metric, --base and --threads


@dataclass(frozen=True)
class Parameter:
    """A hyper-parameter of a ranker as an option.

    Attributes
    ----------
    name : str
        Its name in Python.
    kind : type
        int, float, bool or str.
    default : str
        Its default as text, empty for None.
    help : str
        What it does.

    """

    name: str
    kind: type
    default: str
    help: str

    @property
    def option(self) -> str:
        """The option's name."""
        return f"--{self.name.replace('_', '-')}"


class ParameterOption(click.Option):
    """An option for the parameters of one name of several rankers, each with its own default and help."""

    def __init__(self, names: Sequence[str], by_ranker: Mapping[str, Parameter], **settings: Any) -> None:
        super().__init__(names, help=_help(by_ranker), **settings)
        self.by_ranker = by_ranker

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return option and help; after `--ranker NAME` those of this ranker, None where it has no such parameter."""
        ranker = str(ctx.params.get("ranker"))
        record = super().get_help_record(ctx)
        if ctx.get_parameter_source("ranker") is not click.core.ParameterSource.COMMANDLINE or record is None:
            return record
        if ranker not in declared()["rankers"]:
            return record
        return (record[0], _help({ranker: self.by_ranker[ranker]})) if ranker in self.by_ranker else None


def ranker_parameters() -> dict[str, dict[str, Parameter]]:
    """Return the hyper-parameters that have an option, by ranker and name."""
    return {
        ranker: {
            name: Parameter(name, KINDS[each["type"]], each["default"], each["help"]) for name, each in own.items()
        }
        for ranker, own in declared()["rankers"].items()
    }


def objective_names() -> list[str]:
    """Return the names of the objectives that labels alone define."""
    names: list[str] = declared()["objectives"]
    return names


def parameter_options(command: Any) -> Any:
    """Add an option for each hyper-parameter of any ranker, named as in Python."""
    by_name: dict[str, dict[str, Parameter]] = {}
    for ranker, parameters in ranker_parameters().items():
        for name, parameter in parameters.items():
            by_name.setdefault(name, {})[ranker] = parameter
    for by_ranker in reversed(by_name.values()):
        command = _option(by_ranker)(command)
    return command


def ranker_option() -> Callable[[Any], Any]:
    """Return `--ranker`; it is read first, so that help after it is that of the ranker."""
    names = ", ".join(declared()["rankers"])
    return click.option(
        "--ranker",
        metavar="NAME",
        default="lambdamart",
        show_default=True,
        is_eager=True,
        help=f"Learner: {names}. With -h behind it, help shows the parameters of this ranker alone.",
    )


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


def _option(by_ranker: Mapping[str, Parameter]) -> Callable[[Any], Any]:
    first = next(iter(by_ranker.values()))
    if first.kind is bool:
        flags = f"{first.option}/--no-{first.option.removeprefix('--')}"
        return click.option(flags, first.name, cls=ParameterOption, by_ranker=by_ranker, default=None)
    metavar = METAVARS.get(first.kind, "TEXT")
    return click.option(
        first.option, first.name, cls=ParameterOption, by_ranker=by_ranker, type=first.kind, metavar=metavar
    )


def _help(by_ranker: Mapping[str, Parameter]) -> str:
    """Return the help of each ranker's parameter with its default; once for those that share the text."""
    groups: dict[str, dict[str, Parameter]] = {}
    for ranker, parameter in by_ranker.items():
        groups.setdefault(parameter.help, {})[ranker] = parameter
    texts = [
        f"{text}  [default: {default}]" if (default := _defaults(group)) else text for text, group in groups.items()
    ]
    if len(texts) == 1:
        return texts[0]
    return "  ".join(f"{', '.join(group)}: {text}" for group, text in zip(groups.values(), texts, strict=True))


def _defaults(by_ranker: Mapping[str, Parameter]) -> str:
    """Return the default of a parameter; that of each ranker where they differ."""
    rankers: dict[str, list[str]] = {}
    for ranker, parameter in by_ranker.items():
        rankers.setdefault(parameter.default, []).append(ranker)
    if len(rankers) == 1:
        return next(iter(rankers))
    return "; ".join(f"{', '.join(names)} {default or 'none'}" for default, names in rankers.items())

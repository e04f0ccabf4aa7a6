"""Options of a ranker and its hyper-parameters: `--ranker NAME` and `-p NAME=VALUE`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from rerank.cli.options import Decorator
from rerank.errors import InvalidInputError, UnknownParameterError, shown, suggestion

ELSEWHERE = {"metric": "--metric", "base": "--base", "n_jobs": "--threads"}  # parameters with options of their own


def ranker_options() -> Decorator:
    """Return `--ranker` and `-p`, which can be repeated; see `given_parameters`."""

    def add(command: Any) -> Any:
        for option in (
            click.option(
                "-p",
                "--parameter",
                "parameters",
                metavar="NAME=VALUE",
                multiple=True,
                help="Parameter of the ranker, e.g. num_leaves=15 (see `rerank rankers NAME`). Repeatable.",
            ),
            click.option(
                "--ranker",
                metavar="NAME",
                default="lambdamart",
                show_default=True,
                help="Ranker (see `rerank rankers`).",
            ),
        ):
            command = option(command)
        return command

    return add


def given_parameters(ranker: str, texts: Sequence[str], elsewhere: Mapping[str, str] = ELSEWHERE) -> dict[str, Any]:
    """Return the hyper-parameters of `-p`; `elsewhere` holds the options of those that `-p` does not take."""
    from rerank.rankers.parameters import read_parameters, read_value
    from rerank.rankers.ranker import ranker_class
    from rerank.runtime.schema import SchemaError

    verb, values = click.get_current_context().info_name, {}
    fields = ranker_class(ranker).parameter_fields
    known = fields.keys() - elsewhere.keys()
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InvalidInputError(f"{verb}: -p: expected NAME=VALUE, got {shown(text)}. Write e.g. -p num_leaves=15.")
        if name in values:
            raise InvalidInputError(f"{verb}: -p {name}: expected each parameter once, got it again. Remove one.")
        if name not in known:
            remedy = f"Use {elsewhere[name]}." if name in elsewhere else suggestion(name, known)
            raise UnknownParameterError(
                f"{verb}: -p {shown(name)[1:-1]}: expected a parameter of {ranker} that -p takes, got another. {remedy}"
            )
        values[name] = read_value(value)
    try:
        return read_parameters(fields, values)
    except SchemaError as error:
        raise InvalidInputError(f"{verb}: -p {error.fault(f'See `rerank rankers {ranker}`.')}") from None

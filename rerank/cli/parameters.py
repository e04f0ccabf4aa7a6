"""Options of a ranker: `--ranker NAME`, its hyper-parameters `-p NAME=VALUE`, and what it is trained for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import NO_BASE, UNSUPERVISED, metric_option, option, split_base
from rerank.errors import InvalidInputError, UnknownParameterError, shown

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker
    from rerank.runtime.schema import Field
    from rerank.types import Run

ELSEWHERE = {"metric": "--metric", "base": "--base", "n_jobs": "--threads"}  # parameters with options of their own


@dataclass(frozen=True)
class RankerOptions:
    """Which ranker is trained, with which parameters, for which measure."""

    ranker: str = option(
        "--ranker", metavar="NAME", default="lambdamart", show_default=True, help="Ranker (see `rerank train -h`)."
    )
    parameters: tuple[str, ...] = option(
        "-p",
        "--parameter",
        metavar="NAME=VALUE",
        multiple=True,
        help="Parameter of the ranker, e.g. num_leaves=15 (see `rerank train -h RANKER`). Repeatable.",
    )
    metric: str = metric_option()


def read_base(base: str) -> str | Run | Ranker | None:
    """Return the argument `base` of a ranker for `--base`."""
    if base == NO_BASE:
        return None
    kind, name = split_base(base)
    if kind == "feature" or base == UNSUPERVISED:
        return base
    if kind == "run":
        from rerank.files.trec import read_run

        return read_run(name)
    from rerank.rankers.store import read_model

    return read_model(name)


def new_ranker(given: RankerOptions, name: str, base: str, threads: int | None) -> Ranker:
    """Return the ranker of a name with the parameters of the options, not fitted."""
    from rerank.rankers.ranker import ranker_class

    parameters = given_parameters(name, given.parameters)
    learner = ranker_class(name)
    return learner(metric=given.metric, base=read_base(base), n_jobs=threads, **parameters)


def given_parameters(
    ranker: str,
    texts: Sequence[str],
    elsewhere: Mapping[str, str] = ELSEWHERE,
    more: Mapping[str, Field] | None = None,
) -> dict[str, Any]:
    """Return the hyper-parameters of `-p`.

    elsewhere  the options of those that `-p` does not take
    more       what `-p` takes whatever the ranker's parameters are
    """
    from rerank.rankers.other_names import remedy
    from rerank.rankers.parameters import read_parameters, read_value
    from rerank.rankers.ranker import ranker_class
    from rerank.runtime.schema import SchemaError

    verb, values = click.get_current_context().info_name, {}
    fields = {**(more or {}), **ranker_class(ranker).parameter_fields}
    known = fields.keys() - elsewhere.keys()
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InvalidInputError(f"{verb}: -p: expected NAME=VALUE, got {shown(text)}. Write e.g. -p num_leaves=15.")
        if name in values:
            raise InvalidInputError(f"{verb}: -p {name}: expected each parameter once, got it again. Remove one.")
        if name not in known:
            advice = f"Use {elsewhere[name]}." if name in elsewhere else remedy(name, [*known, *elsewhere])
            raise UnknownParameterError(
                f"{verb}: -p {shown(name)[1:-1]}: expected a parameter of {ranker} that -p takes, got another. {advice}"
            )
        values[name] = read_value(value)
    try:
        return read_parameters(fields, values)
    except SchemaError as error:
        raise InvalidInputError(f"{verb}: -p {error.fault(f'See `rerank train -h {ranker}`.')}") from None

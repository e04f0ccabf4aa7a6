"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.types import Run

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

path_type = click.Path(path_type=Path)


def threads_option() -> Decorator:
    """Return `--threads`."""
    return click.option("--threads", type=click.IntRange(min=1), help="Threads; all cores by default.")


def output_option(what: str, required: bool = True) -> Decorator:
    """Return `-o`."""
    return click.option("-o", "--output", type=path_type, required=required, help=f"Where {what} is written.")


def bm25_options() -> Decorator:
    """Return `-k`, `--k1` and `--b`."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option("--b", type=float, default=0.4, show_default=True, help="BM25's b."),
            click.option("--k1", type=float, default=0.9, show_default=True, help="BM25's k1."),
            click.option(
                "-k",
                "--hits",
                "k",
                type=click.IntRange(min=1),
                default=1000,
                show_default=True,
                help="Documents of a query.",
            ),
        ):
            command = option(command)
        return command

    return add


def split_base(base: str) -> tuple[str, str]:
    """Return kind and name of `feature:NAME`, `run:FILE` or `model:FILE`."""
    kind, colon, name = base.partition(":")
    if kind not in {"feature", "run", "model"} or not colon or not name:
        raise InvalidInputError(
            f"--base: expected feature:NAME, run:FILE or model:FILE, found {base!r}; write e.g. feature:bm25.contents."
        )
    return kind, name


def read_base(base: str | None) -> Any:
    """Return what a ranker takes as its base for `--base`."""
    if base is None:
        return None
    kind, name = split_base(base)
    if kind == "feature":
        return base
    if kind == "run":
        from rerank.files.trec import read_run

        return read_run(name)
    from rerank.rankers.store import load_model

    return load_model(name)


def read_base_run(base: str | None) -> Run | None:
    """Return the run of `--base run:FILE`, for a model that starts from a run of its own."""
    if base is None:
        return None
    from rerank.files.trec import read_run

    kind, name = split_base(base)
    if kind != "run":
        raise InvalidInputError(
            f"--base: expected run:FILE here, found {base!r}; features and models are stored in the model itself."
        )
    return read_run(name)

"""`rerank doctor`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rerank.cli.options import path_type
from rerank.errors import InvalidInputError

KINDS = {
    "qrels": "Judgements.",
    "run": "A run.",
    "topics": "Topics.",
    "data": "Features and labels.",
    "train": "Features and labels that a model is trained on.",
    "test": "Features and labels that figures are reported on.",
}


def kind_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each kind of file."""
    for kind, text in reversed(KINDS.items()):
        option = click.option(f"--{kind}", type=path_type, metavar="FILE", multiple=True, help=text)
        command = option(command)
    return command


@click.command("doctor", short_help="say what is wrong with files")
@click.argument("files", nargs=-1, type=path_type, metavar="[FILE ...]")
@kind_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How the findings are written.",
)
@click.option("--strict", is_flag=True, help="Exit with 2 where there is an error or a warning.")
def command(files: tuple[Path, ...], form: str, strict: bool, **kinds: tuple[Path, ...]) -> None:
    """Examine judgements, runs, topics and features, and say what is wrong with them and what it does to the result.

    What a FILE holds is told by its content; --qrels and its like, which may stand several times, say it. Files are
    examined one by one and against each other. Each finding is one line, the gravest first: `error` (rerank refuses
    the file, or a figure is wrong), `warning` (a figure or a model is not what it seems) or `note`. Exit code 0,
    whatever was found; with --strict, 2 where there is an error or a warning.
    """
    from rerank.doctor.findings import examine
    from rerank.doctor.reading import read_files
    from rerank.doctor.report import render

    named = [(None, path) for path in files] + [(kind, path) for kind, paths in kinds.items() for path in paths]
    if not named:
        raise InvalidInputError("files: expected files to examine, got none. Name one.")
    findings = examine(read_files(named))
    click.echo(render(findings, len(named), form))
    if strict and any(finding.severity != "note" for finding in findings):
        raise click.exceptions.Exit(2)

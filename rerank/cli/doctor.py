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
    "train": "Features and labels, judgements, or topics of the training data.",
    "test": "Features and labels, judgements, or topics of the test data.",
    "index": "Folder of an index.",
}


def kind_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option of each kind of file."""
    for kind, text in reversed(KINDS.items()):
        metavar = "FOLDER" if kind == "index" else "FILE"
        option = click.option(f"--{kind}", type=path_type, metavar=metavar, multiple=True, help=text)
        command = option(command)
    return command


@click.command("doctor", short_help="report problems in files")
@click.argument("files", nargs=-1, type=path_type, metavar="[FILE ...]")
@kind_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Format of the findings.",
)
@click.option("--strict", is_flag=True, help="Exit with 2 where there is an error or a warning.")
def command(files: tuple[Path, ...], form: str, strict: bool, **kinds: tuple[Path, ...]) -> None:
    """Report problems in judgements, runs, topics, features and indexes, and their effect on results.

    The kind of a FILE is detected by its content, and a folder is an index; --qrels and the other options, which can be
    repeated, set the kind. Files are checked one by one and against each other. Each finding is one line, the most
    severe first: `error` (rerank refuses the file, or a result is wrong), `warning` (a result or a model may be
    misleading) or `note`. The exit code is 0 with any findings; with --strict it is 2 after an error or a warning.
    """
    from rerank.doctor.findings import examine, render
    from rerank.doctor.reading import read_files

    named = [(None, path) for path in files] + [(kind, path) for kind, paths in kinds.items() for path in paths]
    if not named:
        raise InvalidInputError("files: expected files to examine, got none. Name one.")
    findings = examine(read_files(named))
    click.echo(render(findings, len(named), form))
    if strict and any(finding.severity != "note" for finding in findings):
        raise click.exceptions.Exit(2)

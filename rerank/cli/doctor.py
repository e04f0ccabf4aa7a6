"""`rerank doctor`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rerank.cli.options import path_type
from rerank.errors import InvalidInputError

KINDS = {
    "qrels": "File of judgements.",
    "run": "File of a run.",
    "topics": "File of topics.",
    "data": "File of features and labels.",
    "train": "Training data: features and labels, judgements, or topics.",
    "test": "Test data: features and labels, judgements, or topics.",
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
    help="Output format.",
)
@click.option("--strict", is_flag=True, help="Exit with code 2 if an error or a warning is found.")
def command(files: tuple[Path, ...], form: str, strict: bool, **kinds: tuple[Path, ...]) -> None:
    """Check judgements, runs, topics, features and indexes for problems, and report how they affect results.

    The kind of each FILE is detected from its content; a folder is an index. The options --qrels, --run and so on set
    the kind explicitly and can be repeated. Files are checked one by one and against each other; of a file that rerank
    refuses, the first error is reported. Each finding is one line, the most severe first: `error` (rerank refuses the
    file, or results are wrong), `warning` (results may be misleading) or `note`. The exit code is 0 even if there are
    findings, unless --strict is given.
    """
    from rerank.doctor.checks import as_json, as_text, examine
    from rerank.doctor.reading import read_sources

    named = [(None, path) for path in files] + [(kind, path) for kind, paths in kinds.items() for path in paths]
    if not named:
        raise InvalidInputError("files: expected files to examine, got none. Name one.")
    findings = examine(read_sources(named))
    click.echo((as_json if form == "json" else as_text)(findings, len(named)))
    if strict and any(finding.severity != "note" for finding in findings):
        raise click.exceptions.Exit(2)

"""`rerank doctor`."""

from pathlib import Path

import click

from rerank.cli.options import path_argument, path_option
from rerank.errors import InvalidInputError


@click.command("doctor")
@path_argument("files", nargs=-1, metavar="[FILE ...]")
@path_option("--qrels", text="File of judgements.", multiple=True)
@path_option("--run", text="File of a run.", multiple=True)
@path_option("--topics", text="File of topics.", multiple=True)
@path_option("--data", text="File of features and labels.", multiple=True)
@path_option("--train", text="Training data: features and labels, judgements, or topics.", multiple=True)
@path_option("--test", text="Test data: features and labels, judgements, or topics.", multiple=True)
@click.option("--strict", is_flag=True, help="Exit with code 2 if an error or a warning is found.")
def command(files: tuple[Path, ...], strict: bool, **kinds: tuple[Path, ...]) -> None:
    """Check judgements, runs, topics, features and indexes for problems, and report how they affect results.

    The kind of each FILE is detected from its content; a folder is an index. The options set the kind and can be
    repeated. Files are checked one by one and against each other; of a file that rerank refuses, the first error is
    reported. Each finding is one line, the most severe first: `error` (rerank refuses the file, or results are wrong),
    `warning` (results may be misleading) or `note`. The exit code is 0 even if there are findings, unless --strict is
    given.
    """
    from rerank.doctor import as_text, examine, read_sources

    named = [(None, path) for path in files] + [(kind, path) for kind, paths in kinds.items() for path in paths]
    if not named:
        raise InvalidInputError("files: expected files to examine, got none. Name one.")
    sources = read_sources(named)
    findings = examine(sources)
    click.echo(as_text(findings, [source.kind for source in sources]))
    if strict and any(finding.severity != "note" for finding in findings):
        raise click.exceptions.Exit(2)

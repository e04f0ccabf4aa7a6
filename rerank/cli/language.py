"""`rerank language`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import argument, path_argument, takes


@dataclass(frozen=True)
class Options:
    """What `rerank language` takes."""

    index: Path = path_argument()
    code: str = argument()


@click.command("language", short_help="set the analyser of Anserini's index")
@takes(Options)
def command(given: Options) -> None:
    """Keep with INDEX, which Anserini built with `-language CODE`, that its texts and queries are of this language.

    Other indexes need no such call: those of `rerank index` know their language, and English is the default.
    """
    from rerank.workflows.index import Index

    with Index.open(given.index, given.code) as index:
        index.keep_language()

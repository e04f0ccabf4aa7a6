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


@click.command("language", short_help="set the language of an index that Anserini built")
@takes(Options)
def command(given: Options) -> None:
    """Set the language of INDEX, which Anserini built with `-language CODE`, so that queries are analysed in it.

    Not needed for English, nor for an index that `rerank index` built: it stores its language.
    """
    from rerank.workflows.index import Index

    with Index.open(given.index, given.code) as index:
        index.keep_language()

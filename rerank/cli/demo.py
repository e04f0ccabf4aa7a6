"""`rerank demo`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import folder_option, takes


@dataclass(frozen=True)
class Options:
    """What `rerank demo` takes."""

    output: Path = folder_option("index, runs, models and figures", default="demo-output")


@click.command("demo", short_help="a study of your own library")
@takes(Options)
def command(given: Options) -> None:
    """Index the docstrings of your Python installation, and compare BM25, LambdaMART and LambdaSMART on them."""
    from rerank.workflows.demo import run_demo

    result = run_demo(given.output)
    click.echo(result.table)
    click.echo(f"\nIndex, runs, models and figures per query: {given.output}")

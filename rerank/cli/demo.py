"""`rerank demo`."""

from __future__ import annotations

from pathlib import Path

import click

from rerank.cli.options import folder_option


@click.command("demo", short_help="a study of your own library")
@folder_option("index, runs, models and figures", default="demo-output")
def command(output: Path) -> None:
    """Index the docstrings of your Python library, and compare BM25, LambdaMART and LambdaSMART on them."""
    from rerank.workflows.demo import run_demo

    result = run_demo(output)
    click.echo(result.table)
    click.echo(f"\nIndex, runs, models and figures per query: {output}")

"""`rerank rank`."""

from __future__ import annotations

from pathlib import Path

import click

from rerank.cli.options import output_option, path_type, read_base_run


@click.command("rank", short_help="order rows")
@click.argument("model", type=path_type)
@click.argument("data", type=path_type)
@output_option("the run")
@click.option("--base", help="run:FILE to start from, where the model was warm-started from a run.")
def command(model: Path, data: Path, output: Path, base: str | None) -> None:
    """Write the documents of DATA in MODEL's order."""
    from rerank.files.data import read_data
    from rerank.files.trec import write_run
    from rerank.rankers.store import load_model

    write_run(load_model(model).rank(read_data(data), base=read_base_run(base)), output)

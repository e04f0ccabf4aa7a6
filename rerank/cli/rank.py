"""`rerank rank`."""

from pathlib import Path

import click

import rerank
from rerank.cli.options import (
    base_file,
    base_run_option,
    errors_with_files,
    output_option,
    path_argument,
    read_base_run,
)


@click.command("rank")
@path_argument("model")
@path_argument("data")
@output_option("the run")
@base_run_option
def command(model: Path, data: Path, output: Path, base: str | None) -> None:
    """Rank the documents of DATA, a file of features, with MODEL, and write a run."""
    loaded = rerank.read_model(model)
    rows = rerank.read_data(data)
    start = read_base_run(base)
    with errors_with_files({"data": data, "base": model, **base_file(base, start)}):
        ranked = loaded.rank(rows, base=start)
    rerank.write_run(ranked, output)

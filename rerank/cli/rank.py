"""`rerank rank`."""

from __future__ import annotations

from pathlib import Path

import click

from rerank.cli.options import base_file, output_option, path_type, read_base_run, start_option


@click.command("rank", short_help="order documents of a data file")
@click.argument("model", type=path_type)
@click.argument("data", type=path_type)
@output_option("the run")
@start_option()
def command(model: Path, data: Path, output: Path, base: str | None) -> None:
    """Write the documents of DATA in MODEL's order."""
    from rerank.cli.file_names import errors_with_files
    from rerank.files.data import read_data
    from rerank.files.trec import write_run
    from rerank.rankers.store import read_model

    loaded, rows, start = read_model(model), read_data(data), read_base_run(base)
    with errors_with_files({"data": data, "base": model, **base_file(base, start)}):
        ranked = loaded.rank(rows, base=start)
    write_run(ranked, output)

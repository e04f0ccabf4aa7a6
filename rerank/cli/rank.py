"""`rerank rank`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import base_file, base_run_option, output_option, path_argument, read_base_run, takes


@dataclass(frozen=True)
class Options:
    """What `rerank rank` takes."""

    model: Path = path_argument()
    data: Path = path_argument()
    output: Path = output_option("the run")
    base: str | None = base_run_option()


@click.command("rank", short_help="rank documents of a file of features")
@takes(Options)
def command(options: Options) -> None:
    """Rank the documents of DATA, a file of features, with MODEL, and write a run."""
    from rerank.cli.options import errors_with_files
    from rerank.files.data import read_data
    from rerank.files.trec import write_run
    from rerank.rankers.store import read_model

    loaded = read_model(options.model)
    rows = read_data(options.data)
    start = read_base_run(options.base)
    with errors_with_files({"data": options.data, "base": options.model, **base_file(options.base, start)}):
        ranked = loaded.rank(rows, base=start)
    write_run(ranked, options.output)

"""`rerank replay`."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import folder_option, path_argument, takes


@dataclass(frozen=True)
class Options:
    """What `rerank replay` takes."""

    folder: Path = path_argument()
    output: Path | None = folder_option("the repeated experiment; without it, its files are not kept", required=False)


@click.command("replay", short_help="repeat a study")
@takes(Options)
def command(given: Options) -> None:
    """Repeat the experiment in FOLDER, which `rerank experiment` wrote, and check that all files are identical."""
    from rerank.cli.options import read_named_runs
    from rerank.files.data import read_data
    from rerank.workflows.index import Index
    from rerank.workflows.record import check_kept, provenance, read_provenance, read_record, write_provenance
    from rerank.workflows.replay import replay_experiment

    check_kept(read_record(given.folder), given.folder)
    paths = {name: path for name, path in read_provenance(given.folder)["inputs"].items() if path}
    runs = paths.get("runs", {})
    names = {name: str(path) for name, path in {**paths, **runs}.items()}
    model = f"model:{paths['model']}" if "model" in paths else None
    with Index.open(paths["index"]) if "index" in paths else nullcontext(read_data(paths.get("data", []))) as source:
        replayed = replay_experiment(
            given.folder,
            source,
            paths.get("topics"),
            paths.get("qrels"),
            given.output,
            runs=read_named_runs(tuple(f"{name}={path}" for name, path in runs.items())),
            model=model,
            names=names,
        )
    if given.output is not None:
        write_provenance(given.output, provenance(paths))
    table, n_files = replayed.result.table, replayed.n_files
    click.echo(f"{table}\n\nreplay: {n_files} files are those of {given.folder}, byte for byte")

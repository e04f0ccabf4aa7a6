"""`rerank replay`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import folder_option, path_argument, takes


@dataclass(frozen=True)
class Options:
    """What `rerank replay` takes."""

    folder: Path = path_argument()
    output: Path | None = folder_option("the repeated study, if it is to be kept", required=False)


@click.command("replay", short_help="repeat a study")
@takes(Options)
def command(given: Options) -> None:
    """Repeat the study in FOLDER, which `rerank experiment` wrote, and compare all files byte for byte."""
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.workflows.index import Index
    from rerank.workflows.record import provenance, read_provenance, read_record, write_provenance
    from rerank.workflows.replay import replay_experiment

    read_record(given.folder)
    paths = {name: Path(path) for name, path in read_provenance(given.folder)["inputs"].items() if path}
    topics, qrels = read_topics(paths["topics"]), read_qrels(paths["qrels"])
    names = {name: str(path) for name, path in paths.items()}
    with Index.open(paths["index"]) as index:
        replayed = replay_experiment(given.folder, index, topics, qrels, given.output, names)
    if given.output is not None:
        write_provenance(given.output, provenance(paths))
    table, n_files = replayed.result.table, replayed.n_files
    click.echo(f"{table}\n\nreplay: {n_files} files are those of {given.folder}, byte for byte")

"""`rerank index`."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from rerank.cli.options import folder_option, path_type, threads_option
from rerank.errors import InvalidInputError

log = logging.getLogger("rerank")


@click.command("index", short_help="build an index")
@click.argument("corpus", type=path_type)
@folder_option("the index")
@click.option("--fields", metavar="NAME,NAME", help="Text fields to index separately; all by default.")
@click.option("--numbers", metavar="NAME,NAME", help="Numeric fields that become features; all by default.")
@click.option(
    "--language", metavar="CODE", default="en", show_default=True, help="Analyser, by Anserini's code: de, fr, zh ..."
)
@click.option(
    "--encoding",
    metavar="NAME",
    default="utf-8",
    show_default=True,
    help="Encoding of CORPUS; latin-1 for old TREC disks.",
)
@threads_option()
@click.option(
    "--shards",
    type=int,
    metavar="N",
    help="Split the documents over N Lucene indexes in the folder. Not split by default.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing index after the new one is complete.")
def command(
    corpus: Path,
    output: Path,
    fields: str | None,
    numbers: str | None,
    language: str,
    encoding: str,
    threads: int | None,
    shards: int | None,
    overwrite: bool,
) -> None:
    """Build a Lucene index of CORPUS, with the data that feature extraction needs.

    CORPUS is JSONL (plain or .gz, a file or a folder of them; `id` and text fields, or `id` and
    `contents`), TREC SGML, or irds:NAME, a data set of ir_datasets.
    """
    from rerank.workflows.index import Index

    index = Index.build(
        corpus,
        output,
        fields=None if fields is None else _names("--fields", fields),
        numbers=None if numbers is None else _names("--numbers", numbers),
        language=language,
        encoding=encoding,
        threads=threads,
        overwrite=overwrite,
        shards=shards,
    )
    forward = index.forward
    log.info("%s: %d documents; fields: %s", output, forward.n_docs, ", ".join(forward.fields))
    if forward.numbers:
        log.info("%s: numbers: %s", output, ", ".join(forward.numbers))


def _names(option: str, text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InvalidInputError(
            f"{option}: expected names with commas between them, got {text!r}. Write e.g. title,body."
        )
    return names

"""`rerank index`."""

from __future__ import annotations

from pathlib import Path

import click

from rerank.cli.options import output_option, path_type, threads_option


@click.command("index", short_help="build an index")
@click.argument("corpus", type=path_type)
@output_option("the index (a folder)")
@click.option("--fields", help="Text fields to index by themselves, with commas; all of them by default.")
@threads_option()
@click.option("--overwrite", is_flag=True, help="Replace an index that is there, once the new one is whole.")
def command(corpus: Path, output: Path, fields: str | None, threads: int | None, overwrite: bool) -> None:
    """Build a Lucene index of CORPUS, and beside it what feature extraction needs.

    CORPUS is JSONL (plain or .gz, a file or a folder of them; `id` and text fields, or `id` and
    `contents`) or TREC SGML.
    """
    from rerank.workflows.index import Index

    chosen = None if fields is None else [name.strip() for name in fields.split(",") if name.strip()]
    Index.build(corpus, output, fields=chosen, threads=threads, overwrite=overwrite)

"""`rerank vectors`."""

from __future__ import annotations

from pathlib import Path

import click

from rerank.cli.options import language_option, output_option, path_type, threads_option


@click.command("vectors", short_help="vectors of terms and documents")
@click.argument("index", type=path_type)
@output_option("the vectors")
@click.option(
    "--dimensions",
    type=click.IntRange(1, 4096),
    metavar="N",
    default=400,
    show_default=True,
    help="Number of dimensions of latent semantic indexing.",
)
@language_option()
@threads_option()
def command(index: Path, output: Path, dimensions: int, language: str | None, threads: int | None) -> None:
    """Learn vectors of terms and documents from INDEX: latent semantic indexing, and word vectors.

    Features of meaning (`--vectors FILE` of other verbs) compare queries and documents by them. Word vectors need an
    index with positions. The file has 4 bytes for each dimension of each term, and of each field of each document. No
    judgements are read.
    """
    from rerank.vectors.vectors import Vectors
    from rerank.workflows.index import Index

    with Index.open(index, language) as opened:
        Vectors.learn(opened, dimensions=dimensions, threads=threads).save(output)

"""`rerank vectors`."""

from __future__ import annotations

from pathlib import Path

import click

from rerank.cli.options import language_option, path_type, threads_option


@click.command("vectors", short_help="learn vectors of terms and documents")
@click.argument("index", type=path_type)
@click.option(
    "--dimensions",
    type=click.IntRange(1, 4096),
    metavar="N",
    default=400,
    show_default=True,
    help="Number of dimensions of latent semantic indexing.",
)
@click.option(
    "--encoder",
    metavar="MODULE:FUNCTION",
    help="Python function from a list of texts to an array of vectors, which INDEX is used with from now on.",
)
@language_option()
@threads_option()
def command(index: Path, dimensions: int, encoder: str | None, language: str | None, threads: int | None) -> None:
    """Learn vectors of terms and documents from INDEX: latent semantic indexing, and word vectors.

    They are kept with INDEX: features of meaning compare queries and documents by them, and lsi is a source of
    candidates. Word vectors need an index with positions. The file has 4 bytes for each dimension of each term, and of
    each field of each document. No judgements are read.
    """
    from rerank.workflows.index import Index

    with Index.open(index, language, threads=threads) as opened:
        opened.learn_vectors(dimensions=dimensions, encoder=encoder)

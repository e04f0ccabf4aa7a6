"""`rerank vectors`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import option, path_argument, takes, threads_option

NONE = "none"


@dataclass(frozen=True)
class Options:
    """What `rerank vectors` takes."""

    index: Path = path_argument()
    dimensions: int = option(
        "--dimensions",
        type=click.IntRange(1, 4096),
        metavar="N",
        default=400,
        show_default=True,
        help="Number of dimensions of latent semantic indexing.",
    )
    encoder: str | None = option(
        "--encoder",
        metavar="MODULE:FUNCTION",
        help="Python function from a list of texts to an array of vectors, which INDEX is used with from now on; or "
        "none.  [default: that of the extra wordllama, where it is installed]",
    )
    threads: int | None = threads_option()


@click.command("vectors", short_help="learn vectors of terms and documents")
@takes(Options)
def command(given: Options) -> None:
    """Learn vectors of terms and documents from INDEX: latent semantic indexing, and word vectors.

    They are kept with INDEX: features of meaning compare queries and documents by them, and lsi is a source of
    candidates. Word vectors need an index with positions. The file has 4 bytes for each dimension of each term, and of
    each field of each document. No judgements are read.
    """
    from rerank.workflows.index import Index

    with Index.open(given.index, threads=given.threads) as opened:
        opened.learn_vectors(dimensions=given.dimensions, encoder=False if given.encoder == NONE else given.encoder)

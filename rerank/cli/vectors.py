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
        metavar="NAME",
        help="Encoder of texts, stored with INDEX: sentence-transformers:NAME, model2vec:NAME, onnx:FOLDER, wordllama, "
        "MODULE:FUNCTION (from a list of texts to an array), or none.  [default: wordllama, if it is installed]",
    )
    threads: int | None = threads_option()


@click.command("vectors", short_help="learn vectors of terms and documents")
@takes(Options)
def command(options: Options) -> None:
    """Learn vectors of terms and documents from the texts of INDEX: latent semantic indexing (LSI).

    The vectors are stored with INDEX. They add features that compare queries and documents by meaning, and `lsi` as a
    source of candidates. No judgements are needed. The file takes 4 bytes per dimension for each
    term, and for each field of each document.
    """
    from rerank.index.index import Index

    with Index.open(options.index, threads=options.threads) as opened:
        opened.learn_vectors(
            dimensions=options.dimensions, encoder=False if options.encoder == NONE else options.encoder
        )

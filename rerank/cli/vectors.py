"""`rerank vectors`."""

from pathlib import Path

import click

import rerank
from rerank.cli.options import NONE, path_argument


@click.command("vectors")
@path_argument("index")
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
    metavar="NAME",
    help="Encoder of texts, stored with INDEX: sentence-transformers:NAME, model2vec:NAME, onnx:FOLDER, wordllama, or "
    "MODULE:FUNCTION (from a list of texts to an array).  [default: none]",
)
def command(index: Path, dimensions: int, encoder: str | None) -> None:
    """Learn vectors of terms and documents from the texts of INDEX: latent semantic indexing (LSI).

    The vectors are stored with INDEX. They add features that compare queries and documents by meaning, and `lsi` as a
    source of candidates. No judgements are needed. The file takes 4 bytes per dimension for each
    term, and for each field of each document.
    """
    with rerank.Index.open(index) as opened:
        opened.learn_vectors(dimensions=dimensions, encoder=None if encoder == NONE else encoder)

"""`rerank index`."""

from pathlib import Path
from typing import Any

import click

import rerank
from rerank.cli.options import NONE, folder_option, is_given, path_argument, refuse_beside
from rerank.errors import InvalidInputError, log

OF_A_CORPUS = ("fields", "encoding", "shards", "vectors", "passages", "overwrite")


@click.command("index")
@path_argument("corpus", metavar="CORPUS|INDEX")
@folder_option("the index")
@click.option("--fields", metavar="NAME,NAME", help="Text fields to index.  [default: all]")
@click.option(
    "--language",
    metavar="CODE",
    default="en",
    show_default=True,
    help="Language of the analyser: de, fr, zh, ...",
)
@click.option(
    "--encoding",
    metavar="NAME",
    default="utf-8",
    show_default=True,
    help="Text encoding of CORPUS, e.g. latin-1 for old TREC disks.",
)
@click.option("--shards", type=int, metavar="N", help="Split the index into N shards.  [default: no shards]")
@click.option(
    "--vectors/--no-vectors",
    default=None,
    help="Also learn vectors of terms and documents, as `rerank vectors` does.  [default: if it takes under a minute]",
)
@click.option(
    "--passages",
    metavar="WINDOW/STRIDE",
    help="Also score passages of WINDOW words, one every STRIDE words, and return the best: e.g. 200/100.",
)
@click.option(
    "--scorer",
    metavar="NAME",
    help="Slow scorer of the first documents, stored with INDEX: cross-encoder:NAME, MODULE:FUNCTION (which returns "
    "numbers for a query and a list of texts), or none.",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing index once the new one is complete.")
def command(
    corpus: Path,
    output: Path | None,
    fields: str | None,
    passages: str | None,
    scorer: str | None,
    **settings: Any,
) -> None:
    """Build a Lucene index of CORPUS, with the data that feature extraction needs.

    CORPUS is a JSONL or TREC SGML file (plain or .gz), a folder of such files, or irds:NAME, a data set of ir_datasets.
    A JSONL document has an `id` and text fields, e.g. `title` and `body`, or only `contents`.

    `rerank index INDEX --language CODE` sets the language of an index that Anserini built with `-language CODE`;
    `rerank index INDEX --scorer NAME` sets the slow scorer of an index.
    """
    from rerank.index.bound_index import is_index
    from rerank.types.retriever import Passages
    from rerank.vectors.scorer import Scorer

    loaded = None if scorer in (None, NONE) else Scorer.of(scorer)  # before anything is built
    if output is None:
        if not is_index(corpus):
            raise click.UsageError("Missing option '-o' / '--output'.")
        refuse_beside("INDEX alone", OF_A_CORPUS)
        if not is_given("language") and scorer is None:
            raise click.UsageError(
                "--language: expected a language or --scorer for INDEX, got neither. Give one, or -o and a corpus."
            )
        with rerank.Index.open(corpus, settings["language"] if is_given("language") else None) as index:
            if is_given("language"):
                index.keep_language()
            if scorer is not None:
                index.keep_scorer(loaded)
        return
    size = None if passages is None else Passages.parse(passages)
    index = rerank.Index.build(corpus, output, fields=None if fields is None else _names(fields), **settings)
    if size is not None:
        index.keep_passages(size)
    if scorer is not None:
        index.keep_scorer(loaded)
    forward = index.forward
    log.info("%s: %d documents; fields: %s", output, forward.n_docs, ", ".join(forward.fields))
    if forward.numbers:
        log.info("%s: numbers: %s", output, ", ".join(forward.numbers))


def _names(text: str) -> list[str]:
    """Return the names of `--fields`."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InvalidInputError(
            f"--fields: expected names with commas between them, got {text!r}. Write e.g. title,body."
        )
    return names

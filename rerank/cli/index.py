"""`rerank index`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import folder_option, is_given, option, path_argument, takes, threads_option
from rerank.errors import InvalidInputError

log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Options:
    """What `rerank index` takes."""

    corpus: Path = path_argument(metavar="CORPUS|INDEX")
    output: Path | None = folder_option("the index", required=False)
    fields: str | None = option("--fields", metavar="NAME,NAME", help="Text fields to index.  [default: all]")
    language: str = option(
        "--language",
        metavar="CODE",
        default="en",
        show_default=True,
        help="Language of the analyser: de, fr, zh, ...",
    )
    encoding: str = option(
        "--encoding",
        metavar="NAME",
        default="utf-8",
        show_default=True,
        help="Text encoding of CORPUS, e.g. latin-1 for old TREC disks.",
    )
    threads: int | None = threads_option()
    shards: int | None = option(
        "--shards",
        type=int,
        metavar="N",
        help="Split the index into N shards.  [default: no shards]",
    )
    vectors: bool | None = option(
        "--vectors/--no-vectors",
        default=None,
        help="Also learn vectors of terms and documents, as `rerank vectors` does.  [default: if it takes under a "
        "minute]",
    )
    passages: str | None = option(
        "--passages",
        metavar="WINDOW/STRIDE",
        help="Score passages of WINDOW words, a new one every STRIDE words, too, and return the best: e.g. 200/100.",
    )
    overwrite: bool = option(
        "--overwrite", is_flag=True, help="Replace an existing index once the new one is complete."
    )


@click.command("index", short_help="build an index")
@takes(Options)
def command(options: Options) -> None:
    """Build a Lucene index of CORPUS, with the data that feature extraction needs.

    CORPUS is a JSONL or TREC SGML file (plain or .gz), a folder of such files, or irds:NAME, a data set of ir_datasets.
    A JSONL document has an `id` and text fields, e.g. `title` and `body`, or only `contents`.

    `rerank index INDEX --language CODE` sets the language of an index that Anserini built with `-language CODE`.
    """
    from rerank.index.bound import is_index

    if options.output is None and is_index(options.corpus):
        _set_language(options)
    elif options.output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    else:
        _build(options, options.output)


def _set_language(options: Options) -> None:
    """Set the language that queries are analysed in, for an index that does not store its own."""
    from rerank.index.index import Index

    if not is_given("language"):
        raise click.UsageError("--language: expected a language for INDEX, got none. Give it, or -o and a corpus.")
    with Index.open(options.corpus, options.language) as index:
        index.keep_language()


def _build(options: Options, output: Path) -> None:
    from rerank.index.index import Index
    from rerank.types.passages import Passages

    passages = None if options.passages is None else Passages.parse(options.passages)
    index = Index.build(
        options.corpus,
        output,
        fields=None if options.fields is None else _names(options.fields),
        language=options.language,
        encoding=options.encoding,
        threads=options.threads,
        overwrite=options.overwrite,
        shards=options.shards,
        vectors=options.vectors,
    )
    if passages is not None:
        index.keep_passages(passages)
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

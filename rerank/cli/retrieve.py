"""`rerank retrieve`."""

from __future__ import annotations

from pathlib import Path

import click

from rerank.cli.options import bm25_options, language_option, output_option, path_type, threads_option


@click.command("retrieve", short_help="BM25")
@click.argument("index", type=path_type)
@click.argument("topics", type=path_type)
@output_option("the run")
@bm25_options()
@language_option()
@threads_option()
def command(
    index: Path,
    topics: Path,
    output: Path,
    k: int,
    k1: float,
    b: float,
    language: str | None,
    threads: int | None,
) -> None:
    """Write BM25's top k of INDEX for TOPICS as a TREC run.

    TOPICS has two columns with a tab, is a file of TREC topics or JSONL, or irds:NAME, a data set of
    ir_datasets. The tag of the run (its sixth column) contains k1 and b, e.g. bm25-k1=0.9-b=0.4. A model that
    starts from such scores accepts no others.
    """
    from rerank.files.topics import read_topics
    from rerank.files.trec import write_run
    from rerank.workflows.index import Index

    queries = read_topics(topics)
    with Index.open(index, language) as opened:
        write_run(opened.search(queries, k, k1=k1, b=b, threads=threads), output)

"""`rerank retrieve`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rerank.cli.cluster import cluster_options, opened_cluster, opened_index
from rerank.cli.options import (
    bm25_options,
    encoder_option,
    history_option,
    language_option,
    output_option,
    path_type,
    read_history,
    threads_option,
    union_option,
    vectors_option,
)


@click.command("retrieve", short_help="retrieve candidates")
@click.argument("index", type=path_type)
@click.argument("topics", type=path_type)
@output_option("the run")
@bm25_options()
@click.option(
    "--retriever",
    metavar="NAME",
    default="bm25",
    show_default=True,
    help="bm25; rm3 and rocchio, which expand the query by BM25's first documents; lsi, latent semantic "
    "indexing, with --vectors; history, documents judged relevant to similar queries, with --history; encoder, with "
    "--encoder.",
)
@union_option()
@click.option(
    "--sources",
    type=path_type,
    metavar="FOLDER",
    help="Folder for the runs of --union's retrievers, NAME.run: `rerank features --run NAME=FILE` makes features of "
    "them.",
)
@vectors_option()
@history_option()
@encoder_option()
@language_option()
@threads_option()
@cluster_options()
def command(
    index: Path,
    topics: Path,
    output: Path,
    k: int,
    k1: float,
    b: float,
    retriever: str,
    union: str | None,
    sources: Path | None,
    vectors: Path | None,
    history: Path | None,
    encoder: str | None,
    language: str | None,
    threads: int | None,
    cluster: str | None,
    cluster_security: Path | None,
) -> None:
    """Write the top k of INDEX for TOPICS as a TREC run: BM25's, or those of other retrievers.

    TOPICS has two columns with a tab, is a file of TREC topics or JSONL, or irds:NAME, a data set of
    ir_datasets. The tag of the run (its sixth column) names the retriever and its parameters, e.g.
    bm25-k1=0.9-b=0.4. A model that starts from such scores accepts no others.

    With --union, the documents of its first retriever come first, with their scores. Documents that only others
    return follow in the order of reciprocal rank fusion, with lower scores.
    """
    from rerank.cli.file_names import errors_with_files
    from rerank.files.topics import read_topics
    from rerank.files.trec import write_run

    if sources is not None and union is None:
        raise click.UsageError("--sources: expected --union beside it, got none. Add --union.")
    queries = read_topics(topics)
    options: dict[str, Any] = {"k1": k1, "b": b, "vectors": vectors, "encoder": encoder, "threads": threads}
    options["history"] = read_history(history)
    with (
        opened_cluster(cluster, cluster_security) as workers,
        opened_index(index, language, workers) as opened,
        errors_with_files({"union": "--union"}),
    ):
        if union is None:
            write_run(opened.search(queries, k, retriever=retriever, **options), output)
            return
        run = opened.search_union(queries, union, **options)
    if sources is not None:
        sources.mkdir(parents=True, exist_ok=True)
        for name, of_source in run.sources.items():
            write_run(of_source, sources / f"{name}.run")
    write_run(run, output)

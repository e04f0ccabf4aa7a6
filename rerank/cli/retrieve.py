"""`rerank retrieve`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.cluster import cluster_option, opened_cluster, opened_index
from rerank.cli.options import (
    candidates_option,
    depth_option,
    option,
    output_option,
    path_argument,
    path_type,
    takes,
    threads_option,
)


@dataclass(frozen=True)
class Options:
    """What `rerank retrieve` takes."""

    index: Path = path_argument()
    topics: Path = path_argument()
    output: Path = output_option("the run")
    k: int = depth_option()
    candidates: str | None = candidates_option()
    sources: Path | None = option(
        "--sources",
        type=path_type,
        metavar="FOLDER",
        help="Folder for the runs of several sources, NAME.run: `rerank features --run NAME=FILE` makes features of "
        "them.",
    )
    threads: int | None = threads_option()
    cluster: str | None = cluster_option()


@click.command("retrieve", short_help="retrieve candidates")
@takes(Options)
def command(given: Options) -> None:
    """Write the top k of INDEX for TOPICS as a TREC run: BM25's, or that of other sources.

    TOPICS has two columns with a tab, is a file of TREC topics or JSONL, or irds:NAME, a data set of
    ir_datasets. The tag of the run (its sixth column) names the retriever and its parameters, e.g.
    bm25-k1=0.9-b=0.4. A model that starts from such scores accepts no others.

    Sources of --candidates are bm25, whose k1 and b are written as in the tag (bm25-k1=1.2-b=0.75:1000); rm3 and
    rocchio, which expand the query by BM25's first documents; lsi and encoder, with what `rerank vectors` learned;
    history, documents judged relevant to similar queries, with what `rerank history` learned; and run:FILE. Of several,
    the documents of the first one come first, with their scores. Documents that only others return follow in the order
    of reciprocal rank fusion, with lower scores.
    """
    from rerank.cli.file_names import errors_with_files
    from rerank.files.topics import read_topics
    from rerank.files.trec import write_run
    from rerank.retrieval.union import UnionRun
    from rerank.types.retriever import BM25

    queries = read_topics(given.topics)
    with (
        opened_cluster(given.cluster) as workers,
        opened_index(given.index, workers, threads=given.threads) as opened,
        errors_with_files({"candidates": "--candidates"}),
    ):
        run = opened.search(queries, given.k, candidates=given.candidates or BM25)
    if given.sources is not None:
        if not isinstance(run, UnionRun):
            raise click.UsageError("--sources: expected several --candidates beside it, got one. Name several.")
        given.sources.mkdir(parents=True, exist_ok=True)
        for name, of_source in run.sources.items():
            write_run(of_source, given.sources / f"{name}.run")
    write_run(run, given.output)

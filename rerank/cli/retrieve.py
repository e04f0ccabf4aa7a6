"""`rerank retrieve`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import (
    candidates_option,
    cluster_option,
    depth_option,
    opened_cluster,
    opened_index,
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
        help="Also write the run of each source to this folder, as NAME.run; `rerank features --run NAME=FILE` "
        "computes features from them.",
    )
    threads: int | None = threads_option()
    cluster: str | None = cluster_option()


@click.command("retrieve", short_help="retrieve candidates")
@takes(Options)
def command(options: Options) -> None:
    """Retrieve the top k documents of INDEX for TOPICS, with BM25 or other sources, and write a TREC run.

    TOPICS is a file with lines of id, tab and text, a TREC topics file, a JSONL file, or irds:NAME, a data set of
    ir_datasets. The tag of the run (its sixth column) names the retriever and its parameters, e.g. bm25-k1=0.9-b=0.4; a
    model that was trained on these scores refuses those of other parameters.

    --candidates names sources and their depths, e.g. bm25:1000,rm3:1000,lsi:200. The sources are bm25, with optional
    parameters (bm25-k1=1.2-b=0.75:1000); rm3 and rocchio, which expand the query with terms of BM25's top documents;
    lsi and encoder, which need `rerank vectors`; history, the documents judged relevant to similar queries, which needs
    `rerank history`; and run:FILE. If several are given, the documents of the first source come first, with their
    scores. Documents found only by the others follow with lower scores, ordered by reciprocal rank fusion.
    """
    from rerank.cli.options import errors_with_files
    from rerank.files.topics import read_topics
    from rerank.files.trec import write_run
    from rerank.retrieval.union import UnionRun
    from rerank.types.retriever import BM25

    queries = read_topics(options.topics)
    with (
        opened_cluster(options.cluster) as workers,
        opened_index(options.index, workers, threads=options.threads) as opened,
        errors_with_files({"candidates": "--candidates"}),
    ):
        run = opened.search(queries, options.k, candidates=options.candidates or BM25)
    if options.sources is not None:
        if not isinstance(run, UnionRun):
            raise click.UsageError("--sources: expected several --candidates beside it, got one. Name several.")
        options.sources.mkdir(parents=True, exist_ok=True)
        for name, of_source in run.sources.items():
            write_run(of_source, options.sources / f"{name}.run")
    write_run(run, options.output)

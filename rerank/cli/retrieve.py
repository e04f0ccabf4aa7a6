"""`rerank retrieve`."""

from pathlib import Path

import click

import rerank
from rerank.cli.options import (
    COUNT,
    candidates_option,
    cluster_option,
    errors_with_files,
    opened_index,
    output_option,
    path_argument,
    path_option,
    refuse_beside,
    remove_query_option,
)


@click.command("retrieve")
@path_argument("index")
@path_argument("topics")
@output_option("the run")
@click.option(
    "-k", "--hits", "k", type=COUNT, metavar="N", default=1000, show_default=True,
    help="Documents to retrieve per query, from each source without a depth.",
)  # fmt: skip
@candidates_option()
@path_option(
    "--sources",
    metavar="FOLDER",
    text="Also write the run of each source to this folder, as NAME.run; `rerank features --run NAME=FILE` computes "
    "features from them.",
)
@remove_query_option
@cluster_option
def command(
    index: Path,
    topics: Path,
    output: Path,
    k: int,
    candidates: str | None,
    sources: Path | None,
    remove_query: bool | None,
    cluster: str | None,
) -> None:
    """Retrieve the top k documents of INDEX for TOPICS, with BM25 or other sources, and write a TREC run.

    TOPICS is a file with lines of id, tab and text, a TREC topics file, a JSONL file, or irds:NAME, a data set of
    ir_datasets. The tag of the run (its sixth column) names the retriever and its parameters, e.g. bm25-k1=0.9-b=0.4; a
    model that was trained on these scores refuses those of other parameters.

    --candidates names sources and their depths, e.g. bm25:1000,rm3:1000,lsi:200. The sources are bm25, with optional
    parameters (bm25-k1=1.2-b=0.75:1000); rm3, which expands the query with terms of BM25's top documents;
    lsi and encoder, which need `rerank vectors`; history, the documents judged relevant to similar queries, which needs
    `rerank history`; and run:FILE. If several are given, the documents of the first source come first, with their
    scores. Documents found only by the others follow with lower scores, ordered by reciprocal rank fusion.
    """
    from rerank.retrieval.candidates import Candidates
    from rerank.retrieval.union import UnionRun
    from rerank.types.retriever import BM25

    queries = rerank.read_topics(topics)
    named = errors_with_files({"candidates": "--candidates"})
    with opened_index(index, cluster, topics, remove_query=remove_query) as opened, named:
        # Where every source has a depth, another k gives the same candidates.
        if candidates is not None and Candidates.parse(candidates, k) == Candidates.parse(candidates, k + 1):
            refuse_beside(f"--candidates {candidates}", ("k",))
        run = opened.search(queries, k, candidates=candidates or BM25)
    if sources is not None:
        if not isinstance(run, UnionRun):
            raise click.UsageError("--sources: expected several --candidates beside it, got one. Name several.")
        sources.mkdir(parents=True, exist_ok=True)
        for name, of_source in run.sources.items():
            rerank.write_run(of_source, sources / f"{name}.run")
    rerank.write_run(run, output)

"""`rerank history`."""

from __future__ import annotations

from pathlib import Path

import click

from rerank.cli.options import Whole, language_option, path_type, threads_option


@click.command("history", short_help="learn from judgements")
@click.argument("index", type=path_type)
@click.argument("topics", type=path_type)
@click.argument("qrels", type=path_type)
@click.option(
    "--folds",
    type=click.IntRange(2, 100),
    metavar="N",
    default=20,
    show_default=True,
    help="Folds in which the features of the judged queries themselves are computed.",
)
@click.option(
    "--near",
    type=float,
    metavar="COSINE",
    default=0.8,
    show_default=True,
    help="Least cosine of near-duplicate queries, which are in the same fold.",
)
@click.option(
    "--random-state", type=Whole(0), metavar="N", default=0, show_default=True, help="Random seed of the folds."
)
@language_option()
@threads_option()
def command(
    index: Path,
    topics: Path,
    qrels: Path,
    folds: int,
    near: float,
    random_state: int,
    language: str | None,
    threads: int | None,
) -> None:
    """Learn from the judgements QRELS of TOPICS what features of other queries can use, and keep it with INDEX.

    Features of a query that the history was learned from are computed without its own judgements and those of
    near-duplicate queries: they are learned from the other folds.
    """
    from rerank.cli.file_names import errors_with_files
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.workflows.index import Index

    queries, judgements = read_topics(topics), read_qrels(qrels)
    with (
        Index.open(index, language, threads=threads) as opened,
        errors_with_files({"qrels": qrels, "near": "--near"}),
    ):
        opened.learn_history(queries, judgements, folds=folds, near=near, random_state=random_state)

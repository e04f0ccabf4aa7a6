"""`rerank history`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import Whole, option, path_argument, takes, threads_option


@dataclass(frozen=True)
class Options:
    """What `rerank history` takes."""

    index: Path = path_argument()
    topics: Path = path_argument()
    qrels: Path = path_argument()
    folds: int = option(
        "--folds",
        type=click.IntRange(2, 100),
        metavar="N",
        default=20,
        show_default=True,
        help="Folds in which the features of the judged queries themselves are computed.",
    )
    near: float = option(
        "--near",
        type=float,
        metavar="COSINE",
        default=0.8,
        show_default=True,
        help="Least cosine of near-duplicate queries, which are in the same fold.",
    )
    random_state: int = option(
        "--random-state", type=Whole(0), metavar="N", default=0, show_default=True, help="Random seed of the folds."
    )
    threads: int | None = threads_option()


@click.command("history", short_help="learn from judgements")
@takes(Options)
def command(given: Options) -> None:
    """Learn from the judgements QRELS of TOPICS what features of other queries can use, and keep it with INDEX.

    Features of a query that the history was learned from are computed without its own judgements and those of
    near-duplicate queries: they are learned from the other folds.
    """
    from rerank.cli.file_names import errors_with_files
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.workflows.index import Index

    queries, judgements = read_topics(given.topics), read_qrels(given.qrels)
    with (
        Index.open(given.index, threads=given.threads) as opened,
        errors_with_files({"qrels": given.qrels, "near": "--near"}),
    ):
        opened.learn_history(queries, judgements, folds=given.folds, near=given.near, random_state=given.random_state)

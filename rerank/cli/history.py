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
        help="Folds for computing the features of the judged queries themselves.",
    )
    near: float = option(
        "--near",
        type=float,
        metavar="COSINE",
        default=0.8,
        show_default=True,
        help="Cosine similarity from which two queries are near duplicates, and put into the same fold.",
    )
    random_state: int = option(
        "--random-state", type=Whole(0), metavar="N", default=0, show_default=True, help="Random seed of the folds."
    )
    threads: int | None = threads_option()


@click.command("history", short_help="store judged queries with an index")
@takes(Options)
def command(given: Options) -> None:
    """Store the judged queries TOPICS and QRELS with INDEX, to compute features of similar queries from them.

    Such a feature is, for example, whether a document was judged relevant to a similar query. The features of a stored
    query itself do not use its own judgements nor those of near-duplicate queries, but only those of the other folds.
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

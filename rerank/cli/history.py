"""`rerank history`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.options import path_argument, takes, threads_option


@dataclass(frozen=True)
class Options:
    """What `rerank history` takes."""

    index: Path = path_argument()
    topics: Path = path_argument()
    qrels: Path = path_argument()
    threads: int | None = threads_option()


@click.command("history", short_help="store judged queries with an index")
@takes(Options)
def command(options: Options) -> None:
    """Store the judged queries TOPICS and QRELS with INDEX, to compute features of similar queries from them.

    Such a feature is, for example, whether a document was judged relevant to a similar query. The features of a stored
    query itself do not use its own judgements nor those of near-duplicate queries, but only those of the other folds.
    """
    from rerank.cli.options import errors_with_files
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.index.index import Index

    queries = read_topics(options.topics)
    judgements = read_qrels(options.qrels)
    with (
        Index.open(options.index, threads=options.threads) as opened,
        errors_with_files({"qrels": options.qrels}),
    ):
        opened.learn_history(queries, judgements)

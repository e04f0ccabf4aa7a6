"""`rerank history`."""

from pathlib import Path

import click

import rerank
from rerank.cli.options import errors_with_files, path_argument


@click.command("history")
@path_argument("index")
@path_argument("topics")
@path_argument("qrels")
def command(index: Path, topics: Path, qrels: Path) -> None:
    """Store the judged queries TOPICS and QRELS with INDEX, to compute features of similar queries from them.

    Such a feature is, for example, whether a document was judged relevant to a similar query. The features of a stored
    query itself do not use its own judgements nor those of near-duplicate queries, but only those of the other folds.
    """
    queries = rerank.read_topics(topics)
    judgements = rerank.read_qrels(qrels)
    with rerank.Index.open(index) as opened, errors_with_files({"qrels": qrels}):
        opened.learn_history(queries, judgements)

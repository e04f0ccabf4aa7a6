"""`rerank clicks`."""

from pathlib import Path

import click

import rerank
from rerank.cli.options import (
    NumberOption,
    output_option,
    path_argument,
    path_option,
    read_if,
    refuse_beside,
)
from rerank.errors import log


@click.command("clicks")
@path_argument("logs", nargs=-1, required=True, metavar="LOG [LOG ...]")
@path_option("--topics", text="Topics: queries of the log are matched with them by id or text; others are dropped.")
@path_option("--index", metavar="INDEX", text="Index; impressions of documents that it does not have are dropped.")
@output_option("the labels, as TREC qrels")
@click.option(
    "--model",
    metavar="NAME",
    default="pbm",
    show_default=True,
    help="Click model: pbm (examination by position), coec (clicks over expected clicks), cascade (down to the first "
    "click), dependent (to the last click) or ctr.",
)
@click.option(
    "--grades",
    type=NumberOption(1, 20, whole=True),
    metavar="N",
    default=4,
    show_default=True,
    help="Highest label. Label g is given to the best 2^-g of all documents, 0 to those without a click.",
)
@path_option(
    "--new-topics",
    text="Give the queries of the log, which are texts, new ids, and write them to this topics file.",
)
@path_option("--pairs", text="Also write preferences to this file: a clicked document over the skipped ones above it.")
@path_option(
    "--data", text="Features of `rerank features`, for --labelled, and for positions whose documents never moved."
)
@path_option(
    "--labelled",
    text="Also write to this file the rows of --data that were shown, with labels of clicks and features.",
)
def command(
    logs: tuple[Path, ...],
    topics: Path | None,
    index: Path | None,
    output: Path,
    model: str,
    grades: int,
    new_topics: Path | None,
    pairs: Path | None,
    data: Path | None,
    labelled: Path | None,
) -> None:
    """Estimate the relevance of documents from the clicks of LOG, with a click model, and write labels.

    LOG is a JSONL, CSV, TSV (plain or .gz) or Parquet file with the columns query, document, position, clicked, and
    optionally session, time, ranker and credit; JSONL of OpenSearch's User Behavior Insights; or the folder of
    `rerank serve --log`. Messages on stderr say what could not be estimated.
    """
    from rerank.clicks.record import with_new_ids
    from rerank.files.lists import write_preferences
    from rerank.files.topics import write_topics
    from rerank.runtime.output import check_outputs

    check_outputs({"-o": output, "--new-topics": new_topics, "--pairs": pairs, "--labelled": labelled})
    if topics is not None:
        refuse_beside("--topics", ("new_topics",))
    if labelled is not None and data is None:
        raise click.UsageError("--labelled: expected --data, too, got none. Add --data FILE, or leave --labelled out")
    clicks = rerank.read_clicks(logs, topics=topics, documents=read_if(document_ids, index))
    if new_topics is not None:
        clicks, queries = with_new_ids(clicks)
    rows = read_if(rerank.read_data, data)
    if rows is None:
        estimates = rerank.estimate_clicks(clicks, model)
    else:
        estimates = rerank.estimate_with_features(clicks, rows, model)
    qrels = estimates.to_qrels(grades)
    rerank.write_qrels(qrels, output)
    if new_topics is not None:
        write_topics(queries, new_topics)
    if rows is not None and labelled is not None:
        rerank.write_data(rerank.click_labels(estimates, rows), labelled)
    if pairs is not None:
        write_preferences(rerank.preference_pairs(clicks)[0], pairs)
    log.info("%s: %s; %s", logs[0], clicks.summary(), qrels.summary())


def document_ids(index: Path) -> set[str]:
    """Return the ids of an index's documents."""
    with rerank.Index.open(index) as opened:
        return set(opened.forward.doc_ids.tolist())

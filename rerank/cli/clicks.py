"""`rerank clicks`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.options import Number, Whole, file_option, option, output_option, path_argument, path_type, takes
from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.clicks.record import Clicks

log = logging.getLogger("rerank")


@dataclass(frozen=True)
class LogOptions:
    """How a click log is read."""

    topics: Path | None = option(
        "--topics",
        type=path_type,
        metavar="FILE",
        help="Topics: queries of the log are matched with them by id or text; others are dropped.",
    )
    index: Path | None = option(
        "--index",
        type=path_type,
        metavar="INDEX",
        help="Index; impressions of documents that it does not have are dropped.",
    )
    last_position: int = option(
        "--last-position",
        type=Whole(),
        metavar="N",
        default=1000,
        show_default=True,
        help="Ignore impressions below this position.",
    )
    session_clicks: int = option(
        "--session-clicks",
        type=Whole(),
        metavar="N",
        default=1000,
        show_default=True,
        help="Drop sessions with more clicks, which are probably not by people.",
    )

    def read(self, *logs: Path) -> Clicks:
        """Return the clicks of a log."""
        from rerank.clicks.cleaning import Limits
        from rerank.clicks.reading import read_clicks

        documents = None
        if self.index is not None:
            from rerank.workflows.index import Index

            with Index.open(self.index) as index:
                documents = set(index.forward.doc_ids.tolist())
        limits = Limits(self.last_position, self.session_clicks)
        return read_clicks(logs, topics=self.topics, documents=documents, limits=limits)


@dataclass(frozen=True)
class Options(LogOptions):
    """What `rerank clicks` takes."""

    logs: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="LOG [LOG ...]")
    output: Path = output_option("the labels, as TREC qrels")
    model: str = option(
        "--model",
        metavar="NAME",
        default="pbm",
        show_default=True,
        help="Click model: pbm (examination by position), coec (clicks over expected clicks), cascade (down to the "
        "first click), dependent (to the last click) or ctr.",
    )
    prior: float = option(
        "--prior",
        type=Number(0.0),
        metavar="X",
        default=10.0,
        show_default=True,
        help="Smoothing: number of impressions of an average document that are added to each document.",
    )
    grades: int = option(
        "--grades",
        type=Whole(most=20),
        metavar="N",
        default=4,
        show_default=True,
        help="Highest label. Label g is given to the best 2^-g of all documents, 0 to those without a click.",
    )
    thresholds: str | None = option(
        "--thresholds", metavar="X,X,...", help="Lowest value of label 1, 2, ..., instead of --grades."
    )
    new_topics: Path | None = file_option(
        "--new-topics", "Give the queries of the log, which are texts, new ids, and write them to this topics file."
    )
    values: Path | None = file_option(
        "--values", "Also write the estimate of each document, its error and counts to this file."
    )
    pairs: Path | None = file_option(
        "--pairs", "Also write preferences to this file: a clicked document over the skipped ones above it."
    )
    data: Path | None = file_option("--data", "Features of `rerank features`, for --labelled.")
    labelled: Path | None = file_option(
        "--labelled", "Also write the rows of --data that were shown to this file, with labels of clicks and features."
    )


@click.command("clicks", short_help="convert a click log to labels")
@takes(Options)
def command(given: Options) -> None:
    """Estimate the relevance of documents from the clicks of LOG, with a click model, and write labels.

    LOG is a JSONL, CSV, TSV (plain or .gz) or Parquet file with the columns query, document, position, clicked, and
    optionally session, time and ranker; or JSONL of OpenSearch's User Behavior Insights. Messages on stderr say what
    could not be estimated.
    """
    from rerank.clicks.estimates import estimate_clicks
    from rerank.clicks.preferences import preference_pairs
    from rerank.clicks.record import with_new_ids
    from rerank.files.data import read_data, write_data
    from rerank.files.lists import write_preferences
    from rerank.files.topics import write_topics
    from rerank.files.trec import write_qrels
    from rerank.workflows.click_training import click_labels

    if given.topics is not None and given.new_topics is not None:
        raise InvalidInputError("--new-topics: expected no --topics with it, got both. Leave one out.")
    if (given.data is None) != (given.labelled is None):
        raise InvalidInputError("--labelled: expected --data with it, got one alone. Give both or none.")
    thresholds = None if given.thresholds is None else parse_thresholds(given.thresholds)
    clicks = given.read(*given.logs)
    topics = None
    if given.new_topics is not None:
        clicks, topics = with_new_ids(clicks)
    estimates = estimate_clicks(clicks, given.model, prior=given.prior)
    qrels = estimates.to_qrels(given.grades, thresholds)
    write_qrels(qrels, given.output)
    if topics is not None and given.new_topics is not None:
        write_topics(topics, given.new_topics)
    if given.values is not None:
        estimates.write(given.values)
    if given.data is not None and given.labelled is not None:
        labels = click_labels(estimates, read_data(given.data), prior=given.prior)
        write_data(labels, given.labelled)
    if given.pairs is not None:
        write_preferences(preference_pairs(clicks)[0], given.pairs)
    log.info("%s: %s; %s", given.logs[0], clicks.summary(), qrels.summary())


def parse_thresholds(text: str) -> list[float]:
    """Return the numbers of `0.1,0.3`."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(
            f"--thresholds: expected numbers separated by commas, got {text!r}. Write e.g. 0.1,0.3."
        ) from None

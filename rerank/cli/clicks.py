"""`rerank clicks`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import (
    Number,
    Whole,
    file_option,
    limits_option,
    option,
    output_option,
    path_argument,
    path_type,
    refuse_beside,
    require,
    takes,
)
from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.clicks.record import Clicks

log = logging.getLogger("rerank")
LIMITS: dict[str, tuple[str, Number | Whole]] = {  # of --limit: the field of `Limits`, and its numbers
    "last-position": ("last_position", Whole()),
    "session-clicks": ("session_clicks", Whole()),
}


@dataclass(frozen=True)
class LogOptions:
    """How click logs are read."""

    logs: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="LOG [LOG ...]")
    topics: Path | None = file_option(
        "--topics", "Topics: queries of the log are matched with them by id or text; others are dropped."
    )
    index: Path | None = option(
        "--index",
        type=path_type,
        metavar="INDEX",
        help="Index; impressions of documents that it does not have are dropped.",
    )
    limits: dict[str, Any] = limits_option(
        LIMITS, "last-position=1000 (ignored below), session-clicks=1000 (sessions with more are dropped)"
    )

    def read(self) -> Clicks:
        """Return the clicks of the logs."""
        from rerank.clicks.reading import Limits, read_clicks

        documents = None
        if self.index is not None:
            from rerank.index.index import Index

            with Index.open(self.index) as index:
                documents = set(index.forward.doc_ids.tolist())
        return read_clicks(self.logs, topics=self.topics, documents=documents, limits=Limits(**self.limits))


@dataclass(frozen=True)
class Options(LogOptions):
    """What `rerank clicks` takes."""

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
    data: Path | None = file_option(
        "--data",
        "Features of `rerank features`, for --labelled, and for positions whose documents never moved.",
    )
    labelled: Path | None = file_option(
        "--labelled", "Also write the rows of --data that were shown to this file, with labels of clicks and features."
    )


@click.command("clicks", short_help="convert a click log to labels")
@takes(Options)
def command(options: Options) -> None:
    """Estimate the relevance of documents from the clicks of LOG, with a click model, and write labels.

    LOG is a JSONL, CSV, TSV (plain or .gz) or Parquet file with the columns query, document, position, clicked, and
    optionally session, time, ranker and credit; JSONL of OpenSearch's User Behavior Insights; or the folder of
    `rerank serve --log`. Messages on stderr say what could not be estimated.
    """
    from rerank.clicks.estimates import estimate_clicks
    from rerank.clicks.record import preference_pairs, with_new_ids
    from rerank.files.data import read_data, write_data
    from rerank.files.lists import write_preferences
    from rerank.files.topics import write_topics
    from rerank.files.trec import write_qrels
    from rerank.training.clicks import click_labels, estimate_with_features

    if options.topics is not None:
        refuse_beside("--topics", ("new_topics",))
    require({"labelled": "data"})
    thresholds = None if options.thresholds is None else parse_thresholds(options.thresholds)
    clicks = options.read()
    topics = None
    if options.new_topics is not None:
        clicks, topics = with_new_ids(clicks)
    data = None if options.data is None else read_data(options.data)
    if data is None:
        estimates = estimate_clicks(clicks, options.model, prior=options.prior)
    else:
        estimates = estimate_with_features(clicks, data, options.model, prior=options.prior)
    qrels = estimates.to_qrels(options.grades, thresholds)
    write_qrels(qrels, options.output)
    if topics is not None and options.new_topics is not None:
        write_topics(topics, options.new_topics)
    if options.values is not None:
        estimates.write(options.values)
    if data is not None and options.labelled is not None:
        write_data(click_labels(estimates, data, prior=options.prior), options.labelled)
    if options.pairs is not None:
        write_preferences(preference_pairs(clicks)[0], options.pairs)
    log.info("%s: %s; %s", options.logs[0], clicks.summary(), qrels.summary())


def parse_thresholds(text: str) -> list[float]:
    """Return the numbers of `0.1,0.3`."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(
            f"--thresholds: expected numbers separated by commas, got {text!r}. Write e.g. 0.1,0.3."
        ) from None

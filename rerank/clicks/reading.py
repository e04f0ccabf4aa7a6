"""Click logs: reading them (`log_rows.py`, `ubi.py`), and writing JSONL, CSV and TSV.

Rows with a value that cannot be read (`columns.py`) and impressions that cannot be used (`cleaning.py`) are dropped;
each kind is counted in one line.
"""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Collection, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from rerank.clicks.cleaning import LogLimits, cleaned
from rerank.clicks.columns import RawLog, by_text, by_topic
from rerank.clicks.log_rows import SEPARATORS, LogPart, OddRows, ending_of, place_of, rows_of
from rerank.clicks.record import Clicks
from rerank.clicks.ubi import UbiLog, is_ubi
from rerank.errors import FileFormatError, InvalidInputError, log
from rerank.files.inputs import TopicsLike, topics_of
from rerank.files.parquet import PARQUET
from rerank.files.source import check_file, checked_path
from rerank.runtime.output import path_of, whole_file
from rerank.types.data_frames import Frame, is_frame, rows_as_frame
from rerank.types.ids import id_array

ROWS_WRITTEN = 1 << 16
TOPICS = "topics.tsv"  # in the folder of `rerank serve --log`
EVENTS = "events.jsonl"


def read_clicks(
    path: str | Path | Frame | Sequence[str | Path | Frame],
    *,
    topics: TopicsLike | None = None,
    documents: Collection[str] | None = None,
    limits: LogLimits | None = None,
    same_text: bool = True,
) -> Clicks:
    """Read a log of impressions and clicks.

    A log is JSONL or CSV, also with tabs or semicolons (plain or gzip), or a file that ends in .parquet, with the
    columns query, document, position, clicked and optionally session, time, ranker, credit; JSONL of OpenSearch's User
    Behavior Insights (events and queries); or the folder of `rerank serve --log`. Rows that cannot be read, and
    impressions that cannot be used, are dropped, and a warning counts each kind of them.

    Parameters
    ----------
    path : str, Path, DataFrame or sequence of them
        The log, or its parts in order. A data frame, or a list of mappings, has the columns of a file.
    topics : Topics, mapping, DataFrame or path, optional
        Queries by id. The log's queries, ids or texts, become ids of topics; of topics with the same text, the first is
        taken. Queries that are not among the topics are dropped.
    documents : collection of str, optional
        The known documents; impressions of others are dropped.
    limits : LogLimits, optional
        Last position, and most clicks of a session.
    same_text : bool
        Whether queries that differ only in case, white space or compatible characters (NFKC) are one query, written as
        the first of them.

    Returns
    -------
    Clicks
        The impressions list by list, in the order of the log.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        For a log without the columns that are needed, or without an impression that can be used.
    InvalidInputError
        For no file, and for positions from 0.

    """
    table = rows_as_frame(path)
    parts = [_part(part) for part in (table if isinstance(table, list | tuple) else [table])]
    if not parts:
        raise InvalidInputError("clicks: expected at least one file, got none. Name a log.")
    key = key_of_text if same_text else str
    raw = RawLog(by_text(key) if topics is None else by_topic(topics_of(topics), key))
    odd = OddRows()
    ubi = UbiLog(odd)
    for part in parts:
        rows = rows_of(part, odd)
        first = list(islice(rows, 1))
        if first and is_ubi(first[0][1]):
            ubi.read(part, chain(first, rows))
        else:
            raw.read(part, chain(first, rows), odd)
    notes: list[str] = []
    if ubi.parts:
        impressions, notes = ubi.impressions()
        raw.read(ubi.parts[-1], impressions, odd)
    columns = raw.columns()
    if not (columns and len(columns["query"])) and odd.first is not None:
        raise odd.first
    if columns:
        known = frozenset(raw.codes["document"].names if documents is None else documents)
        columns, more = cleaned(
            columns, np.array([name in known for name in raw.codes["document"].names], np.bool_), limits or LogLimits()
        )
        notes += more
    for note in [*odd.notes(), *notes]:
        log.warning("%s: %s", place_of(parts[0]), note)
    if not columns or not len(columns["query"]):
        raise FileFormatError(
            place_of(parts[0]), None, "expected impressions, got none that can be used. Name another log."
        )
    queries, docs = (id_array(raw.codes[name].names) for name in ("query", "document"))
    return Clicks(query_ids=queries, doc_ids=docs, **columns, rankers=tuple(raw.codes["ranker"].names))


def write_clicks(clicks: Clicks, path: str | Path) -> None:
    """Write a click log: CSV or TSV by the ending of the name, else JSONL; `.gz` compresses.

    Parameters
    ----------
    clicks : Clicks
        The impressions.
    path : str or Path
        The file; `-` is stdout.

    Raises
    ------
    InvalidInputError
        For a name that ends in .parquet.

    """
    ending = ending_of(path_of(path))
    if ending == PARQUET:
        raise InvalidInputError(f"{path}: expected .jsonl, .csv or .tsv, got a Parquet file. Name another.")
    header = clicks.first_rows(0)[0]
    with whole_file(path) as file:
        table = csv.writer(file, delimiter=SEPARATORS.get(ending, ","), lineterminator="\n")
        if ending in SEPARATORS:
            table.writerow(header)
        for first in range(0, clicks.n_rows, ROWS_WRITTEN):
            part = clicks.select(np.arange(first, min(first + ROWS_WRITTEN, clicks.n_rows)))
            rows = [[None if value != value else value for value in row] for row in part.first_rows(ROWS_WRITTEN)[1]]
            if ending in SEPARATORS:
                table.writerows(rows)
            else:
                objects = (dict(zip(header, row, strict=True)) for row in rows)
                file.writelines(json.dumps(members, ensure_ascii=False) + "\n" for members in objects)


def key_of_text(text: str) -> str:
    """Return a key that is the same for texts that differ only in case, white space or compatible characters."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _part(log: Any) -> LogPart:
    """Return a part of a log: a data frame, or a file that exists."""
    log = rows_as_frame(log)
    if is_frame(log):
        return log
    path = checked_path(log)
    return check_file(path / EVENTS if (path / TOPICS).is_file() else path, "a click log")

"""Reading and writing of click logs."""

from __future__ import annotations

import csv
import json
import logging
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rerank.clicks.batches import Codes, RawLog, batch_of, fits_an_id
from rerank.clicks.cleaning import UNKNOWN, Limits, cleaned
from rerank.clicks.formats import CSV, PARQUET, TSV, log_blocks
from rerank.clicks.record import Clicks
from rerank.clicks.ubi import UbiLog, is_ubi, log_objects
from rerank.errors import FileFormatError, InvalidInputError
from rerank.files.records import TopicsLike, topics_of
from rerank.files.source import check_file, reads_files
from rerank.runtime.output import whole_file
from rerank.types.ids import id_array

log = logging.getLogger("rerank")
ROWS_WRITTEN = 1 << 16
TOPICS, EVENTS = "topics.tsv", "events.jsonl"  # in the folder of `rerank serve --log`


@partial(reads_files, several=True)
def read_clicks(
    path: str | Path | Sequence[str | Path],
    *,
    topics: TopicsLike | None = None,
    documents: Collection[str] | None = None,
    limits: Limits | None = None,
    same_text: bool = True,
) -> Clicks:
    """Read a log of impressions and clicks.

    A log is JSONL, CSV or TSV (plain or gzip), or Parquet, by the ending of its name, with the columns query, document,
    position, clicked and optionally session, time, ranker, credit; JSONL of OpenSearch's User Behavior Insights (events
    and queries); or the folder of `rerank serve --log`. Impressions that cannot be used are dropped, and a warning
    counts each kind of them.

    Parameters
    ----------
    path : str, Path or sequence of them
        The log, or its parts in order.
    topics : Topics, mapping, DataFrame or path, optional
        Queries by id. The log's queries, ids or texts, become ids of topics: of topics with the same text, the first.
        A query that is none of them is dropped.
    documents : collection of str, optional
        The known documents; impressions of others are dropped.
    limits : Limits, optional
        Last position, and most clicks of a session.
    same_text : bool
        Whether queries that differ only in case, white space or compatible characters (NFKC) are one; it has the first
        form.

    Returns
    -------
    Clicks
        The impressions in the order of the log.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        With the line, for a value that is not as expected; for a log without an impression that can be used.

    """
    paths = [Path(each) for each in ([path] if isinstance(path, str | Path) else path)]
    if not paths:
        raise InvalidInputError("clicks: expected at least one file, got none. Name a log.")
    paths = [each / EVENTS if each.is_dir() and (each / TOPICS).is_file() else each for each in paths]
    for each in paths:
        check_file(each, "a click log")
    key = key_of_text if same_text else str
    names = None if topics is None else topics_of(topics)
    raw = RawLog(Codes(_limited(key)) if names is None else Codes(_topic_of(names, key), named_by_key=True))
    notes = _append_all(raw, paths)
    columns = raw.columns()
    if documents is not None and columns:
        known = np.array([name in documents for name in raw.documents.names], dtype=np.bool_)
        columns["document"] = np.where(known[columns["document"]], columns["document"], UNKNOWN).astype(np.int32)
    if columns:
        columns, more = cleaned(columns, limits or Limits())
        notes += more
    for note in notes:
        log.warning("%s: %s", paths[0], note)
    if not columns or not len(columns["query"]):
        raise FileFormatError(paths[0], None, "expected impressions, got none that can be used. Name another log.")
    queries, docs = id_array(raw.queries.names), id_array(raw.documents.names)
    return Clicks(query_ids=queries, doc_ids=docs, **columns, rankers=tuple(raw.rankers.names))


def _append_all(raw: RawLog, paths: Iterable[Path]) -> list[str]:
    """Append all files to a log; return what is to be told of them."""
    ubi, ubi_path = UbiLog(), None
    notes: list[str] = []
    for path in paths:
        if _is_ubi_file(path):
            ubi.read(path)
            ubi_path = path
            continue
        for block in log_blocks(path):
            raw.append(batch_of(path, block))
    if ubi_path is not None:
        batch, notes = ubi.batch(ubi_path)
        raw.append(batch)
    shared = set.intersection(*(set(part) for part in raw.parts)) if raw.parts else set()
    raw.parts = [{name: part[name] for name in part if name in shared} for part in raw.parts]
    return notes


def _is_ubi_file(path: Path) -> bool:
    endings = {ending.lower() for ending in path.suffixes}
    if endings & {CSV, TSV, PARQUET}:
        return False
    whole = (members for _, members in log_objects(path) if members is not None)
    return any(is_ubi(members) for members in islice(whole, 1))


def key_of_text(text: str) -> str:
    """Return what texts have in common that differ only in case, white space or compatible characters."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _limited(key: Callable[[str], str]) -> Callable[[str], str | None]:
    return lambda text: key(text) if fits_an_id(text) else None


def _topic_of(topics: Mapping[str, str], key: Callable[[str], str]) -> Callable[[str], str | None]:
    """Return the function from a query, id or text, to the id of the first topic with its text, None without one."""
    ids: dict[str, str] = {}
    for query_id, text in topics.items():
        ids.setdefault(key(text), query_id)
    return lambda query: ids.get(key(topics.get(query, query)))


def write_clicks(clicks: Clicks, path: str | Path) -> None:
    """Write a click log: CSV or TSV by the ending of the name, else JSONL; `.gz` compresses.

    Parameters
    ----------
    clicks : Clicks
        The impressions.
    path : str or Path
        The file; `-` is stdout.

    """
    endings = [ending.lower() for ending in Path(path).suffixes if ending.lower() != ".gz"]
    ending = endings[-1] if endings else ""
    if ending == PARQUET:
        raise InvalidInputError(f"{path}: expected .jsonl, .csv or .tsv, got a Parquet file. Name another.")
    with whole_file(path) as file:
        header, _, _ = clicks.first_rows(0)
        if ending in (CSV, TSV):
            writer = csv.writer(file, delimiter="\t" if ending == TSV else ",", lineterminator="\n")
            writer.writerow(header)
            for rows in _row_blocks(clicks):
                writer.writerows([[None if value != value else value for value in row] for row in rows])
            return
        for rows in _row_blocks(clicks):
            file.writelines(json.dumps(_object(header, row), ensure_ascii=False) + "\n" for row in rows)


def _object(header: list[str], row: list[Any]) -> dict[str, Any]:
    return {name: None if value != value else value for name, value in zip(header, row, strict=True)}


def _row_blocks(clicks: Clicks) -> Iterable[list[list[Any]]]:
    for first in range(0, clicks.n_rows, ROWS_WRITTEN):
        part = clicks.select(np.arange(first, min(first + ROWS_WRITTEN, clicks.n_rows)))
        yield part.first_rows(ROWS_WRITTEN)[1]

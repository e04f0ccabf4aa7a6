"""Drops the impressions of a click log that cannot be used, and counts each kind of them in a line.

Lists whose rows alternate in the log are separated (`list_order`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.columns import LIST, MISSING, UNUSABLE, LogColumns
from rerank.clicks.record import list_order
from rerank.errors import InvalidInputError


@dataclass(frozen=True)
class LogLimits:
    """What a click log may hold; impressions beyond these limits are dropped and counted.

    Parameters
    ----------
    last_position : int
        Last position that is used.
    session_clicks : int
        Most clicks of a session; a session with more is taken for a program's, and all of its impressions are dropped.

    """

    last_position: int = 1000
    session_clicks: int = 1000


def cleaned(columns: LogColumns, is_known: NDArray[np.bool_], limits: LogLimits) -> tuple[LogColumns, list[str]]:
    """Return the impressions that can be used, and a line for each kind of impressions that cannot.

    is_known  (n_documents,) whether each document is among those of the index
    """
    notes: list[str] = []
    n_several = np.count_nonzero(columns["clicked"] > 1)
    if n_several:
        notes.append(f"{n_several:,} rows of several clicks: taken as one click, as a row is one impression.")
    columns["clicked"] = columns["clicked"] > 0
    n_first = [int(np.count_nonzero(columns["position"] == place)) for place in (0, 1)]
    if n_first[0] >= max(n_first[1], 1):  # the numbers are equal where every list has two documents or more
        raise InvalidInputError(
            f"clicks: expected positions from 1, got positions from 0 ({n_first[0]:,} impressions at 0, {n_first[1]:,} "
            "at 1). Add 1 to each."
        )

    def drop(bad: NDArray[np.bool_], what: str) -> None:
        nonlocal columns
        if bad.any():
            notes.append(f"{np.count_nonzero(bad):,} {what}: dropped.")
            columns = {name: values[~bad] for name, values in columns.items()}

    missing = columns["position"] == MISSING
    n_clicks = np.count_nonzero(missing & columns["clicked"])
    drop(missing, f"rows without a position, {n_clicks:,} of them clicks without an impression")
    drop(columns["position"] < 1, "impressions at positions below 1")
    drop(columns["query"] == UNUSABLE, "impressions of queries that are too long, or not among the topics")
    columns = _in_lists(_merged(columns, notes), notes)
    drop(columns["position"] > limits.last_position, f"impressions at positions beyond {limits.last_position:,}")
    drop(~is_known[columns["document"]], "impressions of unknown documents")
    if "session" in columns:
        busy = np.bincount(columns["session"], columns["clicked"]) > limits.session_clicks
        what = f"impressions of {np.count_nonzero(busy):,} sessions with more than {limits.session_clicks:,} clicks"
        drop(busy[columns["session"]], what)
    if {"session", "time"} <= columns.keys():
        same = columns["session"][1:] == columns["session"][:-1]
        n_back = np.count_nonzero(same & (np.diff(columns["time"]) < 0.0))
        if n_back:
            notes.append(f"{n_back:,} times before that of the row above in the session: kept in the order of the log.")
    return columns, notes


def _in_lists(columns: LogColumns, notes: list[str]) -> LogColumns:
    """Return the columns list by list; add a note where lists may be parts of others."""
    rows, n_unsure = list_order(columns)
    if n_unsure:
        notes.append(
            f"{n_unsure:,} lists that begin further down than others of their query and session: taken as they are; "
            "rows of lists that no column tells apart may be among them."
        )
    return {name: values[rows] for name, values in columns.items() if name != LIST}


def _merged(columns: LogColumns, notes: list[str]) -> LogColumns:
    """Return the columns with repeated impressions merged, clicked if any of them was; add a note of their number.

    Where the log has neither sessions nor times, equal rows are several searches.
    """
    keys = [columns[name] for name in ("position", "document", "query", "session", LIST) if name in columns]
    if "time" in columns:
        keys.insert(0, columns["time"].view(np.int64))
    if not {"session", "time"} & columns.keys():
        return columns
    order = np.lexsort(keys)
    starts = np.flatnonzero(np.logical_or.reduce([np.diff(key[order], prepend=~key[order][:1]) != 0 for key in keys]))
    n_merged = len(order) - len(starts)
    if not n_merged:
        return columns
    notes.append(f"{n_merged:,} repeated impressions (same session, query, document, position and time): merged.")
    clicked = columns["clicked"].copy()
    clicked[order[starts]] = np.logical_or.reduceat(clicked[order], starts)
    rows = np.sort(order[starts])
    return {name: values[rows] for name, values in (columns | {"clicked": clicked}).items()}

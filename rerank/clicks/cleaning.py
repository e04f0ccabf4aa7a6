"""Impressions that cannot be used, and what is done with them: each kind is counted and told of in one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.batches import MISSING, UNUSABLE
from rerank.errors import InvalidInputError
from rerank.types.ids import ODD

Columns = dict[str, NDArray[Any]]
Mask = NDArray[np.bool_]
UNKNOWN = -2  # number of a document that is not among those of the index


@dataclass(frozen=True)
class Limits:
    """What a click log may hold; impressions beyond are dropped, and counted.

    Parameters
    ----------
    last_position : int
        Last position that is used.
    session_clicks : int
        Most clicks of a session; one with more is taken for a program, and all of its impressions are dropped.

    """

    last_position: int = 1000
    session_clicks: int = 1000


def cleaned(columns: Columns, limits: Limits) -> tuple[Columns, list[str]]:
    """Return the impressions that can be used, and a line for each kind of those that cannot."""
    notes: list[str] = []
    n_first = [int(np.count_nonzero(columns["position"] == place)) for place in (0, 1)]
    if n_first[0] > n_first[1]:
        raise InvalidInputError(
            f"clicks: expected positions from 1, got positions from 0 ({n_first[0]:,} impressions at 0, {n_first[1]:,} "
            "at 1). Add 1 to each."
        )
    for find in (_unplaced, _before_first, _too_deep, _unusable_queries, _unknown_documents, _of_programs):
        bad, what = find(columns, limits)
        count = int(np.count_nonzero(bad))
        if count:
            columns = {name: values[~bad] for name, values in columns.items()}
            notes.append(f"{count:,} {what}: dropped.")
    columns, n_repeated = _merged(columns)
    if n_repeated:
        notes.append(f"{n_repeated:,} repeated impressions (same session, query, document, position and time): merged.")
    n_back = _running_back(columns)
    if n_back:
        notes.append(f"{n_back:,} times before that of the row above in the session: kept in the order of the log.")
    return columns, notes


Found = tuple[Mask, str]


def _unplaced(columns: Columns, limits: Limits) -> Found:
    missing = columns["position"] == MISSING
    clicks = int(np.count_nonzero(missing & columns["clicked"]))
    return missing, f"rows without a position, {clicks:,} of them clicks without an impression"


def _before_first(columns: Columns, limits: Limits) -> Found:
    return columns["position"] < 1, "impressions at positions below 1"


def _too_deep(columns: Columns, limits: Limits) -> Found:
    return columns["position"] > limits.last_position, f"impressions at positions beyond {limits.last_position:,}"


def _unusable_queries(columns: Columns, limits: Limits) -> Found:
    return columns["query"] == UNUSABLE, "impressions of queries that are too long, or not among the topics"


def _unknown_documents(columns: Columns, limits: Limits) -> Found:
    return columns["document"] == UNKNOWN, "impressions of unknown documents"


def _of_programs(columns: Columns, limits: Limits) -> Found:
    if "session" not in columns or not len(columns["session"]):
        return np.zeros(len(columns["query"]), dtype=np.bool_), ""
    counts = np.bincount(columns["session"], columns["clicked"])
    busy = counts > limits.session_clicks
    what = f"impressions of {np.count_nonzero(busy):,} sessions with more than {limits.session_clicks:,} clicks"
    return busy[columns["session"]], what


def _merged(columns: Columns) -> tuple[Columns, int]:
    """Return the columns with repeated impressions as one, clicked if one of them was, and how many were dropped.

    Where the log has neither sessions nor times, equal rows are several searches.
    """
    keys = [columns[name] for name in ("session", "query", "document", "position") if name in columns]
    if "time" in columns:
        keys.append(columns["time"].view(np.int64))
    if not {"session", "time"} & columns.keys():
        return columns, 0
    candidates = _equal_hashes(keys)
    if not len(candidates):
        return columns, 0
    chosen = [key[candidates] for key in keys]
    order = np.lexsort((candidates, *chosen))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in chosen])
    group = np.cumsum(new) - 1
    rows = candidates[order]
    clicked = columns["clicked"].copy()
    clicked[rows[new]] = np.bincount(group, clicked[rows]) > 0
    keep = np.ones(len(clicked), dtype=np.bool_)
    keep[rows[~new]] = False
    merged = {name: values[keep] for name, values in (columns | {"clicked": clicked}).items()}
    return merged, int(np.count_nonzero(~new))


def _equal_hashes(keys: list[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the rows whose keys may be those of another row, ascending."""
    codes = np.zeros(len(keys[0]), dtype=np.uint64)
    for key in keys:
        codes ^= codes >> np.uint64(29)
        codes *= ODD
        codes += key.astype(np.int64).view(np.uint64)
    codes *= ODD
    ordered = np.sort(codes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(repeated):
        return np.empty(0, dtype=np.int64)
    place = np.minimum(np.searchsorted(repeated, codes), len(repeated) - 1)
    return np.flatnonzero(repeated[place] == codes)


def _running_back(columns: Columns) -> int:
    if not {"session", "time"} <= columns.keys():
        return 0
    same = columns["session"][1:] == columns["session"][:-1]
    return int(np.count_nonzero(same & (np.diff(columns["time"]) < 0.0)))

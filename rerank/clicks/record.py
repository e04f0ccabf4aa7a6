"""Clicks: the impressions of a log, each with its position and whether it was clicked.

impression  one document at one position of one result list
list        the documents that a searcher saw for a query: rows of one query and session whose positions rise; in
            `Clicks` they are adjacent

Preferences from clicks: a clicked document is preferred to the unclicked ones above it, which were skipped.

References
----------
T. Joachims, Optimizing Search Engines using Clickthrough Data, KDD 2002, section 2.2 (strategy "click > skip above" of
T. Joachims, L. Granka, B. Pan, H. Hembrooke and G. Gay, SIGIR 2005).

"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError
from rerank.types import Floats, Ids, Ints, Shown, Topics, counted, id_array, joined_rows, query_rows
from rerank.types.preferences import Preferences
from rerank.types.query_rows import positions_among
from rerank.types.query_table import numbered

Numbers = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Clicks(Shown):
    """Impressions in the order of a log.

    Parameters
    ----------
    query_ids : ndarray of shape (n_queries,), dtype str
        Ids or texts of the queries, each once.
    doc_ids : ndarray of shape (n_documents,), dtype str
        Ids of the documents, each once.
    query, document : ndarray of shape (n_rows,), dtype int32
        Query and document of each impression, as numbers in `query_ids` and `doc_ids`.
    position : ndarray of shape (n_rows,), dtype int32
        Position in the result list, from 1.
    clicked : ndarray of shape (n_rows,), dtype bool
        Whether the document was clicked.
    session : ndarray of shape (n_rows,), dtype int32, optional
        Number of the session. Names of sessions are not kept.
    time : ndarray of shape (n_rows,), dtype float64, optional
        Seconds since 1970; NaN where unknown.
    ranker : ndarray of shape (n_rows,), dtype int32, optional
        What ranked the document, as a number in `rankers`; in an interleaved list, the side that added it.
    rankers : tuple of str
        Names of the rankers.
    credit : ndarray of shape (n_rows,), dtype float64, optional
        What a click counts for the ranker of an interleaved list; 0 outside of such lists. None: 1 everywhere.

    """

    query_ids: Ids
    doc_ids: Ids
    query: Numbers
    document: Numbers
    position: Numbers
    clicked: NDArray[np.bool_]
    session: Numbers | None = None
    time: Floats | None = None
    ranker: Numbers | None = None
    rankers: tuple[str, ...] = ()
    credit: Floats | None = None

    def __post_init__(self) -> None:
        sizes = {name: len(values) for name, values in self._columns().items()}
        for name in sizes:
            if sizes[name] != self.n_rows:
                raise InvalidInputError(
                    f"Clicks: expected {self.n_rows} values of {name}, got {sizes[name]}. Pass one for each impression."
                )
        wrong = np.flatnonzero(self.position < 1)
        if len(wrong):
            row = wrong[0]
            raise InvalidInputError(
                f"Clicks: expected positions from 1, got {self.position[row]} in row {row}. Count positions from 1."
            )

    def __len__(self) -> int:
        return self.n_rows

    @classmethod
    def from_rows(
        cls,
        query_ids: ArrayLike,
        doc_ids: ArrayLike,
        positions: ArrayLike,
        clicked: ArrayLike,
        session: ArrayLike | None = None,
        ranker: ArrayLike | None = None,
        credit: ArrayLike | None = None,
    ) -> Clicks:
        """Return clicks made of one query, document, position and click for each row, list by list.

        Parameters
        ----------
        query_ids, doc_ids : array of shape (n_rows,), str
            Query (id or text) and document of each impression.
        positions : array of shape (n_rows,), int
            Position of each impression, from 1.
        clicked : array of shape (n_rows,), bool
            Whether the document was clicked.
        session, ranker : array of shape (n_rows,), str, optional
            Session of each impression, and name of the ranker of its document.
        credit : array of shape (n_rows,), float, optional
            What a click counts for the ranker of an interleaved list.

        Returns
        -------
        Clicks
            The impressions.

        """
        (queries, query), (documents, document) = _numbered(query_ids), _numbered(doc_ids)
        rankers, side = ((), None) if ranker is None else _numbered(ranker)
        clicks = cls(
            query_ids=queries,
            doc_ids=documents,
            query=query,
            document=document,
            position=np.asarray(positions, dtype=np.int32),
            clicked=np.asarray(clicked, dtype=np.bool_),
            session=None if session is None else _numbered(session)[1],
            ranker=side,
            rankers=tuple(str(name) for name in rankers),
            credit=None if credit is None else np.asarray(credit, dtype=np.float64),
        )
        return clicks.select(list_order(clicks._columns())[0])

    @property
    def n_rows(self) -> int:
        """Number of impressions."""
        return len(self.query)

    @property
    def n_positions(self) -> int:
        """The greatest position of the log; 0 for an empty log."""
        return int(self.position.max(initial=0))

    @cached_property
    def list_ptr(self) -> Ints:
        """Rows of list l: [list_ptr[l], list_ptr[l + 1]), shape (n_lists + 1,)."""
        begins = (self.query[1:] != self.query[:-1]) | (self.position[1:] <= self.position[:-1])
        if self.session is not None:
            begins |= self.session[1:] != self.session[:-1]
        return (
            np.concatenate([[0], np.flatnonzero(begins) + 1, [self.n_rows]]) if self.n_rows else np.zeros(1, np.int64)
        )

    def select(self, rows: NDArray[Any]) -> Clicks:
        """Return some rows, given by number or as a mask, in the order of the log.

        Parameters
        ----------
        rows : ndarray of int or bool
            The rows.

        Returns
        -------
        Clicks
            The rows. Queries and documents keep their numbers.

        """
        return replace(self, **{name: values[rows] for name, values in self._columns().items()})

    def _columns(self) -> dict[str, Any]:
        """Return the columns that the log has, by name."""
        return {name: getattr(self, name) for name in COLUMNS if getattr(self, name) is not None}

    def summary(self) -> str:
        """Return the numbers of impressions, clicks, lists, queries and positions.

        Returns
        -------
        str
            One line.

        """
        counts = f"{counted(self.n_rows, 'impression')}, {counted(int(self.clicked.sum()), 'click')}"
        lists = counted(len(self.list_ptr) - 1, "list")
        queries = counted(len(np.unique(self.query)), "query", "queries")
        return f"Clicks: {counts}, {lists} of {queries}, positions 1 to {self.n_positions}"

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the column names, the values of the first n rows, and the number of all rows.

        Parameters
        ----------
        n : int
            Number of rows.

        Returns
        -------
        header : list of str
            The column names.
        rows : list of list
            The values of the first n rows.
        n_rows : int
            Number of all rows.

        """
        columns: dict[str, list[Any]] = {
            "query": self.query_ids[self.query[:n]].tolist(),
            "document": self.doc_ids[self.document[:n]].tolist(),
            "position": self.position[:n].tolist(),
            "clicked": self.clicked[:n].astype(np.int64).tolist(),
        }
        columns |= {name: values[:n].tolist() for name, values in self._columns().items() if name not in columns}
        if self.ranker is not None:
            columns["ranker"] = [self.rankers[number] for number in columns["ranker"]]
        return list(columns), [list(row) for row in zip(*columns.values(), strict=True)], self.n_rows


def list_order(columns: Mapping[str, NDArray[Any]]) -> tuple[Ints, int]:
    """Return the rows list by list, in the order of the lists' first rows, and how many lists may be parts of others.

    The rows of a list have one query, one session and one value of `list` (where the log has these columns), and
    positions that rise. Rows that share the three keep the order of the log, unless another order makes fewer lists of
    them: the order of their times, or, for a session or list in which no position occurs twice, of their positions. A
    list that begins further down than other lists of the same query and session may be the rest of one of them.

    columns  by name, (n_rows,) each: query and position, and session, list and time where they are known
    """
    key = np.zeros(len(columns["query"]), np.int64)
    for name in ("query", *sorted({"session", "list"} & columns.keys())):
        _, key = np.unique(key << 32 | columns[name], return_inverse=True)
    position = columns["position"]
    order = np.argsort(key, kind="stable")
    begins = _begins(key, position, order)
    others = [np.lexsort((position, columns["time"], key))] if "time" in columns else []
    if {"session", "list"} & columns.keys():
        rows = np.lexsort((position, key))
        n_lists = np.bincount(key[rows], _begins(key, position, rows))
        others.append(np.where((n_lists == 1)[key[rows]], rows, order))
    for other in others:
        begun = _begins(key, position, other)
        chosen = (np.bincount(key[other], begun) < np.bincount(key[order], begins))[key[order]]
        order = np.where(chosen, other, order)
        begins = np.where(chosen, begun, begins)
    lists = np.cumsum(begins)
    lowest = np.full(int(key.max(initial=-1)) + 1, np.iinfo(position.dtype).max, position.dtype)
    np.minimum.at(lowest, key, position)
    n_unsure = np.count_nonzero(begins & (position > lowest[key])[order] & (np.diff(key[order], prepend=-1) == 0))
    first = np.minimum.reduceat(order, np.flatnonzero(begins)) if len(order) else order
    return order[np.lexsort((np.arange(len(order)), first[lists - 1]))], int(n_unsure)


def _begins(key: Ints, position: Numbers, order: Ints) -> NDArray[np.bool_]:
    """Return whether a list begins at each row, in an order that keeps the rows of each key together."""
    return np.asarray((np.diff(key[order], prepend=-1) != 0) | (np.diff(position[order], prepend=0) <= 0))


def with_new_ids(clicks: Clicks) -> tuple[Clicks, Topics]:
    """Return the clicks with ids q1, q2, ... for their queries, and the topics that these ids name."""
    ids = [f"q{number}" for number in range(1, len(clicks.query_ids) + 1)]
    return replace(clicks, query_ids=id_array(ids)), Topics(dict(zip(ids, clicks.query_ids.tolist(), strict=True)))


COLUMNS = ("query", "document", "position", "clicked", "session", "time", "ranker", "credit")


def _numbered(names: ArrayLike) -> tuple[Ids, Numbers]:
    """Return the distinct names by first appearance, and the number of each name."""
    distinct, number = numbered(id_array(names))
    return distinct, number.astype(np.int32)


PAIRS_AT_ONCE = 1 << 24


def preference_pairs(clicks: Clicks) -> tuple[Preferences, Ints]:
    """Return the preferences of searchers, each pair of documents once, in the direction that is more frequent.

    Parameters
    ----------
    clicks : Clicks
        The log.

    Returns
    -------
    preferences : Preferences
        The pairs. With n searches that prefer the better document and m that prefer the other, the probability is
        (n + 1/2) / (n + m + 1).
    counts : ndarray of shape (n_pairs,), dtype int64
        The number of searches n + m of each pair.

    Raises
    ------
    InvalidInputError
        If no document was clicked below an unclicked one.

    """
    keys, counts = _counted_pairs(clicks)
    size = max(len(clicks.doc_ids), 1)
    query, first, second = np.unravel_index(keys, (len(clicks.query_ids), size, size))
    other = (query * size + second) * size + first
    place = positions_among(keys, other)
    reverse = np.where(place >= 0, counts[place], 0)
    frequent = np.flatnonzero(counts > reverse)
    if not len(frequent):
        raise InvalidInputError(
            "clicks: expected clicks below documents that were skipped, got none that agree. Give a longer log."
        )
    total: Ints = (counts + reverse)[frequent]
    probabilities: Floats = (counts[frequent] + 0.5) / (total + 1.0)
    names = clicks.query_ids[query[frequent]], clicks.doc_ids[first[frequent]], clicks.doc_ids[second[frequent]]
    return Preferences(*names, probabilities), total


def _counted_pairs(clicks: Clicks) -> tuple[Ints, Ints]:
    """Return the distinct (query, clicked, skipped), ascending, as one number each, and how often each occurs."""
    if len(clicks.query_ids) * len(clicks.doc_ids) ** 2 >= 2**63:
        raise InvalidInputError(
            "clicks: expected queries times documents squared below 2^63 for preferences, got "
            f"{len(clicks.query_ids):,} and {len(clicks.doc_ids):,}. Divide the log by query."
        )
    size = len(clicks.doc_ids)
    firsts = clicks.list_ptr[:-1][query_rows(clicks.list_ptr)]
    rows = np.flatnonzero(clicks.clicked)
    above = rows - firsts[rows]
    keys = np.empty(0, np.int64)
    counts = np.empty(0, np.int64)
    blocks = np.searchsorted(np.cumsum(above), np.arange(PAIRS_AT_ONCE, above.sum() + PAIRS_AT_ONCE, PAIRS_AT_ONCE))
    for part in np.split(np.arange(len(rows)), np.unique(blocks)):
        below = np.repeat(rows[part], above[part])
        higher = joined_rows(firsts[rows[part]], above[part])[0]
        skipped = ~clicks.clicked[higher]
        below = below[skipped]
        higher = higher[skipped]
        own = (clicks.query[below].astype(np.int64) * size + clicks.document[below]) * size + clicks.document[higher]
        distinct, times = np.unique(own, return_counts=True)
        keys, inverse = np.unique(np.concatenate([keys, distinct]), return_inverse=True)
        counts = np.bincount(inverse, np.concatenate([counts, times]), len(keys)).astype(np.int64)
    return keys, counts

"""Rows of documents, query by query: the base class of qrels, runs and ranking data."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, shown
from rerank.runtime.fields import Whole, read_at
from rerank.runtime.threads import in_threads
from rerank.types.hash_slots import find_in_slots, hash_slots
from rerank.types.ids import Ids, Words, id_bytes, id_texts, row_codes, sort_keys
from rerank.types.query_rows import Ints, are_pointers, pointers, query_blocks, query_rows, rows_of_groups
from rerank.types.text_tables import Shown, counted


@dataclass(frozen=True, eq=False, repr=False)
class QueryTable(Shown):
    """Rows of documents, query by query."""

    query_ids: Ids
    query_ptr: Ints
    doc_ids: Ids
    stored_ids: ClassVar[NDArray[Any]]  # doc_ids of the instance as they are stored: text or UTF-8 bytes
    _positions: ClassVar[dict[str, int]]
    value_names: ClassVar[Mapping[str, str]] = {}  # the further columns of rows: how tables call them

    def __post_init__(self) -> None:
        positions = {str(query_id): number for number, query_id in enumerate(self.query_ids)}
        if len(positions) != len(self.query_ids):
            raise InvalidInputError(
                f"{type(self).__name__}: expected each query id once, got one twice. Put the rows of a query together."
            )
        if not are_pointers(self.query_ptr, len(positions), self.n_rows):
            raise InvalidInputError(
                f"{type(self).__name__}: expected query_ptr of {len(positions) + 1} whole numbers that rise from 0 to "
                f"{self.n_rows}, got others. Pass the first row of each query, and the number of rows."
            )
        vars(self)["_positions"] = positions

    def __len__(self) -> int:
        return len(self.query_ids)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._positions

    def __iter__(self) -> Iterator[str]:
        return (str(query_id) for query_id in self.query_ids)

    def rows(self, query_id: str) -> slice:
        """Return the rows of one query.

        Parameters
        ----------
        query_id : str
            The query.

        Returns
        -------
        slice
            Its rows.

        Raises
        ------
        KeyError
            If the table does not have the query.

        """
        number = self._positions[query_id]
        return slice(int(self.query_ptr[number]), int(self.query_ptr[number + 1]))

    def query_numbers(self, query_ids: Iterable[str]) -> Ints:
        """Return the numbers of some queries; those that the table does not have are left out.

        Parameters
        ----------
        query_ids : iterable of str
            The queries.

        Returns
        -------
        ndarray of shape (n_known,), dtype int64
            Numbers of the queries, from 0, in the given order.

        """
        return np.array([self._positions[query] for query in query_ids if query in self._positions], dtype=np.int64)

    def matches(self, query_ids: Ids, query_ptr: Ints, doc_ids: NDArray[Any]) -> tuple[Ints, Ints]:
        """Return which of other rows the table has, and their rows in the table.

        Parameters
        ----------
        query_ids : ndarray of shape (n_queries,), dtype str
            The queries of the other rows.
        query_ptr : ndarray of shape (n_queries + 1,), dtype int64
            Rows of query q: [query_ptr[q], query_ptr[q + 1]).
        doc_ids : ndarray of shape (n_rows,), dtype str or bytes
            Document of each row.

        Returns
        -------
        rows : ndarray of shape (n_matches,), dtype int64
            The other rows that the table has, ascending.
        own_rows : ndarray of shape (n_matches,), dtype int64
            Their rows in the table.

        """
        numbers = self._numbers(query_ids)
        own_query, own_codes, slots = self._index

        def find(block: tuple[int, int]) -> tuple[Ints, Ints]:
            first, last = block
            start = int(query_ptr[first])
            query = np.repeat(numbers[first:last], np.diff(query_ptr[first : last + 1]))
            docs = doc_ids[start : int(query_ptr[last])]
            codes = row_codes(query, docs)

            def is_same(own_rows: Ints, rows: Ints) -> NDArray[np.bool_]:
                same: NDArray[np.bool_] = own_codes[own_rows] == codes[rows]
                alike = np.flatnonzero(same)
                own, other = own_rows[alike], rows[alike]
                are_docs = id_bytes(self.stored_ids[own]) == id_bytes(docs[other])
                same[alike] = are_docs & (own_query[own] == query[other])
                return same

            own_rows = find_in_slots(slots, codes, is_same)
            rows = np.flatnonzero(own_rows >= 0)
            return rows + start, own_rows[rows]

        parts = [(np.empty(0, np.int64), np.empty(0, np.int64)), *in_threads(find, query_blocks(query_ptr))]
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([own_rows for _, own_rows in parts])

    @cached_property
    def _index(self) -> tuple[Ints, Words, NDArray[np.int32]]:
        """The query of each row, its hash, and the hash table of the rows."""
        query = query_rows(self.query_ptr)
        codes = row_codes(query, self.stored_ids)
        return query, codes, hash_slots(codes)

    def _numbers(self, query_ids: Ids) -> Ints:
        """Return the number of each query in the table, -1 if it does not have it."""
        return np.array([self._positions.get(query_id, -1) for query_id in query_ids.tolist()], dtype=np.int64)

    def select(self, queries: ArrayLike) -> Self:
        """Return some queries, given by number, in that order, or as a mask.

        Parameters
        ----------
        queries : array of shape (n_selected,), int, or of shape (n_queries,), bool
            Numbers of the queries, from 0, see `query_numbers`.

        Returns
        -------
        object of the same class
            Their rows.

        Raises
        ------
        InvalidInputError
            If there is no query of such a number.

        """
        numbers = _chosen("queries", queries, len(self))
        rows, query_ptr = rows_of_groups(self.query_ptr, numbers)
        columns = {"query_ids": self.query_ids[numbers], "query_ptr": query_ptr, "doc_ids": self.stored_ids[rows]}
        return replace(self, **columns, **self._selected(numbers, rows))

    def of_rows(self, rows: ArrayLike) -> Self:
        """Return some rows, given by number in ascending order, or as a mask; queries without one remain, without rows.

        Parameters
        ----------
        rows : array of shape (n_selected,), int, or of shape (n_rows,), bool
            Numbers of the rows, from 0.

        Returns
        -------
        object of the same class
            The rows.

        Raises
        ------
        InvalidInputError
            If there is no row of such a number, or the numbers do not ascend.

        """
        numbers = _chosen("rows", rows, self.n_rows)
        if (numbers[1:] <= numbers[:-1]).any():
            raise InvalidInputError("rows: expected numbers that ascend, got others. Sort them: numpy.unique(rows).")
        counts = np.bincount(query_rows(self.query_ptr)[numbers], minlength=len(self))
        columns = {"query_ptr": pointers(counts), "doc_ids": self.stored_ids[numbers]}
        return replace(self, **columns, **self._selected(np.arange(len(self)), numbers))

    def places(self) -> Ints:
        """Return the place of each row in its query.

        Returns
        -------
        ndarray of shape (n_rows,), dtype int64
            Places, from 1.

        """
        return np.arange(1, self.n_rows + 1) - self.query_ptr[query_rows(self.query_ptr)]

    def among_first(self, k: int) -> NDArray[np.bool_]:
        """Return which rows are among the first k of their query.

        Parameters
        ----------
        k : int
            Number of rows.

        Returns
        -------
        ndarray of shape (n_rows,), dtype bool
            Whether each row is.

        """
        most: int = read_at("k", Whole(0, 2**31 - 1), k)
        return self.places() <= most

    def head(self, k: int) -> Self:
        """Return the first k rows of each query, which in retrieved data are the best documents of the first stage.

        Parameters
        ----------
        k : int
            Number of rows.

        Returns
        -------
        object of the same class
            The first rows.

        """
        return self.of_rows(np.flatnonzero(self.among_first(k)))

    @property
    def n_rows(self) -> int:
        """Number of query-document pairs."""
        return len(self.stored_ids)

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
        rows = slice(0, n)
        ids = self.stored_ids[rows]
        columns = {
            "query_id": self.query_ids[query_rows(self.query_ptr)[rows]].tolist(),
            "doc_id": (id_texts(ids) if ids.dtype.kind == "S" else ids).tolist(),
            **self._value_columns(rows),
        }
        return list(columns), [list(row) for row in zip(*columns.values(), strict=True)], self.n_rows

    def _selected(self, queries: Ints, rows: Ints) -> dict[str, Any]:
        """Return the further columns of some queries, by their numbers, and of their rows."""
        return {name: getattr(self, name)[rows] for name in self.value_names}

    def _counts(self) -> str:
        return f"{counted(len(self), 'query', 'queries')}, {counted(self.n_rows, 'document')}"

    def _value_columns(self, rows: slice) -> dict[str, list[Any]]:
        """Return the values of some rows, by column."""
        return {column: getattr(self, name)[rows].tolist() for name, column in self.value_names.items()}


def _chosen(what: str, given: ArrayLike, n: int) -> Ints:
    """Return the numbers of some of n queries or rows; of a mask, those where it is true."""
    numbers = np.asarray(given)
    if numbers.dtype == np.bool_ and numbers.shape == (n,):
        return np.flatnonzero(numbers)
    is_outside = numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= n)
    if numbers.ndim != 1 or numbers.dtype == np.bool_ or is_outside:
        raise InvalidInputError(
            f"{what}: expected numbers from 0 to {n - 1}, or a mask of {n}, got {shown(given)}. Correct them; of ids "
            "of queries, pass query_numbers(ids)."
        )
    return numbers.astype(np.int64)


def _doc_ids(table: Any) -> Ids:
    """Return the document ids of a table as text, decoded at the first access."""
    if table.stored_ids.dtype.kind == "S":
        vars(table)["stored_ids"] = id_texts(table.stored_ids)
    return table.stored_ids  # type: ignore[no-any-return]


QueryTable.doc_ids = property(_doc_ids, lambda table, ids: vars(table).update(stored_ids=ids))  # type: ignore


def numbered(ids: Ids) -> tuple[Ids, Ints]:
    """Return distinct ids by first appearance, and the number of each id among them."""
    names, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return names[order], np.argsort(order)[inverse]


def group_rows(query_ids: Ids, doc_ids: Ids) -> tuple[Ids, Ints, Ints]:
    """Return query ids by first appearance, query_ptr, and the rows sorted by (query, document id)."""
    names, query = numbered(query_ids)
    return names, pointers(np.bincount(query, minlength=len(names))), np.lexsort((*sort_keys(doc_ids), query))

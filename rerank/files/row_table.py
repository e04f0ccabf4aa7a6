"""Rows of ranking data that a reader collects part by part, in memory or with the features in a temporary file."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.files.grouping import numbered
from rerank.runtime.mapped_rows import RowFile, is_mapped, release
from rerank.runtime.memory import memory_limit
from rerank.types import Floats, Ints, pointers
from rerank.types.ids import Ids, id_array, id_bytes

ROWS_AT_ONCE = 1 << 14  # moved to another order together


@dataclass
class RowTable:
    """Rows in the order of their file; a part is some rows.

    Parameters
    ----------
    features : RowFile or list of ndarray
        The features of each part: in a temporary file, or in memory.
    names : list of str
        Query id of each group of adjacent rows.
    lengths : list of int
        Number of rows of each group.
    docs : list of ndarray of bytes
        Document ids of each part.
    numbers : dict of str to list of ndarray
        Values of other columns by name, float64, of each part.
    width : int
        Most features of a part.

    """

    features: RowFile | list[NDArray[np.float32]]
    names: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    docs: list[NDArray[np.bytes_]] = field(default_factory=list)
    numbers: dict[str, list[Floats]] = field(default_factory=dict)
    width: int = 0

    @classmethod
    def new(cls, mapped: bool, what: str) -> RowTable:
        """Return a table without rows; `what` is what an error says is too large for the disk."""
        return cls(RowFile(what) if mapped else [])

    def append(self, queries: list[str], docs: list[str], numbers: dict[str, Floats], X: NDArray[np.float32]) -> None:
        """Append a part: query and document id of each row, values of other columns, features."""
        groups = np.flatnonzero([True, *(a != b for a, b in zip(queries[1:], queries[:-1], strict=True))])
        for first, length in zip(groups.tolist(), np.diff(groups, append=len(queries)).tolist(), strict=True):
            if length and self.names and self.names[-1] == queries[first]:
                self.lengths[-1] += length
            elif length:
                self.names.append(queries[first])
                self.lengths.append(length)
        self.docs.append(id_bytes(id_array(docs)))
        for name, values in numbers.items():
            self.numbers.setdefault(name, []).append(values)
        self.features.append(X)
        self.width = max(self.width, X.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.lengths)

    def queries(self) -> tuple[Ids, Ints, Ints | None]:
        """Return the query ids by first appearance, each row's query, and the order by query, None if they are so."""
        names, query, order = numbered(self.names, np.array(self.lengths, dtype=np.int64))
        return id_array(names), query, order

    def doc_ids(self) -> NDArray[np.bytes_]:
        """Return the document id of each row, as UTF-8 bytes."""
        return np.concatenate(self.docs) if self.docs else np.empty(0, "S8")

    def column(self, name: str) -> Floats:
        """Return the values of another column."""
        return np.concatenate([np.empty(0), *self.numbers.get(name, [])])

    def matrix(self, n_columns: int, order: Ints | None) -> NDArray[np.float32]:
        """Return the features in an order (None: that of the file), with zeros in columns that a part does not have."""
        X = stacked_rows(self.features, n_columns)
        return X if order is None else _in_order(X, order)


def _in_order(X: NDArray[np.float32], order: Ints) -> NDArray[np.float32]:
    """Return the rows of X in another order; those of a mapped X are in a temporary file."""
    if not is_mapped(X):
        return X[order]
    out = RowFile("features")
    for first in range(0, len(order), ROWS_AT_ONCE):
        out.append(np.array(X[order[first : first + ROWS_AT_ONCE]]))
        release(X)
    return out.finish(X.shape[1])


def query_ptr(query: Ints, n_queries: int) -> Ints:
    """Return the pointers of rows that are grouped by these query numbers."""
    return pointers(np.bincount(query, minlength=n_queries))


def stacked_rows(blocks: RowFile | list[NDArray[np.float32]], n_columns: int) -> NDArray[np.float32]:
    """Return the rows of all blocks, which are taken out of a list, with zeros in columns that a block lacks."""
    if isinstance(blocks, RowFile):
        return blocks.finish(n_columns)
    n_rows = sum(map(len, blocks))
    if 4 * n_rows * n_columns > memory_limit():
        raise InvalidInputError(
            f"data: expected features that fit into memory, got {n_rows:,} rows of {n_columns:,} features "
            f"({4 * n_rows * n_columns:,} bytes). Number the features that are used 1, 2, 3, or read with mapped=True."
        )
    X = np.zeros((n_rows, n_columns), dtype=np.float32)
    first = 0
    while blocks:
        block = blocks.pop(0)
        X[first : first + len(block), : block.shape[1]] = block
        first += len(block)
    return X

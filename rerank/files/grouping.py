"""Grouping of rows by query, and detection of repeated documents in a query."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types import Ints, query_blocks
from rerank.types.ids import ODD, Words, row_codes


def repeated_row(query: Ints, doc_ids: NDArray[Any], codes: Words | None = None) -> int | None:
    """Return the first row with the query and document of an earlier row, or None.

    Shapes: query int64 (n_rows,); doc_ids (n_rows,); codes uint64 (n_rows,).
    """
    codes = row_codes(query, doc_ids) if codes is None else codes
    ordered = np.sort(codes)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    seen: set[tuple[int, Any]] = set()
    for row in np.flatnonzero(np.isin(codes, repeated)).tolist() if len(repeated) else []:
        pair = (int(query[row]), doc_ids[row])
        if pair in seen:
            return row
        seen.add(pair)
    return None


def numbered(names: list[str], lengths: Ints) -> tuple[list[str], Ints, Ints | None]:
    """Return the query of every row, and the order that groups the rows by query.

    Shapes: lengths int64 (n_groups,); query int64 (n_rows,); order int64 (n_rows,).
    """
    distinct, query_of_group = numbers_of(names)
    query = np.repeat(query_of_group, lengths)
    is_grouped = bool(np.all(query_of_group[1:] >= query_of_group[:-1]))
    return distinct, query, None if is_grouped else np.argsort(query, kind="stable")


def numbers_of(names: list[str]) -> tuple[list[str], Ints]:
    """Return distinct names by first appearance, and the index of each name among them."""
    numbers: dict[str, int] = {}
    of_name = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
    return list(numbers), of_name


def all_distinct(query_ptr: Ints, codes: Words) -> bool:
    """Return whether no query has two equal codes; False is possible, but improbable, if none has."""
    for first, last in query_blocks(query_ptr, 1 << 12):
        query = np.repeat(np.arange(first, last, dtype=np.uint64), np.diff(query_ptr[first : last + 1]))
        ordered = np.sort(codes[query_ptr[first] : query_ptr[last]] + query * ODD)
        if (ordered[1:] == ordered[:-1]).any():
            return False
    return True

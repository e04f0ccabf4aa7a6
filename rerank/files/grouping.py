"""Rows by query: which belong together, and whether a document returns within one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types import Ints, query_blocks
from rerank.types.ids import ODD, Words, row_codes


def repeated_row(query: Ints, doc_ids: NDArray[Any], codes: Words | None = None) -> int | None:
    """Return the first row whose query and document stood in a row before, or None.

    query    (n_rows,) query numbers
    doc_ids  (n_rows,) text or UTF-8 bytes
    codes    (n_rows,) uint64 row_codes of both, where they are known
    Equal pairs have equal codes, so a repeat is never missed; equal codes are compared in full.
    """
    codes = row_codes(query, doc_ids) if codes is None else codes
    ordered = np.sort(codes)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    seen: set[tuple[int, Any]] = set()
    for row in np.flatnonzero(np.isin(codes, twice)).tolist() if len(twice) else []:
        pair = (int(query[row]), doc_ids[row])
        if pair in seen:
            return row
        seen.add(pair)
    return None


def numbered(names: list[str], lengths: Ints) -> tuple[list[str], Ints, Ints | None]:
    """Return distinct query ids by first appearance, the query of every row, and the order that
    brings the rows of a query together (None where they stand so already).
    """
    distinct, of_stretch = numbers_of(names)
    query = np.repeat(of_stretch, lengths)
    together = bool(np.all(of_stretch[1:] >= of_stretch[:-1]))
    return distinct, query, None if together else np.argsort(query, kind="stable")


def numbers_of(names: list[str]) -> tuple[list[str], Ints]:
    """Return distinct names by first appearance, and the number of each name among them."""
    numbers: dict[str, int] = {}
    of_name = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
    return list(numbers), of_name


def all_distinct(query_ptr: Ints, codes: Words) -> bool:
    """Return whether no query has two equal codes; some that has two of another query may be told to have them."""
    for first, last in query_blocks(query_ptr, 1 << 12):
        query = np.repeat(np.arange(first, last, dtype=np.uint64), np.diff(query_ptr[first : last + 1]))
        ordered = np.sort(codes[query_ptr[first] : query_ptr[last]] + query * ODD)
        if (ordered[1:] == ordered[:-1]).any():
            return False
    return True

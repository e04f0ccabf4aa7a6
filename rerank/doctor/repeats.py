"""Queries whose rows are not contiguous, and duplicate documents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rerank.doctor.findings import Finding, at
from rerank.doctor.reading import Documents
from rerank.types import Ints
from rerank.types.ids import row_codes, sort_keys


def repeated_rows(query: Ints, doc_ids: NDArray[np.generic]) -> tuple[Ints, Ints]:
    """Return the rows that repeat the query and document of an earlier row, and that first row of each."""
    codes = row_codes(query, doc_ids)
    ordered = np.sort(codes)
    rows = np.flatnonzero(np.isin(codes, ordered[1:][ordered[1:] == ordered[:-1]]))
    rows = rows[np.lexsort((*sort_keys(doc_ids[rows]), query[rows]))] if len(rows) else rows
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = (query[rows][1:] != query[rows][:-1]) | (doc_ids[rows][1:] != doc_ids[rows][:-1])
    first = rows[np.flatnonzero(new)][np.cumsum(new) - 1] if len(rows) else rows
    order = np.argsort(rows[~new])
    return rows[~new][order], first[~new][order]


def returning_queries(rows: Documents, severity: str, effect: str) -> Iterator[Finding]:
    """Yield a finding about queries whose rows are not contiguous."""
    starts = np.flatnonzero(np.diff(rows.query, prepend=-1))
    _, first = np.unique(rows.query[starts], return_index=True)
    again = np.delete(starts, first)
    yield from at(
        rows, severity, again, lambda row: f"query {rows.name(row)} returns after rows of other queries", effect
    )


def returning_documents(rows: Documents) -> Iterator[Finding]:
    """Yield a finding about documents that occur twice in a query."""
    again, first = repeated_rows(rows.query, rows.doc_ids)
    before = dict(zip(again.tolist(), first.tolist(), strict=True))

    def describe(row: int) -> str:
        location = "" if rows.lines is None else f", first on line {rows.lines[before[row]]}"
        return f"document {rows.doc(row)} returns in query {rows.name(row)}{location}"

    effect = "rerank refuses the file; where it is accepted, the document counts twice"
    yield from at(rows, "error", again, describe, effect)

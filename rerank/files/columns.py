"""Files of columns parted by white space: qrels and runs, at millions of lines a second.

row      one line that holds columns; blank lines and lines that begin with `#` hold none
stretch  neighbouring rows of one query
A chunk of plain ASCII with the right number of columns is split by NumPy; any other chunk is read
line by line, which accepts what is unusual but right and names the first line that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError
from rerank.files.source import CHUNK_BYTES, check_file, chunks, shown, text
from rerank.types import Ids, Ints, id_array, pointers

WIDEST = 256  # bytes of a column that the fast path takes
QUERY, DOC = 0, 2


@dataclass(frozen=True)
class Layout:
    """Columns of a format: column 0 is the query id, 2 the document id, `value` a number.

    parse   bytes of the number -> number, or None where it is none
    wanted  what the number is, for messages
    extra   whether columns after the last are passed over, as trec_eval does in runs
    """

    what: str
    columns: tuple[str, ...]
    value: int
    dtype: type[np.generic]
    parse: Callable[[bytes], float | int | None]
    wanted: str
    extra: bool = False

    @property
    def named(self) -> str:
        """Number and names of the columns, for messages."""
        return f"{len(self.columns)} columns ({' '.join(self.columns)})"


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as they stand in the file.

    names     query id of each stretch
    lengths   (n_stretches,) int64 rows of each
    doc_ids   (n_rows,)
    values    (n_rows,) of the layout's dtype
    lines     (n_rows,) int64
    tag       last column of the first row
    """

    names: list[str]
    lengths: Ints
    doc_ids: Ids
    values: NDArray[Any]
    lines: Ints
    tag: str


@dataclass(frozen=True, eq=False)
class Table:
    """Rows grouped by query, queries by first appearance, rows of a query in the order of the file.

    tag   last column of the file's first row
    """

    query_ids: Ids
    query_ptr: Ints
    doc_ids: Ids
    values: NDArray[Any]
    tag: str


def read_table(path: str | Path, layout: Layout, chunk_bytes: int = CHUNK_BYTES) -> Table:
    """Read a file of columns; a document that returns within a query is refused."""
    path = check_file(path, f"a {layout.what} file")
    parts = [
        _split_fast(line, chunk, layout) or _split_by_line(path, line, chunk, layout)
        for line, chunk in chunks(path, chunk_bytes)
    ]
    rows = _joined([part for part in parts if len(part.lines)])
    if rows is None:
        raise FileFormatError(path, None, f"expected lines of {layout.named}, found no line; name a file with rows.")
    return _grouped(path, rows)


def repeated_row(query: Ints, doc_ids: Ids) -> int | None:
    """Return the first row whose query and document stood in a row before, or None.

    query    (n_rows,) query numbers
    doc_ids  (n_rows,)
    Equal pairs have equal 64-bit codes, so a repeat is never missed; equal codes are compared in full.
    """
    codes = _codes(query, doc_ids)
    ordered = np.sort(codes)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    seen: set[tuple[int, str]] = set()
    for row in np.flatnonzero(np.isin(codes, twice)).tolist() if len(twice) else []:
        pair = (int(query[row]), str(doc_ids[row]))
        if pair in seen:
            return row
        seen.add(pair)
    return None


def numbered(names: list[str], lengths: Ints) -> tuple[list[str], Ints, Ints | None]:
    """Return distinct query ids by first appearance, the query of every row, and the order that
    brings the rows of a query together (None where they stand so already).
    """
    numbers: dict[str, int] = {}
    of_stretch = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
    query = np.repeat(of_stretch, lengths)
    together = bool(np.all(of_stretch[1:] >= of_stretch[:-1]))
    return list(numbers), query, None if together else np.argsort(query, kind="stable")


def _grouped(path: Path, rows: Rows) -> Table:
    names, query, order = numbered(rows.names, rows.lengths)
    repeat = repeated_row(query, rows.doc_ids)
    if repeat is not None:
        raise FileFormatError(
            path,
            int(rows.lines[repeat]),
            f"expected each document once in a query, found {shown(str(rows.doc_ids[repeat]))} again "
            f"in query {shown(names[query[repeat]])}; remove one of the two lines.",
        )
    query_ptr = pointers(np.bincount(query, minlength=len(names)))
    take = slice(None) if order is None else order
    return Table(id_array(names), query_ptr, rows.doc_ids[take], rows.values[take], rows.tag)


def _joined(parts: list[Rows]) -> Rows | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return Rows(
        [name for part in parts for name in part.names],
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.doc_ids for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.lines for part in parts]),
        parts[0].tag,
    )


def _codes(query: Ints, doc_ids: Ids) -> NDArray[np.uint64]:
    """Return sum_c letter_c * odd_c + query * odd (mod 2**64) for every row."""
    letters = doc_ids.view(np.uint32).reshape(len(doc_ids), -1)
    random = np.random.default_rng(0)
    odd = random.integers(0, 1 << 63, letters.shape[1] + 1, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    codes = query.astype(np.uint64) * odd[-1]
    block = 1 << 14  # rows whose letters stay in the cache while all columns pass over them
    for start in range(0, len(letters), block):
        rows = slice(start, start + block)
        for place, letter in enumerate(letters[rows].T):
            codes[rows] += letter * odd[place]
    return codes


def _split_fast(line: int, chunk: bytes, layout: Layout) -> Rows | None:
    """Split a chunk without a Python loop over rows, or return None where it is not plain enough."""
    letters = np.frombuffer(chunk + b" " * WIDEST, dtype=np.uint8)
    bounds = _column_bounds(chunk, letters[: len(chunk)], len(layout.columns))
    if bounds is None:
        return None
    starts, ends = bounds
    queries = _cut(letters, starts[:, QUERY], ends[:, QUERY])
    docs = _cut(letters, starts[:, DOC], ends[:, DOC])
    numbers = _cut(letters, starts[:, layout.value], ends[:, layout.value])
    if queries is None or docs is None or numbers is None or (numbers == ord("_")).any():
        return None
    try:
        values = numbers.view(f"S{numbers.shape[1]}").reshape(-1).astype(layout.dtype)
    except (ValueError, OverflowError):
        return None
    if not np.isfinite(values).all():
        return None
    changes = np.flatnonzero((queries[1:] != queries[:-1]).any(axis=1)) + 1
    first = np.concatenate([np.zeros(1, np.int64), changes])
    lengths = np.diff(np.append(first, len(queries)))
    tag = chunk[starts[0, -1] : ends[0, -1]].decode("ascii")
    lines = np.arange(line, line + len(docs))
    return Rows(_texts(queries[first]).tolist(), lengths, _texts(docs), values, lines, tag)


def _column_bounds(chunk: bytes, letters: NDArray[np.uint8], n_columns: int) -> tuple[Ints, Ints] | None:
    """Return first and past-the-last byte of every column, (n_rows, n_columns) each."""
    blank = letters <= ord(" ")
    if not chunk.isascii() or blank[0]:
        return None
    if np.count_nonzero(blank) != sum(map(chunk.count, (b" ", b"\t", b"\r", b"\n"))):
        return None
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    if len(edges) % 2 == 0 or (len(edges) + 1) // 2 % n_columns:
        return None
    starts = np.append(0, edges[1::2]).reshape(-1, n_columns)
    ends = edges[::2].reshape(-1, n_columns)
    # As many newlines as rows, one right before each row: no row holds a newline, no line is blank.
    line_starts = starts[1:, 0]
    if chunk.count(b"\n") != len(starts) or (letters[line_starts - 1] != ord("\n")).any():
        return None
    return None if (letters[starts[:, 0]] == ord("#")).any() else (starts, ends)


def _cut(letters: NDArray[np.uint8], starts: Ints, ends: Ints) -> NDArray[np.uint8] | None:
    """Return one column as (n_rows, widest) bytes, filled up with 0; None where one is too wide."""
    lengths = ends - starts
    width = int(lengths.max())
    if width > WIDEST:
        return None
    cells = np.lib.stride_tricks.sliding_window_view(letters, width)[starts]
    cells *= np.arange(width) < lengths[:, None]
    return cells


def _texts(cells: NDArray[np.uint8]) -> Ids:
    return cells.astype(np.uint32).view(f"U{cells.shape[1]}").reshape(-1)


def _split_by_line(path: Path, first_line: int, chunk: bytes, layout: Layout) -> Rows:
    queries: list[str] = []
    docs: list[str] = []
    values: list[float | int] = []
    lines: list[int] = []
    tag = ""
    for line, raw in enumerate(chunk.split(b"\n"), first_line):
        fields = raw.split()
        if not fields or raw.startswith(b"#"):
            continue
        values.append(_checked(path, line, fields, layout))
        queries.append(text(path, line, fields[QUERY]))
        docs.append(text(path, line, fields[DOC]))
        lines.append(line)
        tag = tag or text(path, line, fields[len(layout.columns) - 1])
    ones = np.ones(len(lines), dtype=np.int64)
    found = np.array(values, dtype=layout.dtype)
    return Rows(queries, ones, id_array(docs), found, np.array(lines, dtype=np.int64), tag)


def _checked(path: Path, line: int, fields: list[bytes], layout: Layout) -> float | int:
    """Return the number of a line that has the right columns."""
    wanted = len(layout.columns)
    if len(fields) < wanted:
        remedy = "write the missing column" if wanted - len(fields) == 1 else "write the missing columns"
        raise _wrong_columns(path, line, fields, layout, remedy)
    # A space within a document id pushes all columns to the right: then column 3 is no whole number.
    shifted = not layout.extra or not fields[3].lstrip(b"-").isdigit()
    if len(fields) > wanted and shifted:
        raise _wrong_columns(path, line, fields, layout, "ids may hold no white space")
    value = layout.parse(fields[layout.value])
    if value is None:
        name, found = layout.columns[layout.value], shown(fields[layout.value])
        raise FileFormatError(path, line, f"expected {layout.wanted} as {name}, found {found}; correct the {name}.")
    return value


def _wrong_columns(path: Path, line: int, fields: list[bytes], layout: Layout, remedy: str) -> FileFormatError:
    return FileFormatError(path, line, f"expected {layout.named}, found {len(fields)}; {remedy}.")

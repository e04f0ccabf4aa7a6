"""Rows of text in columns, read at millions of lines a second.

row    one line with columns
group  adjacent rows of one query
word   eight bytes of text as one number, the first byte lowest
A chunk of ASCII with the right number of columns in each line is split by NumPy, word by word. Any other chunk is read
line by line, which accepts everything that the format allows and names the first wrong line. Several threads split
chunks.
"""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, log
from rerank.files.line_records import check_ids, is_header, refuse_repeats
from rerank.files.source import FileLike, LineFault, check_file, chunks, of_line, text, value_of
from rerank.runtime.threads import NUMPY_THREADS
from rerank.types import Floats, Ints, counted, pointers
from rerank.types.data_frames import DOC_ID, LABEL, QUERY_ID, RANK, SCORE, first_column, plain_name
from rerank.types.ids import ODD, Ids, Words, id_array, id_bytes, row_codes

CHUNK_BYTES = 1 << 21  # with smaller chunks threads wait for the GIL, larger ones do not fit into the cache
REUSED_BYTES = 31 << 20  # just below the maximum of glibc's dynamic mmap threshold
WIDEST = 256  # bytes of a column; wider ones are read line by line
RUNS = "run"
DROP_COLUMNS = (  # of qrels with more: which ones depends on who wrote them
    "Keep query, document and label, with `awk '{print $1, 0, $2, $3}'` of prels, `awk '{print $1, 0, $3, $5}'` with a "
    "stratum before the label (sample_eval), `awk '{print $1, 0, $3, $4}'` with other judgements after it, "
    "`awk '{print $1, 0, $3, ($4 > 0)}'` with lengths after it (INEX)"
)
_MEASURE = re.compile(  # a name that trec_eval or ir_measures print before a figure
    rb"runid|(?:num|gm|set)_\w+|map|Rprec|bpref|infAP|recip_rank|11pt_avg|ndcg|iprec_at_recall_[\d.]+"
    rb"|(?:map_cut|ndcg_cut|P|recall|success)_\d+|(?:P|R|Judged|Success)(?:\(.*\))?@\d+|(?:nDCG|AP|RR|ERR|RBP)(?:\(.*\))?(?:@\d+)?"
)
_GRADE = re.compile(rb"[A-Z][a-z]*|\d*\.\d+")
Bytes = NDArray[np.bytes_]
ARRAYS = ("lengths", "doc_ids", "codes", "values")  # of rows
PADDING = WIDEST + 8  # blanks after a chunk, so that its last columns can be read as words
FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64)
INT64 = np.iinfo(np.int64)
_BYTE = np.uint64(0xFF)
_EACH = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x000000FF000000FF)
_TENS = np.array([10**count for count in range(9)], dtype=np.uint64)
_POWERS = np.array([10.0**power for power in range(20)])


@dataclass(frozen=True)
class Layout:
    """Columns of a format.

    Parameters
    ----------
    what : str
        Name of the format, for errors.
    columns : tuple of str
        Names of the columns.
    value : int
        Index of the column with the number.
    dtype : type
        NumPy type of the number.
    parse : callable
        Returns the number in bytes, or None if there is none.
    expected : str
        What the number is, for errors.
    extra : bool, default=False
        Whether further columns are skipped, as trec_eval does in runs.
    once, other_values : str, default=""
        What else to do about a document that is repeated in a query, and about other values, for errors.
    query, doc : int
        Indices of the columns with the query id and the document id.
    fewer : sequence of tuple of str
        Names of the columns of files with fewer columns, which may begin with a line of names.
    other : pattern of bytes and bytes, optional
        Pattern of rows of another form, and the replacement that turns them into rows of this layout.

    """

    what: str
    columns: tuple[str, ...]
    value: int
    dtype: type[np.generic]
    parse: Callable[[bytes], float | int | None]
    expected: str
    extra: bool = False
    once: str = ""
    other_values: str = ""
    query: int = 0
    doc: int = 2
    fewer: Sequence[tuple[str, ...]] = ()
    other: tuple[re.Pattern[bytes], bytes] | None = None

    @property
    def named(self) -> str:
        """Number and names of the columns, for errors."""
        return f"{len(self.columns)} columns ({' '.join(self.columns)})"

    def of_names(self, names: Sequence[str]) -> Layout | None:
        """Return the layout of columns with such names, whatever their order; None where they do not say it."""
        kinds = (LABEL,) if self.what != RUNS else (SCORE, RANK)
        found = [at for at in (first_column(names, kind) for kind in kinds) if at is not None]
        doc = first_column(names, DOC_ID)
        if doc is None or not found:
            return None
        query = first_column(names, QUERY_ID) or 0  # the first column may have any name
        if query in (doc, *found):
            return None
        made = replace(self, columns=tuple(names), query=query, doc=doc, value=found[0], extra=False, fewer=())
        has_ranks = plain_name(names[found[0]]) == RANK
        return replace(made, dtype=np.int64, parse=parse_rank, expected="a rank from 1") if has_ranks else made

    def begins(self, fields: Sequence[bytes]) -> bool:
        """Return whether a first row can be one of this layout.

        A score is no whole number, a rank is one, and the second column is not the 0 of qrels.
        """
        is_score = self.dtype is not np.float64 or parse_rank(fields[self.value]) is None
        has_rank = RANK not in self.columns or parse_rank(fields[self.columns.index(RANK)]) is not None
        is_value = self.parse(fields[self.value]) is not None
        is_value |= self.what != RUNS and bool(_GRADE.fullmatch(fields[self.value]))  # is refused by its line
        return is_score and has_rank and fields[1] != b"0" and is_value


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in the order of the file.

    Parameters
    ----------
    names : list of str
        Query id of each group.
    lengths : ndarray of shape (n_groups,) and dtype int64
        Number of rows of each group.
    doc_ids : ndarray of shape (n_rows,) and dtype bytes
        Document ids in UTF-8.
    codes : ndarray of shape (n_rows,) and dtype uint64
        Hash codes of the document ids, see `row_codes`.
    values : ndarray of shape (n_rows,)
        The numbers, of the layout's dtype.
    lines : list of range
        Line numbers of the rows.
    tag : str
        Last column of the first row.
    layout : Layout
        The layout of the file.

    """

    names: list[str]
    lengths: Ints
    doc_ids: NDArray[Any]
    codes: Words
    values: NDArray[Any]
    lines: list[range]
    tag: str
    layout: Layout


def read_table(path: FileLike, layout: Layout, chunk_bytes: int = CHUNK_BYTES) -> tuple[Ids, Ints, Rows]:
    """Return query ids by first appearance, their pointers, and the rows of a file of columns, grouped by query.

    A document that is repeated within a query is refused.
    """
    path = check_file(path, f"a {layout.what} file")
    parts = [part for part in _parts(path, layout, chunk_bytes) if len(part.values)]
    if not parts:
        raise FileFormatError(path, None, f"expected lines of {layout.named}, got no line. Name a file with rows.")
    rows = parts[0]
    if len(parts) > 1:
        arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
        names = [name for part in parts for name in part.names]
        rows = replace(rows, names=names, lines=[lines for part in parts for lines in part.lines], **arrays)
    numbers: dict[str, int] = {}
    query_of_group = np.array([numbers.setdefault(name, len(numbers)) for name in rows.names], dtype=np.int64)
    names = list(numbers)
    query_ptr = pointers(np.bincount(query_of_group, rows.lengths, len(names)).astype(np.int64))
    query = np.repeat(query_of_group, rows.lengths)
    codes = rows.codes + query.astype(np.uint64) * ODD
    refuse_repeats(path, names, query, rows.doc_ids, chain.from_iterable(rows.lines), codes, layout.once)
    if (query_of_group[1:] < query_of_group[:-1]).any():
        order = np.argsort(query, kind="stable")
        rows = replace(rows, doc_ids=rows.doc_ids[order], values=rows.values[order])
    return id_array(names), query_ptr, rows


def _parts(path: Path, layout: Layout, chunk_bytes: int) -> Iterator[Rows]:
    """Yield the rows of each chunk, in the order of the file."""

    def split(line: int, chunk: bytes) -> Rows:
        return _split_fast(line, chunk, layout) or _split_by_line(path, line, chunk, layout)

    # Freeing a block of this size raises glibc's mmap threshold, so that it reuses the memory of chunks instead of
    # returning it to the system, which would take a tenth of the time of an evaluation.
    np.empty(REUSED_BYTES, dtype=np.uint8)
    waiting: deque[Future[Rows]] = deque()
    with ThreadPoolExecutor(NUMPY_THREADS) as pool:
        for line, chunk in chunks(path, chunk_bytes):
            if line == 1:
                layout, header = _layout_of(chunk, layout)
                line = line + bool(header)
                chunk = chunk[header:]
            if layout.other is not None and b"qid:" in chunk:
                chunk = layout.other[0].sub(layout.other[1], chunk)
            waiting.append(pool.submit(split, line, chunk))
            if len(waiting) > 2 * NUMPY_THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _layout_of(chunk: bytes, layout: Layout) -> tuple[Layout, int]:
    """Return the layout of a file by its first row, and the number of bytes of a line that names the columns."""
    rows = (raw for raw in io.BytesIO(chunk) if raw.strip() and not raw.startswith(b"#"))
    first = next(rows, b"")
    fields = first.split()
    names = [field.decode("utf-8", "replace") for field in fields]
    names = [""] * first[:1].isspace() + names  # of an index, which pandas does not name
    has_names = chunk.startswith(first) and bool(fields) and is_header(names[-len(fields)])
    named = layout.of_names(names) if chunk.startswith(first) else None
    if named is not None:
        return named, len(first)
    fewer = [layout.of_names(names) for names in layout.fewer if len(names) == len(fields)]
    if not fewer or _are_figures(fields):
        has_names &= len(fields) == len(layout.columns) and layout.parse(fields[layout.value]) is None
        return layout, has_names * len(first)
    return next((other for other in fewer if other and not has_names and other.begins(fields)), layout), 0


def _are_figures(fields: list[bytes]) -> bool:
    """Return whether a row is one that an evaluation prints: [run] measure [query] figure, or query measure figure."""
    return len(fields) < 5 and any(map(_MEASURE.fullmatch, fields[:2]))


def _split_fast(line: int, chunk: bytes, layout: Layout) -> Rows | None:
    """Split a chunk without a Python loop over rows, or return None where it has to be read line by line."""
    padded = chunk + b" " * PADDING
    bounds = _column_bounds(chunk, np.frombuffer(padded, dtype=np.uint8), len(layout.columns))
    if bounds is None:
        return None
    starts, lengths = bounds
    if lengths[:, (layout.query, layout.doc, layout.value)].max() > WIDEST:
        return None
    windows = np.ndarray((len(chunk) + WIDEST,), "<u8", padded, 0, (1,))  # the word that begins at each byte
    number = starts[:, layout.value], lengths[:, layout.value]
    values, parsed = parse_decimals(windows, *number, layout.dtype is np.int64)
    others = np.flatnonzero(~parsed)
    for row, start, length in np.column_stack([others, number[0][others], number[1][others]]).tolist():
        value = layout.parse(padded[start : start + length])
        if value is None:
            return None
        values[row] = value
    queries = _words(windows, starts[:, layout.query], lengths[:, layout.query])
    docs = _words(windows, starts[:, layout.doc], lengths[:, layout.doc])
    changed = np.zeros(len(queries), dtype=np.bool_)
    for word in queries.T:
        changed[1:] |= word[1:] != word[:-1]
    changed[0] = True
    first = np.flatnonzero(changed)
    names = _as_bytes(queries[first])
    if np.char.startswith(names, b"#").any():
        return None
    return Rows(
        names.astype(np.str_).tolist(),
        np.diff(first, append=len(queries)),
        _as_bytes(docs),
        row_codes(np.zeros(len(docs), dtype=np.int64), _as_bytes(docs)),
        values,
        [range(line, line + len(docs))],
        chunk[starts[0, -1] : starts[0, -1] + lengths[0, -1]].decode("ascii"),
        layout,
    )


def _column_bounds(chunk: bytes, letters: NDArray[np.uint8], n_columns: int) -> tuple[Ints, Ints] | None:
    """Return first byte and length of every column, (n_rows, n_columns) each."""
    blank = letters <= ord(" ")
    n_lines = np.count_nonzero(letters == ord("\n"))
    if not chunk or blank[0] or not chunk.isascii():
        return None
    tabs_and_returns = np.count_nonzero(letters == ord("\t")) + np.count_nonzero(letters == ord("\r"))
    if np.count_nonzero(letters < ord(" ")) != n_lines + tabs_and_returns:
        return None
    ends = np.flatnonzero(blank[1:] > blank[:-1]) + 1
    if len(ends) != n_lines * n_columns:
        return None
    single = np.count_nonzero(blank) == len(ends) + PADDING
    starts = np.empty_like(ends)
    starts[0] = 0
    np.add(ends[:-1] if single else np.flatnonzero(blank[1:] < blank[:-1]), 1, out=starts[1:])
    # As many newlines as rows, and one directly before each row: no row has a newline in it, and no line is blank.
    if (letters[starts[n_columns::n_columns] - 1] != ord("\n")).any():
        return None
    return starts.reshape(-1, n_columns), (ends - starts).reshape(-1, n_columns)


def _words(windows: Words, starts: Ints, lengths: Ints) -> Words:
    """Return one column as (n_rows, width) words, padded with 0."""
    words = np.empty((len(starts), -(-int(lengths.max()) // 8)), dtype="<u8")
    for index in range(words.shape[1]):
        word = windows[starts + 8 * index]
        np.bitwise_and(word, FIRST_BYTES[np.clip(lengths - 8 * index, 0, 8)], out=words[:, index])
    return words


def _as_bytes(words: Words) -> Bytes:
    return words.view(f"S{8 * words.shape[1]}")[:, 0]


def _split_by_line(path: Path, first_line: int, chunk: bytes, layout: Layout) -> Rows:
    """Split a chunk line by line; each row is a group of its own."""
    rows = []
    commented = []  # lines of comments that may be rows of a query whose id begins with #
    for line, raw in enumerate(chunk.split(b"\n"), first_line):
        fields = raw.split()
        if fields and not raw.startswith(b"#"):
            rows.append((range(line, line + 1), *of_line(path, line, _checked, fields, layout)))
        elif len(fields) == len(layout.columns) and layout.parse(fields[layout.value]) is not None:
            commented.append(line)
    if commented:
        log.warning(
            "%s:%d: a line that begins with # is a comment, but has the columns of a row (%s). Where it is one, "
            "write the id of the query without #.",
            path,
            commented[0],
            counted(len(commented), "such line"),
        )
    lines, values, queries, docs, tags = map(list, zip(*rows, strict=True)) if rows else ([] for _ in range(5))
    doc_ids = id_bytes(id_array(docs))
    codes = row_codes(np.zeros(len(rows), dtype=np.int64), doc_ids)
    ones = np.ones(len(rows), dtype=np.int64)
    return Rows(queries, ones, doc_ids, codes, np.array(values, layout.dtype), lines, tags[0] if tags else "", layout)


def _checked(fields: list[bytes], layout: Layout) -> tuple[float | int, str, str, str]:
    """Return the number, query id, document id and last column of a line; refuse a wrong number of columns."""
    missing = len(layout.columns) - len(fields)
    # A space in a document id shifts the columns after it: column 3 is then not a whole number.
    shifted = missing < 0 and not (layout.extra and fields[3].lstrip(b"-").isdigit())
    if missing > 0 or shifted:
        is_run = layout.what == RUNS
        second = b"".join(fields[1:2])
        s = "s" * (missing > 1)
        ways = (
            (
                fields[0].startswith((b"{", b"[")),
                "Pass json.load(f) of {query: {document: value}}, pandas.read_json(f, lines=True, dtype=False) of "
                "rows; of other JSON, write lines with `jq` (docs/file-formats.md)",
            ),
            (len(fields) == 6 and not is_run and second == b"Q0", "Name judgements: this is a row of a run"),
            (
                shifted and not is_run and layout.parse(b"".join(fields[layout.value : layout.value + 1])) is not None,
                DROP_COLUMNS,
            ),
            (re.search(rb"[,;|]", fields[0] + fields[-1]), "Read CSV with pandas, ids as text, and pass the frame"),
            (shifted, "Ids may hold no white space: write _"),
            (missing == 2 and not layout.extra, "Of relevant documents alone, `awk '{print $1, 0, $2, 1}'`"),
            (missing == 2 and second == b"0", "Name a run: this is a row of judgements"),
            (second.startswith(b"qid:"), "Of a judgement list, write `# DOCUMENT` at the end of each line"),
            (_are_figures(fields), "These are figures of an evaluation: name what was evaluated"),
            (True, f"Write the missing column{s}, name those of all lines in a first one, or delete the line"),
        )
        remedy = next(way for holds, way in ways if holds)
        raise LineFault(f"expected {layout.named}, got {len(fields)}. {remedy}.")
    name = layout.columns[layout.value]
    remedy = f"Correct the {name}{layout.other_values}"
    value = value_of(layout.parse, fields[layout.value], f"{layout.expected} as {name}", remedy)
    query = text(fields[layout.query])
    doc = text(fields[layout.doc])
    check_ids("", [query], [doc])
    return value, query, doc, text(fields[len(layout.columns) - 1])


def parse_decimals(
    windows: Words, starts: Ints, lengths: Ints, whole_numbers: bool
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return numbers of the form `[-]digits[.digits]` with at most 19 digits.

    Shapes: starts, lengths int64 (n,); numbers (n,); parsed bool (n,).
    """
    first = windows[starts]
    negative = (first & _BYTE) == ord("-")
    if negative.any():
        starts = starts + negative
        lengths = lengths - negative
        first = windows[starts]
    dot = first ^ _EACH * np.uint64(ord("."))
    dot = (dot - _EACH) & ~dot & _HIGH  # the lowest set bit marks the first dot
    whole = np.minimum(np.bitwise_count(~dot & (dot - np.uint64(1))) >> 3, lengths)
    decimals = np.maximum(lengths - whole - 1, 0)
    digits, not_digits = _digits(first, whole)
    for offset in range(0, min(int(decimals.max()), 24), 8):
        count = np.clip(decimals - offset, 0, 8)
        more, not_digits_either = _digits(windows[starts + whole + (1 + offset)], count)
        digits = digits * _TENS[count] + more
        not_digits |= not_digits_either
    parsed = (not_digits == 0) & (whole + decimals > 0) & (whole + decimals < 20)
    if whole_numbers:
        return np.where(negative, -digits.astype(np.int64), digits.astype(np.int64)), parsed & (lengths == whole)
    parsed &= (whole < 8) | (lengths == whole)
    values, certain = _quotients(digits * parsed, np.minimum(decimals, 19))
    return np.negative(values, out=values, where=negative), parsed & certain


def _quotients(digits: Words, decimals: Ints) -> tuple[Floats, NDArray[np.bool_]]:
    """Return digits / 10**decimals as float64, rounded once, and where that is certain.

    10**decimals is exact, and so are digits below 2**53: one division then rounds correctly (Clinger 1990, How to read
    floating point numbers accurately). Others are divided in double-double arithmetic (Dekker 1971); a quotient that
    may be halfway between two float64 is not certain.
    """
    quotients = digits / _POWERS[decimals]
    certain = np.ones(len(digits), dtype=np.bool_)
    large = np.flatnonzero(digits >> np.uint64(53))
    if len(large):
        upper = digits[large].astype(np.float64)
        power = _POWERS[decimals[large]]
        quotient = quotients[large]
        lower = (digits[large] - upper.astype(np.uint64)).view(np.int64)
        product, (high, low), (power_high, power_low) = quotient * power, _halves(quotient), _halves(power)
        error = ((high * power_high - product) + high * power_low + low * power_high) + low * power_low
        rest = ((upper - product) - error + lower) / power
        quotients[large] = quotient + rest
        certain[large] = quotient + rest * (1 - 1e-9) == quotient + rest * (1 + 1e-9)
    return quotients, certain


def _halves(numbers: Floats) -> tuple[Floats, Floats]:
    """Return the upper and lower 26 bits of float64 numbers (Veltkamp's split)."""
    scaled = numbers * float((1 << 27) + 1)
    upper = scaled - (scaled - numbers)
    return upper, numbers - upper


def _digits(word: Words, count: Ints) -> tuple[Words, Words]:
    """Return the number in the first `count` bytes of each word, and a mask that is not 0 where a byte is no digit.

    One multiplication joins pairs of digits, another pairs of pairs (Lemire 2018, Quickly parsing eight digits).
    """
    digits = (word ^ _EACH * np.uint64(ord("0"))) << (64 - 8 * count).astype(np.uint64)
    not_digits = (digits + _EACH * np.uint64(0x7F - 9)) & _HIGH
    digits = digits * np.uint64(10) + (digits >> np.uint64(8))
    upper = (digits >> np.uint64(16)) & _PAIRS
    digits &= _PAIRS
    digits *= np.uint64(100 + (1000000 << 32))
    digits += upper * np.uint64(1 + (10000 << 32))
    digits >>= np.uint64(32)
    return digits, not_digits


def parse_rank(token: bytes) -> int | None:
    """Return a whole number of 64 bits, or None."""
    try:
        label = int(token)
    except ValueError:
        return None
    return label if INT64.min <= label <= INT64.max and b"_" not in token else None

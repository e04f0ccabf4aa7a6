"""Rows of SVMlight text, chunk by chunk: `label qid:Q feature:value … # comment`.

pair    one `feature:value`
NumPy parses all pairs of a chunk at once. If that fails, they are parsed one by one, to name the first wrong pair.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, shown
from rerank.files.source import OnFault, finite_number, number_or_nan, refuse, text
from rerank.files.svmlight_header import Header
from rerank.runtime.memory import MOST_UNPACKED
from rerank.types import Floats, Ints
from rerank.types.ids import ID_RULE, MOST_LETTERS

MOST_FEATURES = 100_000  # a larger number is taken for an error: the matrix is dense
MOST_DENSE = 1000  # times the bytes of the text that its dense rows may have, if these are many
_DOC = re.compile(rb"\bdocid\s*=\s*(\S+)(?:\s+base\s*=\s*(\S+))?")


@dataclass
class Rows:
    """Rows of one chunk.

    Parameters
    ----------
    lines : list of int
        Line numbers, 1-based.
    labels : list of float
        Labels.
    queries : list of str or None
        The text after `qid:`, None if a row has none.
    doc_ids : list of str
        Document ids.
    bases : list of float or None
        The number after `base =`, None if a row has none.
    X : ndarray of shape (n_rows, largest_feature) and dtype float32
        The features, 0 where a row has no pair.

    """

    lines: list[int] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    queries: list[str | None] = field(default_factory=list)
    doc_ids: list[str] = field(default_factory=list)
    bases: list[float | None] = field(default_factory=list)
    X: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))


@dataclass(frozen=True)
class Pairs:
    """The pairs of some rows: line and number of pairs of each row, feature and value of each pair."""

    lines: list[int]
    counts: Ints
    features: Ints
    values: Floats


def split_rows(
    path: Path, first_line: int, chunk: bytes, header: Header, in_header: bool, on_fault: OnFault = refuse
) -> Rows:
    """Parse a chunk of complete lines."""
    rows, pairs = Rows(), []
    for line, raw in enumerate(chunk.split(b"\n"), first_line):
        body, _, comment = raw.partition(b"#")
        columns = body.split(None, 2)
        if columns:
            try:
                pairs.append(_begin_row(path, line, columns, comment, rows))
            except FileFormatError as fault:
                on_fault(fault)
        elif in_header and not rows.lines:
            header.take(line, comment)
    most_bytes = max(MOST_UNPACKED, MOST_DENSE * len(chunk))
    parsed = _pairs_at_once(b" ".join(filter(None, pairs)))
    if parsed is not None:
        counts = np.array([row.count(b":") for row in pairs], dtype=np.int64)
        parsed_pairs = Pairs(rows.lines, counts, *parsed)
    else:
        parsed_pairs = Pairs(rows.lines, *_pairs_one_by_one(path, rows.lines, pairs, on_fault))
    rows.X = _dense(path, parsed_pairs, most_bytes, on_fault)
    return rows


def _begin_row(path: Path, line: int, columns: list[bytes], comment: bytes, rows: Rows) -> bytes:
    """Append the label, query and comment of a line to the rows; return its pairs. `columns` is split at most twice."""
    label = finite_number(columns[0])
    if label is None:
        raise FileFormatError(
            path, line, f"expected a finite number as label, got {shown(columns[0])}. Correct the label."
        )
    has_query = len(columns) > 1 and columns[1].startswith(b"qid:")
    if has_query and len(columns[1]) == 4:
        raise FileFormatError(path, line, "expected a query id after `qid:`, got none. Write it.")
    query = _checked_id(path, line, "query", columns[1][4:]) if has_query else None
    _read_comment(path, line, comment, rows)
    rows.lines.append(line)
    rows.labels.append(label)
    rows.queries.append(query)
    return b" ".join(columns[2 if has_query else 1 :]).rstrip()


def _checked_id(path: Path, line: int, what: str, raw: bytes) -> str:
    """Return an id as text; refuse one that is too long."""
    name = text(path, line, raw)
    if len(name) > MOST_LETTERS:
        raise FileFormatError(path, line, f"expected a {what} id {ID_RULE}, got {len(name)}. Shorten it.")
    return name


def _read_comment(path: Path, line: int, comment: bytes, rows: Rows) -> None:
    """Append the document id and base score of a row's comment to the rows."""
    match = _DOC.search(comment)
    doc_id = _checked_id(path, line, "document", match[1]) if match else str(line)
    base = finite_number(match[2]) if match and match[2] is not None else None
    if match and match[2] is not None and base is None:
        raise FileFormatError(
            path, line, f"expected a finite number as base, got {shown(match[2])}. Correct the base score."
        )
    rows.doc_ids.append(doc_id)
    rows.bases.append(base)


def _pairs_at_once(joined: bytes) -> tuple[Ints, Floats] | None:
    """Return feature numbers and values of all pairs of a chunk, or None if one is wrong."""
    if not joined:
        return np.zeros(0, np.int64), np.zeros(0)
    if b"  " in joined or b"\t" in joined:
        joined = b" ".join(joined.split())
    letters = np.frombuffer(joined, dtype=np.uint8)
    separators = np.flatnonzero((letters == ord(":")) | (letters == ord(" ")))
    if not _alternate(letters, separators):
        return None
    numbers = _numbers(joined.replace(b":", b" "))
    if numbers is None or len(numbers) != len(separators) + 1:
        return None
    features, values = numbers[::2], numbers[1::2]
    if not _are_features(features).all() or np.isinf(_as_float32(values)).any():
        return None
    return features.astype(np.int64), values


def _alternate(letters: NDArray[np.uint8], separators: Ints) -> bool:
    """Return whether `:` and space alternate, from `:` to `:`, with text before and after each."""
    marks = letters[separators]
    return bool(
        len(separators) % 2 == 1
        and separators[0] > 0
        and separators[-1] < len(letters) - 1
        and (np.diff(separators) > 1).all()
        and (marks[::2] == ord(":")).all()
        and (marks[1::2] == ord(" ")).all()
    )


def _numbers(spaced: bytes) -> Floats | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # NumPy before 2.3 warns where later ones raise
        try:
            return np.fromstring(spaced, dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            return None


def _are_features(numbers: Floats) -> NDArray[np.bool_]:
    return (numbers >= 1) & (numbers <= MOST_FEATURES) & (numbers == np.floor(numbers))  # type: ignore[no-any-return]


def _as_float32(values: Floats) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _pairs_one_by_one(path: Path, lines: list[int], pairs: list[bytes], on_fault: OnFault) -> tuple[Ints, Ints, Floats]:
    """Return the number of correct pairs in each row, and their feature numbers and values."""
    parsed: list[tuple[float, float]] = []
    ends: list[int] = []
    for line, row in zip(lines, pairs, strict=True):
        for pair in row.split():
            try:
                parsed.append(_pair(path, line, pair))
            except FileFormatError as fault:
                on_fault(fault)
        ends.append(len(parsed))
    features, values = np.array(parsed, dtype=np.float64).reshape(-1, 2).T
    return np.diff(ends, prepend=0), features.astype(np.int64), values


def _pair(path: Path, line: int, pair: bytes) -> tuple[float, float]:
    name, colon, rest = pair.partition(b":")
    feature, value = finite_number(name), number_or_nan(rest)
    if not colon:
        raise FileFormatError(
            path, line, f"expected feature:value, got {shown(pair)}. Write the feature's number before it."
        )
    if feature is None or not _are_features(np.array([feature])).all():
        raise FileFormatError(
            path,
            line,
            f"expected a feature number from 1 to {MOST_FEATURES}, got {shown(name)} in {shown(pair)}. "
            "Number the features 1, 2, 3.",
        )
    if value is None or np.isinf(_as_float32(np.array([value]))).any():
        raise FileFormatError(
            path,
            line,
            f"expected a finite float32 or nan as value, got {shown(rest)} in {shown(pair)}. "
            "Correct it, or write nan for a missing value.",
        )
    return feature, value


def _dense(path: Path, pairs: Pairs, most_bytes: int, on_fault: OnFault) -> NDArray[np.float32]:
    """Return the features of rows, (n_rows, largest feature)."""
    features, n_rows = pairs.features, len(pairs.lines)
    row = np.repeat(np.arange(n_rows), pairs.counts)
    largest = int(features.max(initial=0))
    if 4 * n_rows * largest > most_bytes:
        line = pairs.lines[row[np.argmax(features)]]
        raise FileFormatError(
            path,
            line,
            f"expected features whose dense rows have at most {most_bytes:,} bytes, got feature {largest} in one of "
            f"{n_rows} rows. Number the features that are used 1, 2, 3.",
        )
    ascending = (features[1:] > features[:-1]) | (row[1:] != row[:-1])
    if not ascending.all():
        _report_repeats(path, pairs.lines, row, features, on_fault)
    X = np.zeros((n_rows, largest), dtype=np.float32)
    X[row, features - 1] = _as_float32(pairs.values)
    return X


def _report_repeats(path: Path, lines: list[int], row: Ints, features: Ints, on_fault: OnFault) -> None:
    """Call `on_fault` for every repeated feature in a row; features may be in any order."""
    order = np.lexsort((features, row))
    same = (features[order][1:] == features[order][:-1]) & (row[order][1:] == row[order][:-1])
    for pair in order[1:][same].tolist():
        message = f"expected each feature once in a row, got feature {features[pair]} again. Keep one of its values."
        on_fault(FileFormatError(path, lines[row[pair]], message))

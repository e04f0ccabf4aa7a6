"""Rows of svmlight text, chunk by chunk: `label qid:Q feature:value … # comment`.

pair    one `feature:value`
The pairs of a chunk are parsed by NumPy in one go; where that fails, one by one, which names the
first pair that is wrong.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError
from rerank.files.source import OnFault, finite_number, number_or_nan, refuse, shown, text
from rerank.files.svmlight_header import Header
from rerank.types import Floats, Ints
from rerank.types.ids import ID_RULE, MOST_LETTERS

MOST_FEATURES = 100_000  # a dense matrix of more columns is a mistake in the ids
_DOC = re.compile(rb"\bdocid\s*=\s*(\S+)(?:\s+base\s*=\s*(\S+))?")


@dataclass
class Rows:
    """Rows of one chunk.

    queries  the text after `qid:`, None where a row has none
    bases    the number after `base =`, None where a row has none
    X        (n_rows, largest feature id) float32, 0 where a row has no pair
    """

    lines: list[int] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    queries: list[str | None] = field(default_factory=list)
    doc_ids: list[str] = field(default_factory=list)
    bases: list[float | None] = field(default_factory=list)
    X: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))


def split_rows(
    path: Path, first_line: int, chunk: bytes, header: Header, in_header: bool, on_fault: OnFault = refuse
) -> Rows:
    """Parse a chunk of whole lines; comment lines before the first row of the file go to the header.

    `on_fault` is told of what is wrong: of a row, which is left out, of a pair, which is left out, or of a feature that
    returns in a row, of which the last value is kept.
    """
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
    parsed = _pairs_at_once(b" ".join(filter(None, pairs)))
    if parsed is not None:
        counts = np.array([row.count(b":") for row in pairs], dtype=np.int64)
        rows.X = _dense(path, rows.lines, counts, *parsed, on_fault)
    else:
        rows.X = _dense(path, rows.lines, *_pairs_one_by_one(path, rows.lines, pairs, on_fault), on_fault)
    return rows


def _begin_row(path: Path, line: int, columns: list[bytes], comment: bytes, rows: Rows) -> bytes:
    """Take label, query and comment of a line (split at most twice); return its pairs."""
    label = finite_number(columns[0])
    if label is None:
        raise FileFormatError(
            path, line, f"expected a finite number as label, got {shown(columns[0])}. Correct the label."
        )
    has_query = len(columns) > 1 and columns[1].startswith(b"qid:")
    if has_query and len(columns[1]) == 4:
        raise FileFormatError(path, line, "expected a query id after `qid:`, got none. Write it.")
    query = _checked_id(path, line, "query", columns[1][4:]) if has_query else None
    _take_comment(path, line, comment, rows)
    rows.lines.append(line)
    rows.labels.append(label)
    rows.queries.append(query)
    return b" ".join(columns[2 if has_query else 1 :]).rstrip()


def _checked_id(path: Path, line: int, what: str, raw: bytes) -> str:
    """Return the text of an id, which white space parts from the rest of the line."""
    name = text(path, line, raw)
    if len(name) > MOST_LETTERS:
        raise FileFormatError(path, line, f"expected a {what} id {ID_RULE}, got {len(name)}. Shorten it.")
    return name


def _take_comment(path: Path, line: int, comment: bytes, rows: Rows) -> None:
    found = _DOC.search(comment)
    doc_id = _checked_id(path, line, "document", found[1]) if found else str(line)
    base = finite_number(found[2]) if found and found[2] is not None else None
    if found and found[2] is not None and base is None:
        raise FileFormatError(
            path, line, f"expected a finite number as base, got {shown(found[2])}. Correct the base score."
        )
    rows.doc_ids.append(doc_id)
    rows.bases.append(base)


def _pairs_at_once(joined: bytes) -> tuple[Ints, Floats] | None:
    """Return feature ids and values of all pairs of a chunk, or None where one is not right."""
    if not joined:
        return np.zeros(0, np.int64), np.zeros(0)
    if b"  " in joined or b"\t" in joined:
        joined = b" ".join(joined.split())
    letters = np.frombuffer(joined, dtype=np.uint8)
    parts = np.flatnonzero((letters == ord(":")) | (letters == ord(" ")))
    if not _alternate(letters, parts):
        return None
    numbers = _numbers(joined.replace(b":", b" "))
    if numbers is None or len(numbers) != len(parts) + 1:
        return None
    features, values = numbers[::2], numbers[1::2]
    if not _are_features(features).all() or np.isinf(_as_float32(values)).any():
        return None
    return features.astype(np.int64), values


def _alternate(letters: NDArray[np.uint8], parts: Ints) -> bool:
    """Whether `:` and space stand in turn, beginning and ending with `:`, with something around each."""
    marks = letters[parts]
    return bool(
        len(parts) % 2 == 1
        and parts[0] > 0
        and parts[-1] < len(letters) - 1
        and (np.diff(parts) > 1).all()
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
    """Return the number of right pairs in each row, and their feature ids and values."""
    found: list[tuple[float, float]] = []
    ends: list[int] = []
    for line, row in zip(lines, pairs, strict=True):
        for pair in row.split():
            try:
                found.append(_pair(path, line, pair))
            except FileFormatError as fault:
                on_fault(fault)
        ends.append(len(found))
    features, values = np.array(found, dtype=np.float64).reshape(-1, 2).T
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


def _dense(
    path: Path, lines: list[int], counts: Ints, features: Ints, values: Floats, on_fault: OnFault
) -> NDArray[np.float32]:
    row = np.repeat(np.arange(len(lines)), counts)
    ascending = (features[1:] > features[:-1]) | (row[1:] != row[:-1])
    if not ascending.all():
        _find_repeats(path, lines, row, features, on_fault)
    X = np.zeros((len(lines), int(features.max(initial=0))), dtype=np.float32)
    X[row, features - 1] = _as_float32(values)
    return X


def _find_repeats(path: Path, lines: list[int], row: Ints, features: Ints, on_fault: OnFault) -> None:
    """Tell of every row that holds a feature twice; features in any order are right."""
    order = np.lexsort((features, row))
    same = (features[order][1:] == features[order][:-1]) & (row[order][1:] == row[order][:-1])
    for place in order[1:][same].tolist():
        wrong = f"expected each feature once in a row, got feature {features[place]} again. Keep one of its values."
        on_fault(FileFormatError(path, lines[row[place]], wrong))

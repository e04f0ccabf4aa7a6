"""Features and labels in the text format of LETOR, SVMlight and LightGBM: one line for each document.

    # features: bm25 length
    # rerank: {"version": 1, "recipe": {…}}
    2 qid:q1 1:12.5 2:140 # docid = GX008-86-4444840 base = 12.5

- A row is label, query, then pairs `feature:value` in any order, with features numbered from 1. A feature without a
  pair is 0, as the format defines; `nan` is a missing value. A repeated feature in a row is refused.
- The comment may have the document id (`docid = X`) and the base score (`base = S`, in all rows or none). Where no row
  has `docid =`, the id is the first word of the comments if every row has one and none is twice in a query (as RankLib
  and SVMrank write them), else the line number, and the log says that there are other comments.
- Rows of a query need not be adjacent; queries are ordered by their first row.
- If no row has `qid:`, the numbers of rows of successive queries are read from LightGBM's companion file: the path with
  `.query` added, one number a line. The queries are then named 1, 2, …
- `write_svmlight` adds the two header comments, so that everything but queries without rows can be read again; other
  programs take them for comments. `# features:` has the names of features 1, 2, …; `# rerank:` has JSON with the
  members of `_MEMBERS`. Of these, `labels` is false if there are no judgements (the rows then have label 0), and
  `ideal` has the positive labels of each query, best first, with those of documents without a row.

Lines are read chunk by chunk, and NumPy parses all pairs of a chunk at once. If that fails, they are parsed one by one,
to name the first wrong pair.
"""

from __future__ import annotations

import json
import logging
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.rows import (
    NOT_STORED,
    SHARED,
    STORED,
    RowTable,
    faults_of,
    ideal_arrays,
    numbered,
    of_queries,
    query_ptr,
    refuse_repeats,
    repeated_row,
    stored_members,
)
from rerank.files.source import (
    LineFault,
    check_file,
    chunks,
    filled_lines,
    finite_number,
    number_or_nan,
    of_line,
    parse_json,
    text,
)
from rerank.runtime.output import whole_file
from rerank.runtime.schema import Array, Flag, Number, Record, SchemaError, Table, Whole
from rerank.types import Floats, Ints, RankingData
from rerank.types.ids import ID_RULE, MOST_LETTERS, first_broken, id_array, id_bytes
from rerank.types.ranking_data import BOTH, LISTED, UNLISTED

log = logging.getLogger("rerank")
VERSION = 1
FEATURES = "features:"
MEMBERS = "rerank:"
_WIDEST = float(np.finfo(np.float64).max)
_OPTIONAL: dict[str, Any] = {
    "labels": True,
    "weights": None,
    "row_weights": None,
    "ideal": None,
    **NOT_STORED,
}
_MEMBERS = Record(
    {
        "version": Whole(VERSION, VERSION),
        "labels": Flag(),
        "weights": Table(Number(-_WIDEST, _WIDEST)),
        "row_weights": Table(Array(low=-_WIDEST, high=_WIDEST)),
        "ideal": Table(Array()),
        **STORED,
    },
    _OPTIONAL,
)
MOST_FEATURES = 100_000  # a larger number is taken for an error: the matrix is dense
LEAST_DENSE = 1 << 28  # bytes that dense rows of a chunk of any size may have
MOST_DENSE = 1000  # times the bytes of the text that its dense rows may have, if these are many
_DOC = re.compile(rb"\bdoc(?:id|no|_id)\s*[=:]\s*(\S+)(?:\s+base\s*=\s*(\S+))?")
NO_QUERY = ""  # of a row without `qid:`; an id is never empty
MOST_DIGITS = 18  # of a number of rows


@dataclass
class Header:
    """The content of the comment lines before the first row; `line` is that of the last one."""

    path: Path
    line: int | None = None
    feature_names: tuple[str, ...] | None = None
    stored: dict[str, Any] | None = None

    @property
    def members(self) -> dict[str, Any]:
        """The members of `# rerank:`, with defaults for those that it does not have."""
        return _OPTIONAL if self.stored is None else self.stored

    def take(self, line: int, comment: bytes) -> None:
        """Read a comment line (without its #)."""
        words = comment.strip()
        for beginning, seen in ((FEATURES, self.feature_names), (MEMBERS, self.stored)):
            if not words.startswith(beginning.encode()):
                continue
            if seen is not None:
                raise FileFormatError(
                    self.path, line, f"expected one comment `# {beginning}`, got another. Remove one of the two."
                )
            self.line = line
            content = words.removeprefix(beginning.encode())
            if beginning == FEATURES:
                self.feature_names = of_line(self.path, line, _names, content.split())
            else:
                self.stored = self._members(line, of_line(self.path, line, text, content))

    def _members(self, line: int, raw: str) -> dict[str, Any]:
        members = parse_json(raw, self.path, line, f"JSON after `# {MEMBERS}`", "Write the file anew")
        try:
            return _MEMBERS.read(members, {})
        except SchemaError as error:
            message = error.fault("Update rerank, or write the file anew with rerank.write_data.")
            raise FileFormatError(self.path, line, message) from None

    def names(self, n_features: int) -> tuple[str, ...]:
        """Return the name of every feature: those of the header, by default "1", "2", …"""
        if self.feature_names is None:
            return tuple(str(number) for number in range(1, n_features + 1))
        if len(self.feature_names) < n_features:
            raise FileFormatError(
                self.path,
                self.line,
                f"expected names for {n_features} features, got {len(self.feature_names)}. "
                "Name them all, or remove the comment.",
            )
        return self.feature_names


def _names(words: list[bytes]) -> tuple[str, ...]:
    """Return feature names as text; refuse those that could not be written again."""
    names = tuple(map(text, words))
    broken = first_broken(list(names))
    if broken is not None:
        raise LineFault(f"expected feature names {ID_RULE} or NUL, got {shown(broken)}. Rename the feature.")
    return names


def header_lines(data: RankingData) -> Iterator[str]:
    """Yield the comment lines for the data that rows cannot hold."""
    broken = first_broken(list(data.feature_names)) if data.n_features else None
    if broken is not None:
        raise InvalidInputError(
            f"data: expected feature names without white space, got {broken!r}. Rename it, or write to a .npz file."
        )
    yield " ".join([f"# {FEATURES}", *data.feature_names]) + "\n"
    members = _header_members(data)
    if members:
        yield f"# {MEMBERS} {json.dumps({'version': VERSION, **members}, ensure_ascii=False)}\n"


def _header_members(data: RankingData) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if data.labels is None:
        members["labels"] = False
    if data.row_weights is not None:
        members["row_weights"] = {query: data.row_weights[data.rows(query)].tolist() for query in data}
    if data.weights is not None:
        members["weights"] = dict(zip(data, data.weights.tolist(), strict=True))
    if data.ideal_labels is not None and data.ideal_ptr is not None:
        parts = np.split(data.ideal_labels, data.ideal_ptr[1:-1])
        members["ideal"] = {query: part.tolist() for query, part in zip(data, parts, strict=True)}
    return {**members, **stored_members(data)}


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
    listed : int
        Number of pairs.
    words : list of str
        First word of the comments without `docid =`, "" where there is none.

    """

    lines: list[int] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    queries: list[str | None] = field(default_factory=list)
    doc_ids: list[str] = field(default_factory=list)
    bases: list[float | None] = field(default_factory=list)
    X: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    listed: int = 0
    words: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Pairs:
    """The pairs of some rows: line and number of pairs of each row, feature and value of each pair."""

    lines: list[int]
    counts: Ints
    features: Ints
    values: Floats


def split_rows(path: Path, first_line: int, chunk: bytes, header: Header, in_header: bool) -> Rows:
    """Parse a chunk of complete lines."""
    rows = Rows()
    pairs = []
    for line, raw in enumerate(chunk.split(b"\n"), first_line):
        body, _, comment = raw.partition(b"#")
        columns = body.split(None, 2)
        if columns:
            pairs.append(of_line(path, line, _begin_row, line, columns, comment, rows))
        elif in_header and not rows.lines:
            header.take(line, comment)
    most_bytes = max(LEAST_DENSE, MOST_DENSE * len(chunk))
    parsed = _parsed_pairs(b" ".join(filter(None, pairs)))
    if parsed is None:
        raise _first_wrong_pair(path, rows.lines, pairs)
    counts = np.array([row.count(b":") for row in pairs], dtype=np.int64)
    parsed_pairs = Pairs(rows.lines, counts, *parsed)
    rows.X = _dense(path, parsed_pairs, most_bytes)
    rows.listed = len(parsed_pairs.features)
    return rows


def _begin_row(line: int, columns: list[bytes], comment: bytes, rows: Rows) -> bytes:
    """Append the label, query and comment of a line to the rows; return its pairs. `columns` is split at most twice."""
    label = finite_number(columns[0])
    if label is None:
        raise LineFault(f"expected a finite number as label, got {shown(columns[0])}. Correct the label.")
    has_query = len(columns) > 1 and columns[1].startswith(b"qid:")
    if has_query and len(columns[1]) == 4:
        raise LineFault("expected a query id after `qid:`, got none. Write it.")
    query = _checked_id("query", columns[1][4:]) if has_query else None
    _read_comment(line, comment, rows)
    rows.lines.append(line)
    rows.labels.append(label)
    rows.queries.append(query)
    return b" ".join(columns[2 if has_query else 1 :]).rstrip()


def _checked_id(what: str, raw: bytes) -> str:
    """Return an id as text; refuse one that is too long."""
    name = text(raw)
    if len(name) > MOST_LETTERS:
        raise LineFault(f"expected a {what} id {ID_RULE}, got {len(name)}. Shorten it.")
    return name


def _read_comment(line: int, comment: bytes, rows: Rows) -> None:
    """Append the document id and base score of a row's comment to the rows."""
    match = _DOC.search(comment)
    doc_id = _checked_id("document", match[1]) if match else str(line)
    base = finite_number(match[2]) if match and match[2] is not None else None
    if match and match[2] is not None and base is None:
        raise LineFault(f"expected a finite number as base, got {shown(match[2])}. Correct the base score.")
    words = [] if match else comment.split(None, 1)
    rows.words.append(_checked_id("document", words[0]) if words else "")
    rows.doc_ids.append(doc_id)
    rows.bases.append(base)


def _parsed_pairs(joined: bytes) -> tuple[Ints, Floats] | None:
    """Return feature numbers and values of all pairs of a chunk, or None if one is wrong."""
    if not joined:
        return np.zeros(0, np.int64), np.zeros(0)
    if b"  " in joined or len(joined.translate(None, b"\t\r\x0b\x0c")) < len(joined):
        joined = b" ".join(joined.split())
    letters = np.frombuffer(joined, dtype=np.uint8)
    separators = np.flatnonzero((letters == ord(":")) | (letters == ord(" ")))
    if not _alternate(letters, separators):
        return None
    numbers = _numbers(joined.replace(b":", b" "))
    if numbers is None or len(numbers) != len(separators) + 1:
        return None
    features = numbers[::2]
    values = numbers[1::2]
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


def _first_wrong_pair(path: Path, lines: list[int], pairs: list[bytes]) -> FileFormatError:
    """Return the error of the first pair that is wrong."""
    wrong = (
        (line, fault) for line, row in zip(lines, pairs, strict=True) for fault in map(_fault, row.split()) if fault
    )
    return FileFormatError(path, *next(wrong))


def _fault(pair: bytes) -> str:
    """Return what is wrong with a pair, empty for nothing."""
    name, colon, rest = pair.partition(b":")
    feature = finite_number(name)
    value = number_or_nan(rest)
    if not colon:
        return f"expected feature:value, got {shown(pair)}. Write the feature's number before it."
    if feature is None or not _are_features(np.array([feature])).all():
        return (
            f"expected a feature number from 1 to {MOST_FEATURES}, got {shown(name)} in {shown(pair)}. "
            "Number the features 1, 2, 3."
        )
    if value is None or np.isinf(_as_float32(np.array([value]))).any():
        return (
            f"expected a finite float32 or nan as value, got {shown(rest)} in {shown(pair)}. "
            "Correct it, or write nan for a missing value."
        )
    return ""


def _dense(path: Path, pairs: Pairs, most_bytes: int) -> NDArray[np.float32]:
    """Return the features of rows, (n_rows, largest feature)."""
    features = pairs.features
    n_rows = len(pairs.lines)
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
        _refuse_repeats(path, pairs.lines, row, features)
    X = np.zeros((n_rows, largest), dtype=np.float32)
    X[row, features - 1] = _as_float32(pairs.values)
    return X


def _refuse_repeats(path: Path, lines: list[int], row: Ints, features: Ints) -> None:
    """Refuse a feature that is repeated in a row; features may be in any order."""
    order = np.lexsort((features, row))
    same = (features[order][1:] == features[order][:-1]) & (row[order][1:] == row[order][:-1])
    if same.any():
        pair = order[1:][same][0]
        message = f"expected each feature once in a row, got feature {features[pair]} again. Keep one of its values."
        raise FileFormatError(path, lines[row[pair]], message)


def read_svmlight(path: str | Path, n_features: int | None = None, mapped: bool = False) -> RankingData:
    """Read features and labels from LETOR / SVMlight text."""
    path = Path(path)
    header = Header(path)
    table, lines = read_rows(path, header, mapped)
    with faults_of(path, header.line):
        data = _record(path, table, lines, header, n_features or 0)
        data.check_values()
    return data


def read_rows(path: str | Path, header: Header, mapped: bool = False) -> tuple[RowTable, Ints]:
    """Read the header and the rows; return the rows and the line of each.

    The table has the columns label and base (NaN where a row has none); the query id of a row without `qid:` is "".
    """
    path = check_file(path, "a file of feature rows")
    table = RowTable.new(mapped, f"the features of {path}")
    lines = [np.empty(0, np.int64)]
    for line, chunk in chunks(path):
        rows = split_rows(path, line, chunk, header, not table.docs)
        if rows.lines:
            numbers = {"label": np.array(rows.labels), "base": np.array(rows.bases, dtype=np.float64)}  # None is NaN
            table.append([query or NO_QUERY for query in rows.queries], rows.doc_ids, numbers, rows.X)
            lines.append(np.array(rows.lines, dtype=np.int64))
            table.words += rows.words
            table.listed += rows.listed
            table.listed_zeros += rows.listed - int(np.count_nonzero(rows.X))
    if not table.docs:
        raise FileFormatError(
            path, None, "expected rows `label qid:Q feature:value …`, got no row. Name a file with rows."
        )
    return table, np.concatenate(lines)


def write_svmlight(data: RankingData, path: str | Path, blocks: Iterable[NDArray[np.float32]] | None = None) -> None:
    """Write data as LETOR / SVMlight text.

    A value of 0 is left out, NaN is written as `nan`. Queries without rows are not written.

    Shapes: blocks float32 (n_rows_of_block, n_features).
    """
    _check_writable(data)
    header = list(header_lines(data))
    with whole_file(path) as handle:
        handle.writelines(header)
        first = 0
        for block in [data.X] if blocks is None else blocks:
            _check_features(block)
            handle.writelines(_block_lines(data, first, block))
            first += len(block)


def svmlight_text(data: RankingData) -> tuple[bytes, bytes]:
    """Return the header and the rows of data as LETOR / SVMlight text."""
    _check_writable(data)
    _check_features(data.X)
    return "".join(header_lines(data)).encode(), "".join(_block_lines(data, 0, data.X)).encode()


def _block_lines(data: RankingData, first: int, X: NDArray[np.float32]) -> Iterator[str]:
    """Yield the rows from number `first` on, whose features are X, as text; queries without rows are left out."""
    ptr = data.query_ptr
    last = first + len(X)
    for query in range(int(np.searchsorted(ptr, first, "right")) - 1, int(np.searchsorted(ptr, last, "left"))):
        rows = slice(*ptr[query : query + 2].tolist())
        yield from _row_lines(data, str(data.query_ids[query]), rows, X[rows.start - first : rows.stop - first])


def _record(path: Path, table: RowTable, lines: Ints, header: Header, n_features: int) -> RankingData:
    bases = _bases(path, table.column("base"), lines)
    names, query, order = row_queries(path, table, lines)
    docs = _named_by_comments(table, query)
    labels = table.column("label")
    refuse_repeats(path, names, query, docs, lines)
    rows = slice(None) if order is None else order
    query_ids = id_array(names)
    X = table.matrix(max(table.width, n_features, len(header.feature_names or ())), order)
    stored = (path, header.line, query_ids)
    weights = of_queries(*stored, "weights", header.members["weights"])
    of_rows = of_queries(*stored, "weights", header.members["row_weights"])
    ptr = query_ptr(query, len(names))
    if of_rows is not None:
        wrong = np.flatnonzero(np.diff(ptr) != [len(each) for each in of_rows])
        if len(wrong):
            name = shown(str(query_ids[wrong[0]]))
            raise FileFormatError(
                path,
                header.line,
                f"expected a weight of every row of query {name}, got {len(of_rows[wrong[0]])}. Write the file anew.",
            )
    ideal_labels, ideal_ptr = ideal_arrays(of_queries(*stored, "ideal labels", header.members["ideal"]))
    return RankingData(
        query_ids,
        ptr,
        docs[rows],  # type: ignore[arg-type]
        X,
        header.names(X.shape[1]),
        labels=labels[rows] if header.members["labels"] else None,
        base_scores=None if bases is None else bases[rows],
        weights=None if weights is None else np.array(weights),
        row_weights=None if of_rows is None else np.concatenate([np.empty(0), *of_rows]),
        ideal_labels=ideal_labels,
        ideal_ptr=ideal_ptr,
        zeros=_zeros(table, X.size) if header.feature_names is None else header.members["zeros"],
        **{name: header.members[name] for name in SHARED},
    )


def _named_by_comments(table: RowTable, query: Ints) -> NDArray[np.bytes_]:
    """Return the document ids: those of `docid =`, or the first words of the comments where these can be ids."""
    if not any(table.words):
        return table.doc_ids()
    if all(table.words):
        words = id_bytes(id_array(table.words))
        if repeated_row(query, words) is None:
            return words
    log.info("comments of rows that are no ids of documents are left out, e.g. %r.", next(filter(None, table.words)))
    return table.doc_ids()


def _zeros(table: RowTable, n_values: int) -> str:
    """Return what a 0 of rows is that list features by number, see `RankingData`."""
    if table.listed == n_values:
        return LISTED
    return BOTH if table.listed_zeros else UNLISTED


def _bases(path: Path, bases: Floats, lines: Ints) -> Floats | None:
    missing = np.isnan(bases)
    if missing.all():
        return None
    if missing.any():
        raise FileFormatError(
            path,
            int(lines[np.argmax(missing)]),
            "expected `base = S` in the comment of every row or of none, got none here. Write it.",
        )
    return bases


def row_queries(path: Path, table: RowTable, lines: Ints) -> tuple[list[str], Ints, Ints | None]:
    """Return the query ids, each row's query, and the order that groups the rows, as `numbered` does."""
    names = table.names
    lengths = np.array(table.lengths, dtype=np.int64)
    if set(names) == {NO_QUERY}:
        sizes = [(str(number), size) for number, size in enumerate(_companion_sizes(path, lines), 1) if size]
        names = [name for name, _ in sizes]
        lengths = np.array([size for _, size in sizes], dtype=np.int64)
    elif NO_QUERY in names:
        first = int(lengths[: names.index(NO_QUERY)].sum())
        raise FileFormatError(
            path, int(lines[first]), "expected `qid:Q` after the label, got none. Write the query id."
        )
    return numbered(names, lengths)


def _companion_sizes(path: Path, lines: Ints) -> list[int]:
    """Return the number of rows of each query from LightGBM's companion file; `lines` are those of the rows."""
    bare = path.with_name(path.name.removesuffix(".gz"))
    companion = next((c for c in (Path(f"{path}.query"), Path(f"{bare}.query")) if c.is_file()), None)
    if companion is None:
        raise FileFormatError(
            path,
            int(lines[0]),
            f"expected `qid:Q` after the label, got none. Write it, or the size of every query to {path.name}.query.",
        )
    sizes = [of_line(companion, line, _size, content) for line, content in filled_lines(companion)]
    if sum(sizes) != len(lines):
        raise FileFormatError(
            companion,
            None,
            f"expected sizes that add up to the {len(lines)} rows of {path.name}, got {sum(sizes)}. Correct the sizes.",
        )
    return sizes


def _size(content: str) -> int:
    size = content.strip()
    if not (size.isascii() and size.isdigit() and len(size) <= MOST_DIGITS):
        raise LineFault(f"expected the number of rows of a query, got {shown(content)}. Write one size a line.")
    return int(size)


def _check_writable(data: RankingData) -> None:
    for ids, forbidden in ((list(data), "#"), (data.doc_ids.tolist(), "")):
        broken = first_broken(ids, forbidden)
        if broken is not None:
            raise InvalidInputError(
                f"data: expected ids without white space (queries: or #), got {broken!r}. "
                "Rename it, or write to a .npz file."
            )
    for what, numbers in (("labels", data.labels), ("base scores", data.base_scores)):
        if numbers is not None and not np.isfinite(numbers).all():
            raise InvalidInputError(f"data: expected finite {what}, got NaN or infinity. Correct them.")


def _check_features(X: NDArray[np.float32]) -> None:
    if np.isinf(X).any():
        raise InvalidInputError(
            "data: expected finite features or NaN, got infinity. Put NaN where a value is missing."
        )


def _row_lines(data: RankingData, query_id: str, rows: slice, X: NDArray[np.float32]) -> Iterator[str]:
    """Yield the rows of one query, with the features X, as text."""
    nonzero = X != 0
    features = (np.flatnonzero(nonzero) % max(data.n_features, 1) + 1).tolist()
    values = X[nonzero].astype("S").tolist()  # the shortest text that reads back as the same float32
    pairs = [f"{feature}:{value.decode()}" for feature, value in zip(features, values, strict=True)]
    ends = np.cumsum(nonzero.sum(axis=1)).tolist()
    start = 0
    for row, end in zip(range(rows.start, rows.stop), ends, strict=True):
        label = 0.0 if data.labels is None else float(data.labels[row])
        base = "" if data.base_scores is None else f" base = {float(data.base_scores[row])!r}"
        columns = [f"{label:.0f}" if label.is_integer() else repr(label), f"qid:{query_id}"]
        yield " ".join(columns + pairs[start:end]) + f" # docid = {data.doc_ids[row]}{base}\n"
        start = end

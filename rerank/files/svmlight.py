"""Ranking data as text, of LETOR, SVMlight and LightGBM, plain or gzip.

    # features: bm25 length
    # rerank: {"version": 1, "recipe": {…}}
    2 qid:q1 1:12.5 2:140 # docid = GX008-86-4444840 base = 12.5

- A row is label, query, then pairs `feature:value` in any order, with features numbered from 1, or from 0 where a
  comment before the first row says so, as that of scikit-learn's dump_svmlight_file does: `# Column indices are
  zero-based`. A feature without a pair is 0, as the format defines; `nan` is a missing value. A repeated feature in a
  row is refused.
- A label before `qid:` may have a weight, as XGBoost reads it: `2:0.5 qid:q1`.
- The comment may have the document id (`docid = X`), the base score (`base = S`) and a weight (`weight = W`), each of
  the two in all rows or none. Where no row has `docid =`, the id is the first word of the comments if every row has one
  and none is twice in a query (as RankLib and SVMrank write them), else the line number; the log says that there are
  other comments.
- The header comments are optional. `# features:` has the names of the features in their order; `# rerank:` has the JSON
  of `rerank.files.rows.ABOUT`.
- Companions (`companions.py`): if no row has `qid:`, the numbers of rows of successive queries are read, which are then
  named 1, 2, …; base scores and weights (of rows, or of queries) are read where the rows have none.

NumPy parses all pairs of a chunk at once. If that fails, they are parsed one by one, to name the first wrong pair.
"""

import json
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, log, shown
from rerank.files.companions import COMPANIONS, companions_of, name_unread
from rerank.files.json_lines import json_object
from rerank.files.line_records import check_ids, finite_number, records, whole_number
from rerank.files.rows import ABOUT, NOTHING, VERSION, RowTable
from rerank.files.source import LineFault, check_file, chunks, of_line, text, value_of
from rerank.runtime.mapped_rows import RowFile
from rerank.runtime.output import whole_file
from rerank.types import Ints, RankingData, numbered_names
from rerank.types.data_frames import LABEL, QUERY_ID
from rerank.types.ids import ID_RULE, MOST_LETTERS, id_array, id_bytes, repeated_row
from rerank.types.ranking_data import (
    BASE_SCORE,
    BOTH,
    LISTED,
    UNLISTED,
    WEIGHT,
    stored_members,
)

MOST_FEATURES = 100_000  # a larger number is taken for an error: the matrix is dense
LEAST_DENSE = 1 << 28  # bytes that dense rows of a chunk of any size may have
MOST_DENSE = 1000  # times the bytes of the text that its dense rows may have, if these are many
_COUNTED_FROM = re.compile(
    rb"(?<!not )\b(zero|0|one|1)[-_ ](?:based|indexed)\b|"
    rb"\b(?:indic|index|number|count|start|begin|first (?:feature|column))\w*[ _:=]+"
    rb"(?:(?:at|from|with|base|is)[ _:=]+)?(zero|0|one|1)\b",
    re.IGNORECASE,
)
_CLEAR = re.compile(rb"(?!.*\b(?:no|false)\b).*(?:\bind(?:ices|exes|ex)|columns?|features?)\b", re.IGNORECASE)
_DOC = re.compile(rb"\bdoc(?:id|no|_id)\s*[=:]\s*(\S+)(?:\s+base\s*=\s*(\S+))?(?:\s+weight\s*=\s*(\S+))?")
NO_QUERY = ""  # of a row without `qid:`; an id is never empty
Row = tuple[int, float, str, str, float, float, str, bytes]  # what `_row` returns


@dataclass
class Header:
    """The content of the comment lines before the first row; `line` is the number of the last one.

    first  number of the first feature, None where no comment says it
    """

    line: int | None = None
    first: int | None = None
    feature_names: tuple[str, ...] | None = None
    about: dict[str, Any] | None = None

    def take(self, line: int, comment: bytes) -> None:
        """Read a comment line (without its #)."""
        beginning, _, content = comment.strip().partition(b":")
        if beginning == b"features":
            self.line = line
            self.feature_names = tuple(map(text, content.split()))
            check_ids("", (), self.feature_names)
        elif beginning == b"rerank":
            self.line = line
            self.about = ABOUT.read(json_object(text(content)))
        elif counted := _COUNTED_FROM.findall(comment):
            said = {int((based or begun).lower() in (b"one", b"1")) for based, begun in counted}
            if len(said | ({self.first} - {None})) > 1 or not _CLEAR.match(comment):
                raise LineFault(
                    "expected a comment that says where the numbers of features begin, got "
                    f"{shown(comment.strip())}. Write `Column indices are zero-based` or `one-based` for it."
                )
            self.first = said.pop()

    def names(self, n_features: int) -> tuple[str, ...]:
        """Return the name of every feature: those of the header, by default "1", "2", …"""
        if self.feature_names is None:
            return numbered_names(n_features)
        if len(self.feature_names) < n_features:
            raise LineFault(
                f"expected names for {n_features} features, got {len(self.feature_names)}. "
                "Name them all, or remove the comment."
            )
        return self.feature_names


def _header(data: RankingData) -> str:
    """Return the comment lines for what rows cannot hold; refuse what text cannot hold."""
    check_ids("data: ", (), [*data, *data.doc_ids.tolist(), *data.feature_names])
    for name in data:
        if "#" in name:  # what follows would be a comment
            raise InvalidInputError(f"data: expected query ids without #, got {name!r}. Rename it.")
    for what, numbers in (("labels", data.labels), ("base scores", data.base_scores)):
        if numbers is not None and not np.isfinite(numbers).all():
            raise InvalidInputError(f"data: expected finite {what}, got NaN or infinity. Correct them.")
    names = " ".join(["# features:", *data.feature_names])
    about = ({"labels": False} if data.labels is None else {}) | stored_members(data)
    stored = json.dumps({"version": VERSION, **about}, ensure_ascii=False)
    return f"{names}\n# rerank: {stored}\n" if about else f"{names}\n"


def _rows(path: Path, first: int, chunk: bytes, header: Header, in_header: bool) -> list[Row]:
    """Return the rows of a chunk, whose first line is `first`; comments before the first row are read as the header."""
    rows: list[Row] = []
    for line, raw in enumerate(chunk.split(b"\n"), first):
        body, _, comment = raw.partition(b"#")
        columns = body.split(None, 2)
        if columns:
            rows.append(of_line(path, line, _row, line, columns, comment))
        elif in_header and not rows:
            of_line(path, line, header.take, line, comment)
    return rows


def _row(line: int, columns: list[bytes], comment: bytes) -> Row:
    """Return line, label, query, document, base score, weight, first word of another comment, and pairs of a row.

    `columns` is split at most twice; base score and weight are NaN where the comment has none.
    """
    has_query = len(columns) > 1 and columns[1].startswith(b"qid:")
    stored, _, own = columns[0].partition(b":") if has_query else (columns[0], b"", b"")
    label = _number("label", stored)
    weight = _number("weight", own or None)
    query = _id(columns[1][4:]) if has_query else NO_QUERY
    if has_query and not query:
        raise LineFault("expected a query id after `qid:`, got none. Write it.")
    pairs = b" ".join(columns[2 if has_query else 1 :]).rstrip()
    match = _DOC.search(comment)
    if match is None:
        words = comment.split(None, 1)
        return line, label, query, str(line), np.nan, weight, text(words[0]) if words else "", pairs
    weight = _number("weight", match[3] or own or None)
    return line, label, query, _id(match[1]), _number("base", match[2]), weight, "", pairs


def _id(raw: bytes) -> str:
    """Return an id; refuse one that is too long."""
    name = text(raw)
    if len(name) > MOST_LETTERS:
        raise LineFault(f"expected ids {ID_RULE}, got {len(name)}. Shorten it.")
    return name


def _number(name: str, token: bytes | None) -> float:
    """Return a finite number, NaN for none."""
    if token is None:
        return np.nan
    return value_of(finite_number, token, f"a finite number as {name}", f"Correct the {name}; read CSV with pandas")


def _features(
    path: Path, chunk: bytes, lines: list[int], pairs: list[bytes], first: int
) -> tuple[NDArray[np.float32], int]:
    """Return the features of rows, (n_rows, n_features), and the number of their pairs; `first` is as in `Header`."""
    parsed = _parsed_pairs(b" ".join(filter(None, pairs)), first)
    if parsed is None:
        raise _pair_fault(path, lines, pairs, first)
    features, values = parsed
    row = np.repeat(np.arange(len(lines)), [of_row.count(b":") for of_row in pairs])
    largest = int(features.max(initial=0))
    most_bytes = max(LEAST_DENSE, MOST_DENSE * len(chunk))
    if 4 * len(lines) * largest > most_bytes:
        raise FileFormatError(
            path,
            lines[row[np.argmax(features)]],
            f"expected features whose dense rows have at most {most_bytes:,} bytes, got feature {largest - 1 + first} "
            f"in one of {len(lines)} rows. Number the features that are used 1, 2, 3.",
        )
    ascending = (features[1:] > features[:-1]) | (row[1:] != row[:-1])
    if not ascending.all():  # features may be in any order, but none twice
        order = np.lexsort((features, row))
        again = (features[order][1:] == features[order][:-1]) & (row[order][1:] == row[order][:-1])
        wrong = order[1:][again]
        if len(wrong):
            pair = wrong[0]
            raise FileFormatError(
                path,
                lines[row[pair]],
                f"expected each feature once in a row, got feature {features[pair] - 1 + first} again. Keep one of its "
                "values.",
            )
    X = np.zeros((len(lines), largest), dtype=np.float32)
    X[row, features - 1] = values
    return X, len(features)


def _pair_fault(path: Path, lines: list[int], pairs: list[bytes], first: int) -> FileFormatError:
    """Return the error of the first pair that is wrong."""
    pairs_of_lines = ((line, pair) for line, of_row in zip(lines, pairs, strict=True) for pair in of_row.split())
    line, wrong = next((line, pair) for line, pair in pairs_of_lines if _parsed_pairs(pair, first) is None)
    what = f"feature:value, a number from {first} to {MOST_FEATURES} and a finite float32 or nan"
    number, _, value = wrong.partition(b":")
    is_value = value and _parsed_pairs(number + b":nan", first) is not None
    from_0 = "If features count from 0, write `# Column indices are zero-based` as the first line"
    ways = (
        (_parsed_pairs(wrong, 0) is not None, from_0),
        (not number.isdigit() and not value, "Read columns with pandas, and pass the frame, or fit(X, y, qid=)"),
        (is_value, f"Correct it, or write nan for a missing value (sed 's/:{shown(value)[1:-1]}/:nan/g')"),
        (True, "Correct it"),
    )
    remedy = next(way for holds, way in ways if holds)
    return FileFormatError(path, line, f"expected {what}, got {shown(wrong)}. {remedy}.")


def _parsed_pairs(joined: bytes, first: int) -> tuple[Ints, NDArray[np.float32]] | None:
    """Return feature numbers, counted from 1, and values of all pairs of a chunk, or None if one is wrong."""
    if not joined:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    if b"  " in joined or len(joined.translate(None, b"\t\r\x0b\x0c")) < len(joined):
        joined = b" ".join(joined.split())
    letters = np.frombuffer(joined, dtype=np.uint8)
    separators = np.flatnonzero((letters == ord(":")) | (letters == ord(" ")))
    marks = letters[separators]
    are_alternate = (
        len(separators) % 2 == 1
        and separators[0] > 0
        and separators[-1] < len(letters) - 1
        and (np.diff(separators) > 1).all()
        and (marks[::2] == ord(":")).all()
        and (marks[1::2] == ord(" ")).all()
    )
    if not are_alternate:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # NumPy before 2.3 warns where later ones raise
        try:
            numbers = np.fromstring(joined.replace(b":", b" "), dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    if len(numbers) != len(separators) + 1:
        return None
    features = numbers[::2] + (1 - first)
    are_features = (features >= 1) & (features <= MOST_FEATURES) & (features == np.floor(features))
    with np.errstate(over="ignore"):
        values = numbers[1::2].astype(np.float32)
    return (features.astype(np.int64), values) if are_features.all() and not np.isinf(values).any() else None


def read_svmlight(path: str | Path, mapped: bool = False) -> RankingData:
    """Read features and labels from LETOR / SVMlight text."""
    path = check_file(path, "a file of feature rows")
    header = Header()
    table = RowTable(RowFile(f"the features of {path}") if mapped else [])
    lines: list[int] = []
    words: list[str] = []
    n_listed = 0
    n_listed_zeros = 0
    for first, chunk in chunks(path):
        rows = _rows(path, first, chunk, header, not lines)
        if rows:
            some_lines, labels, queries, docs, bases, weights, some_words, pairs = map(list, zip(*rows, strict=True))
            X, n_pairs = _features(path, chunk, some_lines, pairs, 1 if header.first is None else header.first)
            numbers = {LABEL: np.array(labels), BASE_SCORE: np.array(bases), WEIGHT: np.array(weights)}
            table.append(queries, docs, numbers, X)
            lines += some_lines
            words += some_words
            n_listed += n_pairs
            n_listed_zeros += n_pairs - int(np.count_nonzero(X))
    if not lines:
        raise FileFormatError(
            path, None, "expected rows `label qid:Q feature:value …`, got no row. Name a file with rows."
        )
    _drop_missing_columns(path, table, lines)
    companions = companions_of(path)
    _set_queries(path, table, lines, companions)
    _add_columns(path, table, companions)
    name_unread(path, companions)
    about = NOTHING if header.about is None else header.about
    if header.feature_names is None:
        zeros = BOTH if n_listed_zeros else UNLISTED
        about = {**about, "zeros": LISTED if n_listed == len(lines) * table.width else zeros}
    if header.first == 0:
        about = {**about, "first_number": 0}
    names = of_line(path, header.line, header.names, max(table.width, len(header.feature_names or ())))
    return of_line(path, header.line, table.record, path, names, about, _document_ids(table, words), np.array(lines))


def write_svmlight(data: RankingData, path: str | Path, blocks: Iterable[NDArray[np.float32]] | None = None) -> None:
    """Write data as LETOR / SVMlight text.

    A value of 0 is left out, NaN is written as `nan`. Queries without rows are not written.

    Shapes: blocks float32 (n_rows_of_block, n_features).
    """
    header = _header(data)
    with whole_file(path) as handle:
        handle.write(header)
        first = 0
        for block in [data.X] if blocks is None else blocks:
            handle.writelines(_block_lines(data, first, block))
            first += len(block)


def svmlight_text(data: RankingData) -> tuple[bytes, bytes]:
    """Return the header and the rows of data as LETOR / SVMlight text."""
    return _header(data).encode(), "".join(_block_lines(data, 0, data.X)).encode()


def _block_lines(data: RankingData, first: int, X: NDArray[np.float32]) -> Iterator[str]:
    """Yield the rows from number `first` on, whose features are X, as text; queries without rows are left out."""
    if np.isinf(X).any():
        raise InvalidInputError(
            "data: expected finite features or NaN, got infinity. Put NaN where a value is missing."
        )
    ptr = data.query_ptr
    last = first + len(X)
    for query in range(int(np.searchsorted(ptr, first, "right")) - 1, int(np.searchsorted(ptr, last, "left"))):
        rows = slice(*ptr[query : query + 2].tolist())
        yield from _row_lines(data, query, rows, X[rows.start - first : rows.stop - first])


def _document_ids(table: RowTable, words: list[str]) -> NDArray[np.bytes_]:
    """Return the document ids: those of `docid =`, or the first words of the comments where these can be ids."""
    doc_ids = np.concatenate(table.docs)
    if not any(words):
        return doc_ids
    if all(words) and max(map(len, words)) <= MOST_LETTERS:
        named = id_bytes(id_array(words))
        if repeated_row(table.query_of_rows(), named) is None:
            return named
    log.info("comments of rows that are no ids of documents are left out, e.g. %r.", next(filter(None, words)))
    return doc_ids


def _drop_missing_columns(path: Path, table: RowTable, lines: list[int]) -> None:
    """Drop base scores and weights where no row has them; refuse those that some rows have."""
    for name, written in ((BASE_SCORE, "base = S"), (WEIGHT, "weight = W")):
        missing = np.isnan(table.column(name))
        if missing.all():
            del table.numbers[name]
        elif missing.any():
            raise FileFormatError(
                path,
                lines[np.argmax(missing)],
                f"expected `{written}` in the comment of every row or of none, got none here. Write it.",
            )


def _set_queries(path: Path, table: RowTable, lines: list[int], companions: dict[str, Path]) -> None:
    """Number the queries of rows that have no `qid:` by a companion, which is taken out of the companions."""
    if list(table.names) == [NO_QUERY]:
        ending = next((ending for ending in companions if COMPANIONS[ending] == QUERY_ID), None)
        if ending is None:
            raise FileFormatError(
                path,
                lines[0],
                "expected `qid:Q` after the label, got none. Write it, or the size of every query to "
                f"{path.name}.query.",
            )
        companion = companions.pop(ending)
        sizes = [size for _, size in records(companion, "sizes of queries", _size)]
        if sum(sizes) != len(lines):
            raise FileFormatError(
                companion,
                None,
                f"expected sizes that add up to the {len(lines)} rows of {path.name}, got {sum(sizes)}. Correct the "
                "sizes.",
            )
        numbers_of = {str(number): size for number, size in enumerate(sizes, 1) if size}
        table.names = {name: query for query, name in enumerate(numbers_of)}
        table.query = [np.repeat(np.arange(len(numbers_of)), list(numbers_of.values()))]
    elif NO_QUERY in table.names:
        line = lines[int(np.argmax(table.query_of_rows() == table.names[NO_QUERY]))]
        raise FileFormatError(path, line, "expected `qid:Q` after the label, got none. Write the query id.")


def _size(content: str) -> int:
    return value_of(whole_number, content.strip(), "the number of rows of a query", "Write one size a line")


def _add_columns(path: Path, table: RowTable, companions: dict[str, Path]) -> None:
    """Add base scores and weights of companions, which are taken out of the companions."""
    query = table.query_of_rows()
    for ending in tuple(companions):
        column = COMPANIONS[ending]
        if column not in (WEIGHT, BASE_SCORE) or column in table.numbers:
            continue
        companion = companions.pop(ending)
        values = np.array(
            [value for _, value in records(companion, "numbers", lambda line: _number("value", line.encode()))]
        )
        if column == WEIGHT and len(values) == len(table.names):
            values = values[query]
        if len(values) != len(query):
            of_queries = f", or its {len(table.names)} queries" if column == WEIGHT else ""
            raise FileFormatError(
                companion,
                None,
                f"expected a number for each of the {len(query)} rows of {path.name}{of_queries}, got {len(values)}. "
                "Write one a line.",
            )
        table.numbers[column] = [values]
        if column == BASE_SCORE:
            log.warning('%s: base scores are those of %s: rankers with base="run" start from them', path, companion)


def _row_lines(data: RankingData, query: int, rows: slice, X: NDArray[np.float32]) -> Iterator[str]:
    """Yield the rows of one query, with the features X, as text."""
    weights = data.row_weights if data.weights is None else np.broadcast_to(data.weights[query], data.n_rows)
    nonzero = X != 0
    features = (np.flatnonzero(nonzero) % max(data.n_features, 1) + 1).tolist()
    values = X[nonzero].astype("S").tolist()  # the shortest text that reads back as the same float32
    pairs = [f"{feature}:{value.decode()}" for feature, value in zip(features, values, strict=True)]
    ends = np.cumsum(nonzero.sum(axis=1)).tolist()
    start = 0
    for row, end in zip(range(rows.start, rows.stop), ends, strict=True):
        label = 0.0 if data.labels is None else float(data.labels[row])
        more = "" if data.base_scores is None else f" base = {float(data.base_scores[row])!r}"
        more += "" if weights is None else f" weight = {float(weights[row])!r}"
        columns = [f"{label:.0f}" if label.is_integer() else repr(label), f"qid:{data.query_ids[query]}"]
        yield " ".join(columns + pairs[start:end]) + f" # docid = {data.doc_ids[row]}{more}\n"
        start = end

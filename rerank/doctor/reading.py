"""Files read to be examined: by the parsers that all verbs use, told to take note of what they refuse and go on."""

from __future__ import annotations

import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, shown
from rerank.files import columns
from rerank.files.data import read_binary
from rerank.files.grouping import numbered
from rerank.files.source import check_file, chunks, file_mode, number_or_nan, open_source
from rerank.files.svmlight import read_parts, row_queries, stacked
from rerank.files.svmlight_header import Header
from rerank.files.topics import topic_entries
from rerank.files.trec import QRELS, RUN, parse_label
from rerank.types import Floats, Ints, pointers
from rerank.types.ids import id_array

RANK, TAG = 3, 5  # columns of a run
ZIP_MAGIC = b"PK\x03\x04"
FIRST_BYTES, FIRST_LINES = 1 << 16, 100  # of a file, which tell what it is
_PAIR = re.compile(rb"qid:\S+|\d+:\S+")


@dataclass(frozen=True, eq=False)
class Rows:
    """What all kinds of file have: rows in the order of the file.

    names    distinct query ids by first appearance, each of a row at least
    query    (n_rows,) int64 number of each row's query
    lines    (n_rows,) int64, or None where the file has no lines
    faults   what the reader refuses, in any order
    """

    path: str
    names: list[str]
    query: Ints
    lines: Ints | None
    faults: list[FileFormatError]

    @cached_property
    def by_query(self) -> tuple[Ints, Ints]:
        """Rows query by query, in the order of the file, and their `query_ptr`."""
        return np.argsort(self.query, kind="stable"), pointers(np.bincount(self.query, minlength=len(self.names)))

    def first_rows(self, queries: Sequence[int] | Ints) -> Ints:
        """Return the first row of each query, given by number."""
        order, query_ptr = self.by_query
        return order[query_ptr[np.asarray(queries, dtype=np.int64)]]

    def rows_of(self, names: Sequence[str]) -> Ints:
        """Return the first row of each query, given by name."""
        numbers = {name: number for number, name in enumerate(self.names)}
        return self.first_rows([numbers[name] for name in names])

    def name(self, row: int) -> str:
        """Return the query id of a row, quoted."""
        return shown(self.names[self.query[row]])


@dataclass(frozen=True, eq=False)
class Documents(Rows):
    """Rows of documents: doc_ids (n_rows,) text or UTF-8 bytes."""

    doc_ids: NDArray[Any]

    def doc(self, row: int) -> str:
        """Return the document id of a row, quoted."""
        return shown(self.doc_ids[row].item())


@dataclass(frozen=True, eq=False)
class QrelsRows(Documents):
    """Judgements: labels (n_rows,) int64."""

    labels: Ints


@dataclass(frozen=True, eq=False)
class RunRows(Documents):
    """A ranking: scores and ranks (n_rows,) float64, NaN where a rank is no number; `tags` are the names in it."""

    scores: Floats
    ranks: Floats
    tags: list[str]


@dataclass(frozen=True, eq=False)
class DataRows(Documents):
    """Features, labels and base scores (n_rows,), as RankingData has them; None where the file has none."""

    X: NDArray[np.float32]
    feature_names: tuple[str, ...]
    labels: Floats | None
    bases: Floats | None


@dataclass
class Files:
    """All files that are examined, by what they are; train and test are among `data`."""

    qrels: list[QrelsRows] = field(default_factory=list)
    run: list[RunRows] = field(default_factory=list)
    topics: list[Rows] = field(default_factory=list)
    data: list[DataRows] = field(default_factory=list)
    train: list[DataRows] = field(default_factory=list)
    test: list[DataRows] = field(default_factory=list)


def read_files(named: Sequence[tuple[str | None, str | Path]]) -> Files:
    """Read files to be examined.

    named  (kind, path) of each: `qrels`, `run`, `topics`, `data`, `train`, `test`, or None to tell by the content
    Raises MissingFileError or FileFormatError where a file is missing, empty, damaged or of no known kind, or has no
    row that can be read.
    """
    files = Files()
    for kind, path in named:
        checked = check_file(path, "a file to examine")
        if not stat.S_ISREG(file_mode(checked, "a file to examine")):  # it is read more than once
            raise FileFormatError(checked, None, "expected a file, got a pipe or device. Write it to a file first.")
        told = kind_of(checked)
        kind = kind or told
        if kind is None:
            raise _unknown(checked)
        part = READERS.get(kind, read_feature_rows)(checked)
        getattr(files, kind).append(part)
        if kind in {"train", "test"}:
            files.data.append(part)  # type: ignore[arg-type]
    return files


def kind_of(path: Path) -> str | None:
    """Return what a file holds, by its first lines, or None where they do not tell."""
    with open_source(path) as handle:
        beginning = handle.read(FIRST_BYTES)
    if beginning.startswith(ZIP_MAGIC):
        return "data"
    if not beginning.strip():
        raise FileFormatError(path, None, "expected rows, got an empty file. Name a file with rows.")
    if b"\0" in beginning:
        raise FileFormatError(path, None, "expected text or .npz, got bytes of something else. Name another file.")
    lines = [line for line in beginning.splitlines()[:FIRST_LINES] if line.strip() and not line.startswith(b"#")]
    kinds = Counter(kind for kind in map(_kind, lines) if kind)
    return kinds.most_common(1)[0][0] if kinds else None


def _kind(line: bytes) -> str | None:
    """Return the kind of file that a line may stand in."""
    fields = line.split()
    if line.lstrip().startswith((b"{", b"<")):
        return "topics"
    if len(fields) > 1 and _PAIR.fullmatch(fields[1]) and number_or_nan(fields[0]) is not None:
        return "data"
    if line.count(b"\t") == 1:
        return "topics"
    if len(fields) == len(QRELS.columns) and parse_label(fields[QRELS.value]) is not None:
        return "qrels"
    if len(fields) >= len(RUN.columns) and number_or_nan(fields[RUN.value]) is not None:
        return "run"
    return None


def _unknown(path: Path) -> FileFormatError:
    _, chunk = next(chunks(path), (1, b""))
    lines = enumerate(chunk.split(b"\n"), 1)
    line, first = next(((line, row) for line, row in lines if row.strip() and not row.startswith(b"#")), (None, b""))
    return FileFormatError(
        path,
        line,
        f"expected rows of qrels, a run, topics or features, got {shown(first.strip()) if first else 'none'}. "
        "Say what it is with --qrels, --run, --topics or --data.",
    )


def read_qrels_rows(path: Path) -> QrelsRows:
    """Read judgements, those that return among them."""
    faults: list[FileFormatError] = []
    rows = _columns(path, QRELS, faults)
    return QrelsRows(*_members(path, rows, faults), doc_ids=rows.doc_ids, labels=rows.values)


def read_run_rows(path: Path) -> RunRows:
    """Read a ranking, scores that are not finite and documents that return among them."""
    faults: list[FileFormatError] = []
    rows = _columns(path, replace(RUN, parse=number_or_nan, wanted="a number"), faults)
    members = _members(path, rows, faults)
    others = columns.read_rows(path, replace(RUN, value=RANK, parse=_rank, query=TAG), _pass_over)
    # A row whose score is no number is among the others alone, one whose tag is no text among the rows alone.
    lines = _lines(others)
    place = np.minimum(np.searchsorted(lines, members[3]), len(lines) - 1)
    ranks = np.where(lines[place] == members[3], others.values[place], np.nan)
    tags = list(dict.fromkeys(others.names))
    return RunRows(*members, doc_ids=rows.doc_ids, scores=rows.values, ranks=ranks, tags=tags)


def _rank(token: bytes) -> float:
    rank = number_or_nan(token)
    return float("nan") if rank is None else rank


def _pass_over(fault: FileFormatError) -> None:
    """Say nothing of a line that was wrong when the scores were read."""


def _columns(path: Path, layout: columns.Layout, faults: list[FileFormatError]) -> columns.Rows:
    with _first_fault(faults):
        return columns.read_rows(path, layout, faults.append)


@contextmanager
def _first_fault(faults: list[FileFormatError]) -> Iterator[None]:
    """Where no row of a file is right, raise what is wrong with its first row."""
    try:
        yield
    except FileFormatError:
        if not faults:
            raise
        raise min(faults, key=lambda fault: fault.line or 0) from None


def _lines(rows: columns.Rows) -> Ints:
    return np.fromiter(chain.from_iterable(rows.lines), np.int64, len(rows.values))


def _members(
    path: Path, rows: columns.Rows, faults: list[FileFormatError]
) -> tuple[str, list[str], Ints, Ints, list[FileFormatError]]:
    """Return what `Rows` holds."""
    names, query, _ = numbered(rows.names, rows.lengths)
    return str(path), names, query, _lines(rows), faults


def read_topic_rows(path: Path) -> Rows:
    """Read topics; a query that returns is a fault."""
    faults: list[FileFormatError] = []
    with _first_fault(faults):
        entries = topic_entries(path, faults.append)
        if not entries:
            raise FileFormatError(path, None, "expected at least one topic, got none. Write lines of id, tab, text.")
    lines = np.array([line for line, _, _ in entries], dtype=np.int64)
    return Rows(str(path), [name for _, name, _ in entries], np.arange(len(entries)), lines, faults)


def read_feature_rows(path: Path) -> DataRows:
    """Read features and labels, text or .npz."""
    with open_source(path) as handle:
        packed = handle.read(4) == ZIP_MAGIC
    return _binary(path) if packed else _svmlight(path)


def _binary(path: Path) -> DataRows:
    data = read_binary(path)
    sizes = np.diff(data.query_ptr)
    held = np.flatnonzero(sizes)
    if not len(held):
        raise FileFormatError(path, None, "expected rows of features, got none. Name a file with rows.")
    return DataRows(
        str(path),
        data.query_ids[held].tolist(),
        np.repeat(np.arange(len(held)), sizes[held]),
        None,
        [],
        doc_ids=data.doc_ids,
        X=data.X,
        feature_names=data.feature_names,
        labels=data.labels,
        bases=data.base_scores,
    )


def _svmlight(path: Path) -> DataRows:
    faults: list[FileFormatError] = []
    header = Header(path)
    with _first_fault(faults):
        parts = read_parts(path, header, faults.append)
    lines = [line for part in parts for line in part.lines]
    names, query, _ = numbered(row_queries(path, parts, lines), np.ones(len(lines), np.int64))
    X = stacked(parts, len(header.feature_names or ()))
    bases = [np.nan if base is None else base for part in parts for base in part.bases]
    return DataRows(
        str(path),
        names,
        query,
        np.array(lines, dtype=np.int64),
        faults,
        doc_ids=id_array([doc_id for part in parts for doc_id in part.doc_ids]),
        X=X,
        feature_names=header.names(X.shape[1]),
        labels=np.array([label for part in parts for label in part.labels])
        if header.members.get("labels", True)
        else None,
        bases=None if np.isnan(bases).all() else np.array(bases),
    )


READERS = {"qrels": read_qrels_rows, "run": read_run_rows, "topics": read_topic_rows, "data": read_feature_rows}

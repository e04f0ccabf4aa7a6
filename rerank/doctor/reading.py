"""Reading of files and index folders for the checks; the parsers of all commands here collect errors and continue."""

from __future__ import annotations

import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, IndexFolderError, InvalidInputError, shown
from rerank.files import columns
from rerank.files.data import read_binary
from rerank.files.irds import data_set_name
from rerank.files.parquet import read_parquet
from rerank.files.rows import numbered
from rerank.files.source import check_file, chunks, file_mode, number_or_nan, open_source
from rerank.files.svmlight import Header, read_rows, row_queries
from rerank.files.topics import topic_entries
from rerank.files.trec import QRELS, RUN, parse_label
from rerank.types import Floats, Ints, RankingData, pointers
from rerank.types.forward import ForwardIndex
from rerank.types.ids import id_texts

ZIP_MAGIC, PARQUET_MAGIC = b"PK\x03\x04", b"PAR1"
FIRST_BYTES, FIRST_LINES = 1 << 16, 100  # read from a file to detect its kind
_PAIR = re.compile(rb"qid:\S+|\d+:\S+")


def kind_of(path: Path) -> str | None:
    """Return the kind of a file, detected by its first lines, or None if they fit no kind."""
    with open_source(path) as handle:
        beginning = handle.read(FIRST_BYTES)
    if beginning.startswith((ZIP_MAGIC, PARQUET_MAGIC)):
        return "data"
    if not beginning.strip():
        raise FileFormatError(path, None, "expected rows, got an empty file. Name a file with rows.")
    if b"\0" in beginning:
        raise FileFormatError(
            path, None, "expected text, .npz or .parquet, got bytes of something else. Name another file."
        )
    lines = [line for line in beginning.splitlines()[:FIRST_LINES] if line.strip() and not line.startswith(b"#")]
    kinds = Counter(kind for kind in map(_kind, lines) if kind)
    return kinds.most_common(1)[0][0] if kinds else None


def _kind(line: bytes) -> str | None:
    """Return the kind of file that a line fits."""
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


def unknown_kind(path: Path) -> FileFormatError:
    """Return the error for a file of an unknown kind, with its first row."""
    _, chunk = next(chunks(path), (1, b""))
    lines = enumerate(chunk.split(b"\n"), 1)
    line, first = next(((line, row) for line, row in lines if row.strip() and not row.startswith(b"#")), (None, b""))
    return FileFormatError(
        path,
        line,
        f"expected rows of qrels, a run, topics or features, got {shown(first.strip()) if first else 'none'}. "
        "Say what it is with --qrels, --run, --topics or --data.",
    )


@dataclass(frozen=True, eq=False)
class IndexContents:
    """An index folder.

    path     the folder
    arrays   folder of the forward arrays
    state    "current", "missing", "other" (of another index) or "damaged" (or of an earlier format)
    message  error of damaged arrays
    forward  the forward arrays, None unless they are current
    shards   number of documents of each shard, deleted ones included, by name; empty for one Lucene index, and unless
             the arrays are current
    """

    path: str
    arrays: str
    state: str
    message: str = ""
    forward: ForwardIndex | None = None
    shards: Mapping[str, int] = field(default_factory=dict)


def read_index(path: Path) -> IndexContents:
    """Read an index folder; raise MissingFileError or IndexFolderError without a Lucene index or with wrong shards."""
    from rerank.lucene.arrays import read_arrays, read_header
    from rerank.lucene.folder import check_index_folder, commit_hash
    from rerank.lucene.shards import SUBFOLDER, index_folders

    commit = commit_hash(check_index_folder(path))
    folder = path / SUBFOLDER

    def contents(state: str, **members: Any) -> IndexContents:
        return IndexContents(str(path), str(folder), state, **members)

    try:
        header = read_header(folder)
        if header is None:
            return contents("missing")
        if header["commit"] != commit:
            return contents("other")
        forward, folders = read_arrays(folder, again=True), index_folders(path)
        sizes = zip((shard.name for shard in folders), header["shards"], strict=False)
        return contents("current", forward=forward, shards={} if folders == (path,) else dict(sizes))
    except IndexFolderError as error:
        return contents("damaged", message=str(error).removeprefix(f"{folder}: ").rstrip("."))


RANK, TAG = 3, 5  # columns of a run


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in the order of the file, for all kinds of file.

    names    distinct query ids by first appearance, each with at least one row
    query    (n_rows,) int64 number of the query of each row
    lines    (n_rows,) int64 line numbers, or None for a file without lines
    faults   errors of the reader, in any order
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
class TopicRows(Rows):
    """Topics: texts of the queries, by number."""

    texts: list[str]

    def of(self, names: Sequence[str]) -> TopicRows:
        """Return the topics of some queries that the file has, in the order of the file."""
        wanted = set(names)
        numbers = [number for number, name in enumerate(self.names) if name in wanted]
        lines = None if self.lines is None else self.lines[numbers]
        kept = [self.names[number] for number in numbers], np.arange(len(numbers)), lines, self.faults
        return TopicRows(self.path, *kept, texts=[self.texts[number] for number in numbers])


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
    """A ranking: scores and ranks (n_rows,) float64, NaN for a rank that is not a number; `tags` are the run names."""

    scores: Floats
    ranks: Floats
    tags: list[str]


@dataclass(frozen=True, eq=False)
class DataRows(Documents):
    """Features, labels and base scores (n_rows,), as in RankingData; None if the file has none."""

    X: NDArray[np.float32]
    feature_names: tuple[str, ...]
    labels: Floats | None
    bases: Floats | None


@dataclass
class Files:
    """All files that are examined, by kind; train and test files of features are in `data`, too.

    Topics and judgements that are given for training or testing have lists of their own. Where there are judgements for
    both, topics that are given for neither are taken for both, and topics of queries that are not judged are left out.
    """

    qrels: list[QrelsRows] = field(default_factory=list)
    run: list[RunRows] = field(default_factory=list)
    topics: list[TopicRows] = field(default_factory=list)
    data: list[DataRows] = field(default_factory=list)
    train: list[DataRows] = field(default_factory=list)
    test: list[DataRows] = field(default_factory=list)
    train_qrels: list[QrelsRows] = field(default_factory=list)
    test_qrels: list[QrelsRows] = field(default_factory=list)
    train_topics: list[TopicRows] = field(default_factory=list)
    test_topics: list[TopicRows] = field(default_factory=list)
    index: list[IndexContents] = field(default_factory=list)


def read_files(named: Sequence[tuple[str | None, str | Path]]) -> Files:
    """Read files for the checks."""
    files = Files()
    for kind, path in named:
        if kind == "index" or (kind is None and Path(path).is_dir()):
            files.index.append(read_index(Path(path)))
            continue
        if data_set_name(path) is not None:
            raise InvalidInputError(f"{path}: expected a file to examine, got a data set of ir_datasets. Export it.")
        checked = check_file(path, "a file to examine")
        if not stat.S_ISREG(file_mode(checked, "a file to examine")):  # it is read more than once
            raise FileFormatError(checked, None, "expected a file, got a pipe or device. Write it to a file first.")
        detected = kind_of(checked)
        kind = kind or detected
        if kind is None:
            raise unknown_kind(checked)
        if kind in {"train", "test"} and detected in {"topics", "qrels"}:
            getattr(files, f"{kind}_{detected}").append(READERS[detected](checked))
            continue
        rows = READERS.get(kind, read_feature_rows)(checked)
        getattr(files, kind).append(rows)
        if kind in {"train", "test"}:
            files.data.append(rows)  # type: ignore[arg-type]
    _share_topics(files)
    return files


def _share_topics(files: Files) -> None:
    """Take topics that are given for neither training nor testing for both; leave out queries that are not judged."""
    train, test = ([name for rows in judged for name in rows.names] for judged in (files.train_qrels, files.test_qrels))
    if train and test:
        files.train_topics = [rows.of(train) for rows in files.train_topics or files.topics]
        files.test_topics = [rows.of(test) for rows in files.test_topics or files.topics]
        files.train_topics, files.test_topics = (
            [rows for rows in topics if rows.names] for topics in (files.train_topics, files.test_topics)
        )


def read_qrels_rows(path: Path) -> QrelsRows:
    """Read judgements, including duplicates."""
    faults: list[FileFormatError] = []
    rows = _columns(path, QRELS, faults)
    return QrelsRows(*_members(path, rows, faults), doc_ids=rows.doc_ids, labels=rows.values)


def read_run_rows(path: Path) -> RunRows:
    """Read a ranking, including scores that are not finite and duplicate documents."""
    faults: list[FileFormatError] = []
    rows = _columns(path, replace(RUN, parse=number_or_nan, wanted="a number"), faults)
    members = _members(path, rows, faults)
    others = columns.read_rows(path, replace(RUN, value=RANK, parse=_rank, query=TAG), _pass_over)
    # A row whose score is not a number is only in `others`, one whose tag is not text only in `rows`.
    lines = _lines(others)
    position = np.minimum(np.searchsorted(lines, members[3]), len(lines) - 1)
    ranks = np.where(lines[position] == members[3], others.values[position], np.nan)
    tags = list(dict.fromkeys(others.names))
    return RunRows(*members, doc_ids=rows.doc_ids, scores=rows.values, ranks=ranks, tags=tags)


def _rank(token: bytes) -> float:
    rank = number_or_nan(token)
    return float("nan") if rank is None else rank


def _pass_over(fault: FileFormatError) -> None:
    """Ignore the error of a line: it was collected when the scores were read."""


def _columns(path: Path, layout: columns.Layout, faults: list[FileFormatError]) -> columns.Rows:
    with _first_fault(faults):
        return columns.read_rows(path, layout, faults.append)


@contextmanager
def _first_fault(faults: list[FileFormatError]) -> Iterator[None]:
    """Raise the error of the first row if no row of a file is valid."""
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
    """Return the arguments of `Rows`."""
    names, query, _ = numbered(rows.names, rows.lengths)
    return str(path), names, query, _lines(rows), faults


def read_topic_rows(path: Path) -> TopicRows:
    """Read topics; a duplicate query is an error."""
    faults: list[FileFormatError] = []
    with _first_fault(faults):
        entries = topic_entries(path, faults.append)
        if not entries:
            raise FileFormatError(path, None, "expected at least one topic, got none. Write lines of id, tab, text.")
    lines = np.array([line for line, _, _ in entries], dtype=np.int64)
    names, texts = [name for _, name, _ in entries], [text for _, _, text in entries]
    return TopicRows(str(path), names, np.arange(len(entries)), lines, faults, texts=texts)


def read_feature_rows(path: Path) -> DataRows:
    """Read features and labels, text, .npz or .parquet."""
    with open_source(path) as handle:
        magic = handle.read(4)
    if magic == ZIP_MAGIC:
        return _binary(path, read_binary(path))
    return _binary(path, read_parquet(path)) if magic == PARQUET_MAGIC else _svmlight(path)


def _binary(path: Path, data: RankingData) -> DataRows:
    sizes = np.diff(data.query_ptr)
    answered = np.flatnonzero(sizes)
    if not len(answered):
        raise FileFormatError(path, None, "expected rows of features, got none. Name a file with rows.")
    return DataRows(
        str(path),
        data.query_ids[answered].tolist(),
        np.repeat(np.arange(len(answered)), sizes[answered]),
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
        table, lines = read_rows(path, header, on_fault=faults.append)
    names, query, _ = row_queries(path, table, lines)
    X = table.matrix(max(table.width, len(header.feature_names or ())), None)
    bases = table.column("base")
    return DataRows(
        str(path),
        names,
        query,
        lines,
        faults,
        doc_ids=id_texts(table.doc_ids()),
        X=X,
        feature_names=header.names(X.shape[1]),
        labels=table.column("label") if header.members.get("labels", True) else None,
        bases=None if np.isnan(bases).all() else bases,
    )


# The readers of files; index folders are read by `read_index`.
READERS = {"qrels": read_qrels_rows, "run": read_run_rows, "topics": read_topic_rows, "data": read_feature_rows}

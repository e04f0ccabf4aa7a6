"""Reading of files and index folders for the checks, by the readers of all commands."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.errors import FileFormatError, IndexFolderError, InvalidInputError, shown
from rerank.files.corpus import data_set_name
from rerank.files.data import DATA_ENDINGS, read_data
from rerank.files.source import check_file, file_mode, finite_number, open_source
from rerank.files.svmlight import read_svmlight
from rerank.files.topics import read_topics
from rerank.files.trec import QRELS, RUN, parse_label, read_qrels, read_run
from rerank.types import RankingData

if TYPE_CHECKING:
    from rerank.types.forward import ForwardIndex

FIRST_BYTES = 1 << 16  # read from a file to detect its kind
FIRST_LINES = 100
BINARY_ENDINGS = (".npz", ".parquet")


@dataclass(frozen=True)
class Source:
    """A file or an index folder that was read: its kind, path and content; without content, the error of its reader."""

    kind: str
    path: str
    content: Any
    error: str = ""


def read_sources(named: Sequence[tuple[str | None, str | Path]]) -> list[Source]:
    """Read files of given kinds (None: detected by their content) for the checks."""
    return [_read(kind, Path(path)) for kind, path in named]


def _read(kind: str | None, path: Path) -> Source:
    if kind == "index" or (kind is None and path.is_dir()):
        return _reported("index", path, _read_arrays)
    if data_set_name(path) is None:
        check_file(path, "a file to examine")
    detected = kind_of(path) if kind in {None, "train", "test"} else None
    content_kind = detected or kind or "data"
    kind = content_kind if kind in {None, content_kind} else f"{kind}_{content_kind}"
    return _reported(kind, path, READERS[content_kind])


def _reported(kind: str, path: Path, read: Callable[[Path], Any]) -> Source:
    try:
        return Source(kind, str(path), read(path))
    except (FileFormatError, InvalidInputError, IndexFolderError) as error:
        return Source(kind, str(path), None, str(error).rstrip("."))


def kind_of(path: Path) -> str:
    """Return the kind of a file, detected by its name and its first lines."""
    if not stat.S_ISREG(file_mode(path, "a file to examine")):
        raise FileFormatError(path, None, "expected a file, got a pipe or device. Write it to a file first.")
    if path.name.endswith(BINARY_ENDINGS):
        return "data"
    with open_source(path) as handle:
        beginning = handle.read(FIRST_BYTES)
    lines = [line for line in beginning.splitlines()[:FIRST_LINES] if line.strip() and not line.startswith(b"#")]
    kinds = Counter(kind for kind in map(_kind, lines) if kind)
    if not kinds:
        first = shown(lines[0].strip()) if lines else "none"
        message = f"expected rows of qrels, a run, topics or features, got {first}. "
        raise FileFormatError(path, None, f"{message}Say what it is with --qrels, --run, --topics or --data.")
    return kinds.most_common(1)[0][0]


def _kind(line: bytes) -> str | None:
    """Return the kind of file that a line fits."""
    fields = line.split()
    if line.lstrip().startswith((b"{", b"<")):
        return "topics"
    if len(fields) > 1 and b":" in fields[1] and finite_number(fields[0]) is not None:
        return "data"
    if line.count(b"\t") == 1:
        return "topics"
    if len(fields) == len(QRELS.columns) and parse_label(fields[QRELS.value]) is not None:
        return "qrels"
    if len(fields) >= len(RUN.columns) and finite_number(fields[RUN.value]) is not None:
        return "run"
    return None


def _read_features(path: Path) -> RankingData:
    """Read ranking data; a file of another ending is text."""
    return read_data(path) if path.name.endswith(DATA_ENDINGS) else read_svmlight(path)


def _read_arrays(path: Path) -> ForwardIndex | None:
    """Return the forward arrays that are kept in an index folder, None without them; Java does not start."""
    from rerank.lucene.arrays import read_arrays, read_header
    from rerank.lucene.folder import SUBFOLDER, check_index_folder, commit_hash

    commit = commit_hash(check_index_folder(path))
    header = read_header(path / SUBFOLDER)
    if header is None:
        return None
    if header["commit"] != commit:
        raise IndexFolderError(f"{path / SUBFOLDER}: expected forward arrays of {path}, got those of another state")
    return read_arrays(path / SUBFOLDER, again=True)


READERS: dict[str, Callable[[Path], Any]] = {
    "qrels": read_qrels,
    "run": read_run,
    "topics": read_topics,
    "data": _read_features,
}

"""Detection of the kind of a file by its content."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from rerank.errors import FileFormatError, shown
from rerank.files.source import chunks, number_or_nan, open_source
from rerank.files.trec import QRELS, RUN, parse_label

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

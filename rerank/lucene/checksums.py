"""Checksums of Lucene's files: each file ends with the CRC-32 of its other bytes.

Lucene compares most of them only when it merges segments: of a file with a changed byte it would read other postings,
lengths or values. Reading all files at each opening would take too long, so a note records the size and times of files
that were compared. It is with the forward arrays, or in the user's cache folder.
"""

from __future__ import annotations

import logging
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from rerank.lucene.commits import commit_file, damaged_lucene
from rerank.runtime.cache import file_state, is_noted, note_path, write_note
from rerank.runtime.progress import track

NOTE = "lucene.json"
_SEGMENT_FILE = re.compile(r"(_[0-9a-z]+)(_[^.]*)?\.[0-9a-z]+")
_COMMIT_FILE = re.compile(r"(pending_)?segments_[0-9a-z]+")
_HEADER = bytes.fromhex("3fd76c17")  # org.apache.lucene.codecs.CodecUtil.CODEC_MAGIC
_CHECKSUM = 8  # bytes at the end of a file
_BLOCK = 1 << 22
_MOST_SECONDS = 1.0  # after which the log says how long it took
_log = logging.getLogger("rerank")


def is_lucene_file(path: Path) -> bool:
    """Return whether a file has the name of a commit, or the name and the first bytes of a file of a segment."""
    if _SEGMENT_FILE.fullmatch(path.name) is None:
        return _COMMIT_FILE.fullmatch(path.name) is not None
    with open(path, "rb") as file:
        return file.read(len(_HEADER)) in (_HEADER, b"")


def check_checksums(folder: Path, indexes: Sequence[Path], arrays: Path) -> None:
    """Refuse an index of which a file does not have its checksum; files in the state of a note are not read.

    folder   the index
    indexes  the Lucene indexes in it: the folder itself, or those of its shards
    arrays   the folder of the forward arrays, which may be missing
    """
    files = [path for index in indexes for path in _committed_files(index)]
    state = {path.relative_to(folder).as_posix(): file_state(path) for path in files}
    notes = [note_path(folder)] if not arrays.is_dir() else [arrays / NOTE, note_path(folder)]
    if is_noted(notes, state):
        return
    start, sizes = time.perf_counter(), [size for size, *_ in state.values()]
    blocks = _compared_blocks(folder, files)
    for _ in track(blocks, "checksums of Lucene's files", sum(-(-size // _BLOCK) for size in sizes)):
        pass
    seconds = time.perf_counter() - start
    if seconds > _MOST_SECONDS:
        text = "%s: the checksums of Lucene's files were compared: %.1f GB in %.0f s, once until a file changes."
        _log.info(text, folder, sum(sizes) / 1e9, seconds)
    write_note(notes, state)


def _committed_files(index: Path) -> list[Path]:
    """Return the commit of one Lucene index and the files of its segments; a writer may be at work on others."""
    commit = commit_file(index)
    if commit is None:
        return []
    content = commit.read_bytes()
    files = [commit]
    for path in sorted(index.iterdir()):
        match = _SEGMENT_FILE.fullmatch(path.name)
        if match and bytes([len(match[1])]) + match[1].encode() in content:  # the commit names the segment
            files.append(path)
    return files


def _compared_blocks(folder: Path, files: Sequence[Path]) -> Iterator[None]:
    """Read files in blocks and yield after each; raise IndexFolderError for a file that has another checksum."""
    for path in files:
        checksum, end = 0, b""
        try:
            with open(path, "rb", buffering=0) as file:
                while block := file.read(_BLOCK):
                    block = end + block
                    checksum, end = zlib.crc32(memoryview(block)[:-_CHECKSUM], checksum), block[-_CHECKSUM:]
                    yield
        except OSError as error:
            raise damaged_lucene(folder, f"{path.relative_to(folder)} cannot be read: {error.strerror}") from error
        if end != checksum.to_bytes(_CHECKSUM, "big"):
            raise damaged_lucene(folder, f"{path.relative_to(folder)} does not fit its checksum")
